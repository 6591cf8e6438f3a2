#include <algorithm>
#include <mutex>
#include <tilescope/error.hpp>
#include <vector>

#include "operations/chunks.hpp"
#include "operations/histogram/histogram.hpp"

namespace tilescope::operations {
namespace {

// The functions below mirror kernels/histogram/bins.cuh.
std::int64_t letter_bin(std::uint8_t x) {
  constexpr int small = 32, letters = 26, letters_a_bin = 4;
  const int letter = (x | small) - 'a';
  return letter >= 0 && letter < letters ? letter / letters_a_bin : -1;
}

template <typename T>
auto integer_bins(const Binning& b) {
  const auto lower = static_cast<std::int64_t>(b.lower);
  const auto range = static_cast<std::int64_t>(b.upper) - lower;
  return [=, bins = b.bins](T x) -> std::int64_t {
    const std::int64_t above = static_cast<std::int64_t>(x) - lower;
    if (above < 0 || above >= range) return -1;
    return above * bins / range;
  };
}

template <typename T>
auto real_bins(const Binning& b) {
  const T lower = static_cast<T>(b.lower), upper = static_cast<T>(b.upper),
          scale = static_cast<T>(b.scale);
  return [=, bins = b.bins](T x) -> std::int64_t {
    if (!(x >= lower && x <= upper)) return -1;
    const T above = x - lower;
    return std::min(static_cast<std::int64_t>(above * scale), bins - 1);
  };
}

template <typename T, typename BinOf>
void count(const ConstArrayView& x, std::int64_t bins, void* counts, const BinOf& bin_of) {
  const T* const elements = static_cast<const T*>(x.data);
  const std::size_t counters = static_cast<std::size_t>(bins);
  std::vector<std::uint64_t> all(counters);
  std::mutex mutex;
  // Pieces so large that adding up their counts is no work beside counting.
  const std::size_t chunk = std::max<std::size_t>(std::size_t{1} << 20U, 64 * counters);
  for_chunks(
      x.count,
      [&](std::size_t first, std::size_t end) {
        std::vector<std::uint64_t> mine(counters);
        for (std::size_t i = first; i < end; ++i) {
          const std::int64_t bin = bin_of(elements[i]);
          if (bin >= 0) ++mine[static_cast<std::size_t>(bin)];
        }
        const std::lock_guard lock(mutex);
        for (std::size_t b = 0; b < counters; ++b) all[b] += mine[b];
      },
      chunk);
  if (counter_type(x.count) == DataType::uint64) {
    std::copy(all.begin(), all.end(), static_cast<std::uint64_t*>(counts));
  } else {
    std::transform(all.begin(), all.end(), static_cast<std::uint32_t*>(counts),
                   [](std::uint64_t value) { return static_cast<std::uint32_t>(value); });
  }
}

}  // namespace

DataType counter_type(std::size_t elements) {
  return elements >> 32U ? DataType::uint64 : DataType::uint32;
}

void histogram_on_cpu(const ConstArrayView& x, const Binning& b, void* counts) {
  if (b.letters) return count<std::uint8_t>(x, b.bins, counts, letter_bin);
  const auto integers = [&](auto zero) {
    using T = decltype(zero);
    count<T>(x, b.bins, counts, integer_bins<T>(b));
  };
  switch (b.type) {
    case DataType::int8:
      return integers(std::int8_t{});
    case DataType::uint8:
    case DataType::boolean:
      return integers(std::uint8_t{});
    case DataType::int16:
      return integers(std::int16_t{});
    case DataType::uint16:
      return integers(std::uint16_t{});
    case DataType::int32:
      return integers(std::int32_t{});
    case DataType::uint32:
      return integers(std::uint32_t{});
    case DataType::float64:
      return count<double>(x, b.bins, counts, real_bins<double>(b));
    default:
      return count<float>(x, b.bins, counts, real_bins<float>(b));
  }
}

}  // namespace tilescope::operations
