// The network and its time bins. See spike_train.h.
#include "episodes/spike_train.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "core/error.h"
#include "core/parameters.h"

namespace batmap {

namespace {

constexpr double kBinSeconds = 1e-3;
constexpr int64_t kBinUs = 1000;
constexpr int64_t kMaxNeurons = 2'000;     // each may be connected with each: 8 MB, made in a tenth of a second
constexpr double kWeightsAUnit = 64;       // weights are integers: so many make one unit of the sigmoid's argument
constexpr int kWeakWeight = 12;            // the largest; a weak connection changes a rate by less than a fifth
constexpr uint64_t kWeakOneIn = 4;         // each neuron has weak connections to one in four of the others
constexpr double kMaxProbability = 0.999;  // of a spike in a bin, for any input

uint64_t mixed(uint64_t& state) {
  uint64_t x = state += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/// The probability of a spike in a bin, for a rate in spikes a second.
double probability_of(double rate) { return 1 - std::exp(-rate * kBinSeconds); }
double rate_of(double probability) { return -std::log1p(-probability) / kBinSeconds; }

}  // namespace

void SpikeModel::check() const {
  const auto refuse = [](const std::string& text) { throw Error(ErrorCode::kInvalidParameter, text); };
  if (neurons < 1 || neurons > kMaxNeurons)
    refuse("neurons must be between 1 and " + std::to_string(kMaxNeurons) + ", not " + std::to_string(neurons));
  if (!(rate >= 0.01 && rate <= 500)) refuse("rate must be between 0.01 and 500 spikes a second, not " + plain_text(rate));
  if (episodes < 0) refuse("episodes must be at least 0, not " + std::to_string(episodes));
  if (length < 1) refuse("episode_length must be at least 1, not " + std::to_string(length));
  if (episodes > neurons / length)
    throw Error(ErrorCode::kInvalidParameter,
                std::to_string(episodes) + " episodes of " + std::to_string(length) + " need more than " +
                    std::to_string(neurons) + " neurons",
                "Each neuron belongs to one episode at most.");
  if (!(strength >= 0 && strength <= 0.99)) refuse("strength must be between 0 and 0.99, not " + plain_text(strength));
}

SpikeTrain::SpikeTrain(const SpikeModel& model) : neurons_(static_cast<size_t>(model.neurons)) {
  model.check();
  uint64_t seed = model.seed;
  state_[0] = mixed(seed);
  state_[1] = mixed(seed);

  // rate(input) = highest / (1 + exp(bias - input)), and rate(0) is the base rate.
  const double highest = rate_of(kMaxProbability);
  const double bias = std::log(highest / model.rate - 1);
  probability_.resize(2 * kMaxInput + 1);
  for (int input = -kMaxInput; input <= kMaxInput; ++input) {
    const double rate = highest / (1 + std::exp(bias - input / kWeightsAUnit));
    probability_[static_cast<size_t>(input + kMaxInput)] = static_cast<uint32_t>(std::lround(probability_of(rate) * 0x1p32));
  }
  // The smallest weight at which a neuron fires with the wanted strength.
  const auto wanted = static_cast<uint32_t>(std::lround(model.strength * 0x1p32));
  const auto strong = std::lower_bound(probability_.begin() + kMaxInput, probability_.end() - 1, wanted);
  const auto weight = static_cast<int16_t>(strong - probability_.begin() - kMaxInput);

  const auto chained = static_cast<size_t>(model.episodes * model.length);
  for (size_t neuron = 0; neuron < neurons_; ++neuron) {
    begin_.push_back(connections_.size());
    const bool leads = neuron < chained && (neuron + 1) % static_cast<size_t>(model.length) != 0;
    if (leads) {
      const auto delay = static_cast<int16_t>(6 + bits() % 4);
      connections_.push_back({static_cast<uint32_t>(neuron + 1), weight, delay});
    }
    for (size_t target = 0; target < neurons_; ++target) {
      if (target == neuron || (leads && target == neuron + 1) || bits() % kWeakOneIn != 0) continue;
      const auto weak = static_cast<int16_t>(static_cast<int>(bits() % (2 * kWeakWeight + 1)) - kWeakWeight);
      const auto delay = static_cast<int16_t>(1 + bits() % (kMaxDelay - 1));
      connections_.push_back({static_cast<uint32_t>(target), weak, delay});
    }
  }
  begin_.push_back(connections_.size());
  input_.resize(kMaxDelay * neurons_);
}

// xoroshiro128++ (Blackman, Vigna).
uint64_t SpikeTrain::bits() {
  const uint64_t a = state_[0];
  uint64_t b = state_[1];
  const uint64_t result = std::rotl(a + b, 17) + a;
  b ^= a;
  state_[0] = std::rotl(a, 49) ^ b ^ b << 21;
  state_[1] = std::rotl(b, 28);
  return result;
}

void SpikeTrain::next(std::vector<Spike>& spikes) {
  spikes.clear();
  int32_t* const input = &input_[static_cast<size_t>(bin_ % kMaxDelay) * neurons_];
  uint64_t random = 0;
  for (size_t neuron = 0; neuron < neurons_; ++neuron) {
    random = neuron % 2 == 0 ? bits() : random >> 32;
    const int at = std::clamp(input[neuron], -kMaxInput, kMaxInput) + kMaxInput;
    input[neuron] = 0;
    if (static_cast<uint32_t>(random) < probability_[static_cast<size_t>(at)])
      spikes.push_back({bin_ * kBinUs + static_cast<int64_t>(bits() % kBinUs), static_cast<uint32_t>(neuron)});
  }
  for (const Spike& spike : spikes)
    for (size_t k = begin_[spike.neuron]; k < begin_[spike.neuron + 1]; ++k) {
      const Connection& connection = connections_[k];
      input_[static_cast<size_t>((bin_ + connection.delay) % kMaxDelay) * neurons_ + connection.target] += connection.weight;
    }
  std::sort(spikes.begin(), spikes.end(), [](const Spike& x, const Spike& y) {
    return x.time_us != y.time_us ? x.time_us < y.time_us : x.neuron < y.neuron;
  });
  ++bin_;
}

}  // namespace batmap
