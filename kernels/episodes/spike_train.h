// A stream of spikes like EP's: an inhomogeneous Poisson network with embedded episodes. Source: EP V-A, after
// the simulation of Patnaik, Sastry, Unnikrishnan, Scientific Programming 16 (2008).
//
// Time goes in bins of a millisecond. In each bin a neuron fires with a probability that is a sigmoid of its input; without
// input it fires at the base rate. A spike adds the weight of each connection of its neuron to the input of the target, one
// delay later. Most connections are weak, inhibit as often as they excite, and go to a quarter of the neurons. Episode e is
// a chain of strong connections over the neurons e x length .. (e + 1) x length - 1, in this order. Each neuron makes the
// next one fire with probability `strength` after 6 to 9 bins, so the gap (5 ms, 10 ms] holds every delay. Noise also
// starts a chain at any of its neurons, so neurons further along fire more often. With EP's parameters this gives EP's
// 3,200 spikes a second.
//
// The same model and seed give the same spikes everywhere: random numbers, weights and probabilities are
// integers. Cost: some 100 ns a bin for 64 neurons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace batmap {

struct SpikeModel {
  int64_t neurons = 64;
  double rate = 20;  // spikes a second of a neuron without input
  int64_t episodes = 4;
  int64_t length = 9;
  double strength = 0.88;
  uint64_t seed = 1;

  /// @throws Error{kInvalidParameter} with the value, the bound and a hint
  void check() const;
};

struct Spike {
  int64_t time_us;  // not descending from one spike to the next
  uint32_t neuron;
};

class SpikeTrain {
 public:
  explicit SpikeTrain(const SpikeModel& model);

  /// The spikes of the next millisecond. @param spikes  overwritten
  void next(std::vector<Spike>& spikes);

 private:
  static constexpr int kMaxDelay = 16;  // in bins; a power of two above every delay
  static constexpr int kMaxInput = 1024;

  struct Connection {
    uint32_t target;
    int16_t weight;
    int16_t delay;
  };
  uint64_t bits();

  uint64_t state_[2];
  int64_t bin_ = 0;
  size_t neurons_;
  std::vector<size_t> begin_;  // [neurons + 1] first connection of each neuron
  std::vector<Connection> connections_;
  std::vector<int32_t> input_;         // [kMaxDelay x neurons], a ring of bins
  std::vector<uint32_t> probability_;  // [2 x kMaxInput + 1] by input, in units of 2^-32
};

}  // namespace batmap
