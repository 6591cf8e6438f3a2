#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <tilescope/error.hpp>
#include <type_traits>

#include "base/element_types.hpp"
#include "operations/histogram/histogram.hpp"

namespace tilescope::operations {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::usage, "histogram: " + why);
}

// The values of an integer type, as [first, end).
struct Range {
  double first, end;
};

Range whole_range(DataType type) {
  return with_type(type == DataType::boolean ? DataType::uint8 : type, [&](auto zero) -> Range {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 4) {
      return {static_cast<double>(std::numeric_limits<T>::min()),
              static_cast<double>(std::numeric_limits<T>::max()) + 1.0};
    }
    refuse(fmt::format("it takes 8-, 16- and 32-bit integers, float32 and float64, not {}",
                       name_of(type)));
  });
}

void set_scale(Binning& binning) {
  const auto of_type = [&](auto one) {
    using T = decltype(one);
    const T lower = static_cast<T>(binning.lower), upper = static_cast<T>(binning.upper);
    const T scale = static_cast<T>(static_cast<double>(binning.bins) /
                                   (static_cast<double>(upper) - static_cast<double>(lower)));
    if (!(lower < upper) || !std::isfinite(lower) || !std::isfinite(upper) ||
        !std::isfinite(upper - lower) || !std::isfinite(scale) || !(scale > T{0})) {
      refuse(fmt::format("the range from {:.9g} to {:.9g} cannot be divided in {}", binning.lower,
                         binning.upper, name_of(binning.type)));
    }
    binning.lower = static_cast<double>(lower);
    binning.upper = static_cast<double>(upper);
    binning.scale = static_cast<double>(scale);
  };
  if (binning.type == DataType::float64) {
    of_type(1.0);
  } else {
    of_type(1.0F);
  }
}

}  // namespace

Binning make_binning(DataType type, const Bins& bins) {
  constexpr std::int64_t most_bins = 65536, letter_bins = 7;
  Binning binning{.type = type, .bins = bins.count, .letters = bins.letters};
  if (bins.letters) {
    if (type != DataType::uint8) refuse(fmt::format("text is uint8, not {}", name_of(type)));
    if (bins.lower || bins.upper) refuse("text has no range");
    binning.bins = letter_bins;
    return binning;
  }
  if (bins.count < 1 || bins.count > most_bins) {
    refuse(fmt::format("{} bins; from 1 to {}", bins.count, most_bins));
  }
  if (type == DataType::float32 || type == DataType::float64) {
    if (!bins.lower || !bins.upper) {
      refuse(fmt::format("{} elements need a range (--range LO,HI)", name_of(type)));
    }
    binning.lower = *bins.lower;
    binning.upper = *bins.upper;
    set_scale(binning);
    return binning;
  }
  const Range whole = whole_range(type);
  binning.lower = bins.lower.value_or(whole.first);
  binning.upper = bins.upper.value_or(whole.end);
  constexpr double farthest = 0x1p33;  // beyond every 32-bit integer
  const auto is_whole = [](double x) { return std::abs(x) <= farthest && std::floor(x) == x; };
  if (!is_whole(binning.lower) || !is_whole(binning.upper) || binning.lower >= binning.upper ||
      binning.upper - binning.lower > 0x1p32) {
    refuse(
        fmt::format("the range from {:.12g} to {:.12g} of {} must rise, by whole numbers, and by "
                    "2^32 at the most",
                    binning.lower, binning.upper, name_of(type)));
  }
  return binning;
}

}  // namespace tilescope::operations
