// Histograms: how often elements fall into bins.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tilescope/array.hpp"
#include "tilescope/device.hpp"
#include "tilescope/prepared_operation.hpp"
#include "tilescope/run_report.hpp"

namespace tilescope {

/// Which bin an element belongs to.
///
///  - integers: floor((x - lower) * bins / (upper - lower)) for lower <= x < upper, whole numbers;
///    the default is the whole range of the type.
///  - float32, float64: floor((x - lower) * (bins / (upper - lower))) for lower <= x <= upper, each
///    operation rounded to the elements' type, `upper` itself in the last bin. The range must be
///    given, finite, and wide enough for the type to tell its bins apart. NaN is in no bin.
///  - letters: for text in uint8, seven bins of four letters, a-d, e-h, ..., y-z, capital or small;
///    other characters are in no bin.
struct Bins {
  std::int64_t count = 256;  ///< 1 to 65,536
  std::optional<double> lower = {}, upper = {};
  bool letters = false;
};

struct HistogramResult {
  std::vector<std::uint64_t> counts;  ///< elements in each bin
  double lower = 0.0, upper = 0.0;    ///< the range that was used
  RunReport report;
};

/// Counts a list of 8-, 16- or 32-bit integers, float32 or float64 of up to 2^33 elements. Elements
/// outside the range are not counted.
///
///     const std::vector<std::uint8_t> bytes = ...;
///     const auto counts = histogram(*device, bytes, {.count = 256}).counts;
///
/// Errors: usage for types, bins or a range that do not fit, or a variant that does not exist;
/// no_device as Device says.
HistogramResult histogram(Device& device, const ConstArrayView& x, const Bins& bins = {},
                          const RunOptions& options = {});

/// The type of the counts in device memory: uint32, or uint64 for 2^32 elements and more.
DataType histogram_type(std::size_t elements);

/// The same for a list in the device's memory (prepared_operation.hpp). `counts` has room for
/// bins.count elements of histogram_type(x.count).
PreparedOperation prepare_histogram(Device& device, const ConstArrayView& x, void* counts,
                                    const Bins& bins = {}, const RunOptions& options = {});

}  // namespace tilescope
