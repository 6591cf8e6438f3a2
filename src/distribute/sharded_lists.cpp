#include <algorithm>
#include <tilescope/sharded_lists.hpp>
#include <vector>

#include "distribute/on_each.hpp"
#include "distribute/sharded_problem.hpp"
#include "distribute/shares.hpp"
#include "operations/elementwise/elementwise.hpp"
#include "operations/histogram/histogram.hpp"
#include "operations/numerics/conversion.hpp"
#include "operations/reduction/reduction.hpp"
#include "transfer/streamed_operations.hpp"

namespace tilescope {
namespace {

using distribute::Devices;
using distribute::Range;

/// One device's part of a call.
struct Part {
  Device& device;
  std::size_t index;  ///< of the device
  std::size_t first;  ///< element
  ConstArrayView x;
  transfer::StreamOptions stream;
};

/// Runs `work`, which returns a report, for each device that has a part of the list. Parts begin at
/// multiples of `unit` elements. `bytes_each`: of all arrays, for an element.
template <typename Work>
RunReport on_parts(Devices devices, const ConstArrayView& x, std::size_t unit,
                   std::size_t bytes_each, const Work& work) {
  distribute::require_gpus(devices, "list");
  const std::vector<Range> parts = distribute::equal_shares(
      static_cast<std::int64_t>(x.count), static_cast<std::int64_t>(devices.size()),
      static_cast<std::int64_t>(unit));
  std::vector<RunReport> reports(devices.size());
  distribute::on_each(devices.size(), [&](std::size_t i) {
    const auto first = static_cast<std::size_t>(parts[i].first),
               count = static_cast<std::size_t>(parts[i].count);
    // An empty list is the first device's: it says what the operation makes of one.
    if (count == 0 && (i > 0 || x.count > 0)) return;
    Device& device = *devices[i];
    reports[i] = work(Part{
        .device = device,
        .index = i,
        .first = first,
        .x = operations::part(x, first, count),
        .stream = {.device_bytes = transfer::memory_limit_of(
                       device, static_cast<double>(count) * static_cast<double>(bytes_each))}});
  });
  RunReport all;
  for (const RunReport& report : reports) {
    if (all.variant.empty()) all.variant = report.variant;
    all.compute_ms = std::max(all.compute_ms, report.compute_ms);
  }
  return all;
}

}  // namespace

Reduced reduce_sharded(Devices devices, const ConstArrayView& x, Reduction reduction) {
  operations::require_reducible(x, reduction);
  std::vector<operations::ReducedPart> parts(devices.size());
  const RunReport report =
      on_parts(devices, x, operations::sum_section, size_of(x.type), [&](const Part& part) {
        RunReport one;
        parts[part.index] =
            transfer::reduce_part(part.device, part.x, part.first, reduction, part.stream, one);
        return one;
      });
  Reduced reduced = operations::combined(x.type, reduction, parts);
  reduced.report = report;
  return reduced;
}

HistogramResult histogram_sharded(Devices devices, const ConstArrayView& x, const Bins& bins,
                                  const RunOptions& options) {
  const operations::Binning binning = operations::make_binning(x.type, bins);
  std::vector<HistogramResult> parts(devices.size());
  HistogramResult all{.counts = std::vector<std::uint64_t>(static_cast<std::size_t>(binning.bins)),
                      .lower = binning.lower,
                      .upper = binning.upper,
                      .report = {}};
  constexpr std::size_t line = 1024;  // elements; parts begin where vector loads do
  all.report = on_parts(devices, x, line, size_of(x.type), [&](const Part& part) {
    parts[part.index] = transfer::histogram(part.device, part.x, bins, options, part.stream);
    return parts[part.index].report;
  });
  for (const HistogramResult& part : parts) {
    for (std::size_t bin = 0; bin < part.counts.size(); ++bin) all.counts[bin] += part.counts[bin];
  }
  return all;
}

RunReport saxpb_sharded(Devices devices, double a, const ConstArrayView& x, double b,
                        const ArrayView& y, const SaxpbOptions& options) {
  operations::require_real("saxpb", x);
  operations::require_like("saxpb", x, y);
  constexpr std::size_t line = 1024;
  return on_parts(devices, x, line, 2 * size_of(x.type), [&](const Part& part) {
    return transfer::saxpb(part.device, a, part.x, b, operations::part(y, part.first, part.x.count),
                           options, part.stream);
  });
}

}  // namespace tilescope
