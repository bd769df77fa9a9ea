// Writes a synthetic relation of (tid int4, item int4) rows to standard output, as COPY BINARY or COPY text.
//
//   generate w1 [--scale 0.1] [--seed 1] [--order tid|random] [--format binary|text]
//   generate --items N --density P --rows R [--zipf S] [...]
//
// instances.h has the named instances and the model. --scale multiplies the number of transactions. --order
// random shuffles all rows, which it then holds in memory (8 bytes each). The numbers of rows and
// transactions go to standard error. Ten million rows take about half a second.
#include "instances.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace {

using batmap::bench::Instance;

[[noreturn]] void usage(const char* complaint, const char* about = "") {
  std::fprintf(stderr, "generate: %s%s\n", complaint, about);
  std::string names;
  for (const Instance& instance : batmap::bench::kInstances) names.append(names.empty() ? "" : "|").append(instance.name);
  std::fprintf(stderr,
               "usage: generate %s |\n"
               "       --items N --density P --rows R [--zipf S]\n"
               "       [--scale F] [--seed K] [--order tid|random] [--format binary|text]\n",
               names.c_str());
  std::exit(2);
}

double number(const char* option, const char* text) {
  double value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end || !(value >= 0))
    usage("not a number: ", (std::string(option) + " " + text).c_str());
  return value;
}

// Collects rows in a large buffer, in one of the two forms of COPY.
class Writer {
 public:
  explicit Writer(bool binary) : binary_(binary) {
    buffer_.reserve(kBufferBytes + 64);
    if (binary_) put(std::string_view("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19));
  }

  void row(int32_t tid, int32_t item) {
    if (binary_) {
      char bytes[18] = {0, 2, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 4};
      big_endian(bytes + 6, tid);
      big_endian(bytes + 14, item);
      put(std::string_view(bytes, sizeof bytes));
    } else {
      char text[24];
      char* end = std::to_chars(text, text + 11, tid).ptr;
      *end++ = '\t';
      end = std::to_chars(end, end + 11, item).ptr;
      *end++ = '\n';
      put(std::string_view(text, end - text));
    }
  }

  void finish() {
    if (binary_) put(std::string_view("\377\377", 2));
    flush();
    if (std::fflush(stdout) != 0) fail();
  }

 private:
  static constexpr size_t kBufferBytes = 1 << 18;

  static void big_endian(char* at, int32_t value) {
    const auto bits = static_cast<uint32_t>(value);
    for (int i = 0; i < 4; ++i) at[i] = static_cast<char>(bits >> (24 - 8 * i));
  }

  [[noreturn]] static void fail() {
    std::perror("generate: could not write");
    std::exit(1);
  }

  void put(std::string_view bytes) {
    buffer_.append(bytes);
    if (buffer_.size() >= kBufferBytes) flush();
  }

  void flush() {
    if (std::fwrite(buffer_.data(), 1, buffer_.size(), stdout) != buffer_.size()) fail();
    buffer_.clear();
  }

  bool binary_;
  std::string buffer_;
};

}  // namespace

int main(int argc, char** argv) {
  Instance instance{"custom", 0, 0, 0, 0};
  double scale = 1;
  uint64_t seed = 1;
  bool shuffle = false;
  bool binary = true;

  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (!option.starts_with("--")) {
      const auto* named = std::ranges::find(batmap::bench::kInstances, option, &Instance::name);
      if (named == std::end(batmap::bench::kInstances)) usage("no such instance: ", argv[i]);
      instance = *named;
      continue;
    }
    if (i + 1 == argc) usage("a value is missing after ", argv[i]);
    const char* value = argv[++i];
    if (option == "--items")
      instance.items = static_cast<int32_t>(std::min(number("--items", value), 2e9));
    else if (option == "--density")
      instance.density = number("--density", value);
    else if (option == "--rows")
      instance.rows = number("--rows", value);
    else if (option == "--zipf")
      instance.zipf = number("--zipf", value);
    else if (option == "--scale")
      scale = number("--scale", value);
    else if (option == "--seed")
      seed = static_cast<uint64_t>(number("--seed", value));
    else if (option == "--order" && (!std::strcmp(value, "tid") || !std::strcmp(value, "random")))
      shuffle = *value == 'r';
    else if (option == "--format" && (!std::strcmp(value, "binary") || !std::strcmp(value, "text")))
      binary = *value == 'b';
    else
      usage("unknown option or value: ", (std::string(option) + " " + value).c_str());
  }
  instance.rows *= scale;
  if (instance.items < 1 || !(instance.density > 0) || instance.density > 1 || !(instance.rows >= 1))
    usage("items and rows must be at least 1, density in (0, 1]");
  if (batmap::bench::transactions_of(instance) > INT32_MAX) usage("more transactions than an int4 can number");

  Writer writer(binary);
  int64_t rows = 0;
  if (shuffle) {
    std::vector<std::pair<int32_t, int32_t>> all;
    batmap::bench::generate(instance, seed, [&](int32_t tid, int32_t item) { all.emplace_back(tid, item); });
    batmap::bench::Random random(seed ^ 0x736875666665);
    for (size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.below(i)]);
    for (const auto& [tid, item] : all) writer.row(tid, item);
    rows = static_cast<int64_t>(all.size());
  } else {
    batmap::bench::generate(instance, seed, [&](int32_t tid, int32_t item) {
      writer.row(tid, item);
      ++rows;
    });
  }
  writer.finish();
  std::fprintf(stderr, "generate: %s, seed %llu: %lld rows, %lld transactions\n", std::string(instance.name).c_str(),
               static_cast<unsigned long long>(seed), static_cast<long long>(rows),
               static_cast<long long>(batmap::bench::transactions_of(instance)));
}
