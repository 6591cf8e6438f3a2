// Operations on one list over several devices of one host.
//
//     const auto gpus = tilescope::open_devices("all");  // tilescope/sharded.hpp
//     const double sum = tilescope::reduce_sharded(gpus, x, Reduction::sum).real;
//
// Each device takes an equal part of the list in host memory, and streams it where it does not fit.
// No result depends on the number of devices. Errors are those of the operation on one device, and
// usage for no device or the cpu. A report has the rung that ran and the time of the device that
// takes longest.
#pragma once

#include <memory>
#include <span>

#include "tilescope/array.hpp"
#include "tilescope/device.hpp"
#include "tilescope/histogram.hpp"
#include "tilescope/reduction.hpp"
#include "tilescope/saxpb.hpp"

namespace tilescope {

/// As reduce(). A sum of floats is added up in a fixed order: in float64, by sections of 65,536
/// elements that are the same whatever computes them. Its bits are those of reduce() on the cpu
/// and, on any GPU, of its variant fixed_order.
Reduced reduce_sharded(std::span<const std::shared_ptr<Device>> devices, const ConstArrayView& x,
                       Reduction reduction);

/// As histogram().
HistogramResult histogram_sharded(std::span<const std::shared_ptr<Device>> devices,
                                  const ConstArrayView& x, const Bins& bins = {},
                                  const RunOptions& options = {});

/// As saxpb(). `options.blocks` is that of each device.
RunReport saxpb_sharded(std::span<const std::shared_ptr<Device>> devices, double a,
                        const ConstArrayView& x, double b, const ArrayView& y,
                        const SaxpbOptions& options = {});

}  // namespace tilescope
