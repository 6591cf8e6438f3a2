// y = a * x + b, element by element.
#pragma once

#include <cstdint>

#include "tilescope/array.hpp"
#include "tilescope/device.hpp"
#include "tilescope/prepared_operation.hpp"
#include "tilescope/run_report.hpp"

namespace tilescope {

struct SaxpbOptions : RunOptions {
  std::int64_t blocks = 0;      ///< blocks of the variant many_blocks; 0: blocks of 256 threads
  std::int64_t iterations = 1;  ///< launches, all timed together
};

/// y = a * x + b for float32 or float64 lists of one length; a and b are rounded to their type.
///
///     saxpb(*device, 2.0, x, 1.0, y);  // y = 2 x + 1
///
/// Errors: usage for types or lengths that do not fit, a variant that does not exist, or a launch
/// beyond a limit of the device; no_device as Device says.
RunReport saxpb(Device& device, double a, const ConstArrayView& x, double b, const ArrayView& y,
                const SaxpbOptions& options = {});

/// The same for operands in the device's memory (prepared_operation.hpp).
PreparedOperation prepare_saxpb(Device& device, double a, const ConstArrayView& x, double b,
                                const ArrayView& y, const SaxpbOptions& options = {});

}  // namespace tilescope
