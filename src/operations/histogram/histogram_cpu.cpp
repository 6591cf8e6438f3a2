#include <algorithm>
#include <limits>
#include <mutex>
#include <tilescope/error.hpp>
#include <type_traits>
#include <vector>

#include "base/element_types.hpp"
#include "operations/histogram/histogram.hpp"
#include "operations/numerics/chunks.hpp"

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
    return range == bins ? above : above * bins / range;
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

using Counts = std::vector<std::uint64_t>;

// Counts elements by key(element), a number below `keys` or negative for none, on all cores.
template <typename T, typename Key>
Counts count_keys(const ConstArrayView& x, std::size_t keys, const Key& key) {
  // If copies are small, neighbouring elements count in different ones: a counter that was just
  // written is slow to read again.
  constexpr std::size_t small = 1024;
  const std::size_t copies = keys <= small ? 4 : 1;
  const T* const elements = static_cast<const T*>(x.data);
  Counts all(keys);
  std::mutex mutex;
  // Chunks large enough that adding up their counts costs little beside counting, and small enough
  // for 32 bits.
  const std::size_t chunk = std::max<std::size_t>(std::size_t{1} << 20U, 64 * keys);
  for_chunks(
      x.count,
      [&](std::size_t first, std::size_t end) {
        std::vector<std::uint32_t> mine(copies * keys);
        std::uint32_t* const counters = mine.data();
        const Key key_of = key;
        const std::size_t mask = copies - 1;
        for (std::size_t i = first; i < end; ++i) {
          const std::int64_t k = key_of(elements[i]);
          if (k >= 0) ++counters[(i & mask) * keys + static_cast<std::size_t>(k)];
        }
        const std::lock_guard lock(mutex);
        for (std::size_t k = 0; k < mine.size(); ++k) all[k % keys] += mine[k];
      },
      chunk);
  return all;
}

template <typename T, typename BinOf>
Counts count(const ConstArrayView& x, std::int64_t bins, const BinOf& bin_of) {
  const auto bin_count = static_cast<std::size_t>(bins);
  if constexpr (sizeof(T) > 2) {
    return count_keys<T>(x, bin_count, bin_of);
  } else {
    // Few values: each is counted, then put into its bin once.
    constexpr std::size_t values = std::size_t{1} << 8U * sizeof(T);
    constexpr std::int64_t least = std::numeric_limits<T>::min();
    const Counts of_value =
        count_keys<T>(x, values, [](T element) { return std::int64_t{element} - least; });
    Counts all(bin_count);
    for (std::size_t v = 0; v < values; ++v) {
      const std::int64_t bin = bin_of(static_cast<T>(static_cast<std::int64_t>(v) + least));
      if (bin >= 0) all[static_cast<std::size_t>(bin)] += of_value[v];
    }
    return all;
  }
}

}  // namespace

DataType counter_type(std::size_t elements) {
  return elements >> 32U ? DataType::uint64 : DataType::uint32;
}

namespace {

Counts count_on_cpu(const ConstArrayView& x, const Binning& b) {
  if (b.letters) return count<std::uint8_t>(x, b.bins, letter_bin);
  return with_type(b.type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      return count<T>(x, b.bins, real_bins<T>(b));
    } else if constexpr (std::is_integral_v<T>) {
      return count<T>(x, b.bins, integer_bins<T>(b));
    } else {  // booleans
      return count<std::uint8_t>(x, b.bins, integer_bins<std::uint8_t>(b));
    }
  });
}

}  // namespace

void histogram_on_cpu(const ConstArrayView& x, const Binning& b, void* counts) {
  const Counts all = count_on_cpu(x, b);
  if (counter_type(x.count) == DataType::uint64) {
    std::copy(all.begin(), all.end(), static_cast<std::uint64_t*>(counts));
  } else {
    std::transform(all.begin(), all.end(), static_cast<std::uint32_t*>(counts),
                   [](std::uint64_t value) { return static_cast<std::uint32_t>(value); });
  }
}

}  // namespace tilescope::operations
