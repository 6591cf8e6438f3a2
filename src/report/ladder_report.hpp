// A climbed ladder, and the list of its rungs.
#pragma once

#include <string>
#include <tilescope/device.hpp>
#include <vector>

#include "measure/ladder.hpp"
#include "operations/rung/operation.hpp"
#include "report/page/page.hpp"

namespace tilescope::report {

/// The measured problem, for the head of a report.
struct LadderContext {
  std::string operation, size, device_id;
  DeviceProperties device;
  operations::Work work;
  std::uint64_t seed = 0;
  bool counted = false;  ///< an emulated device: counts instead of times
};

/// The baselines of the rungs: median times, 0 if there is none.
struct Baselines {
  double peer_ms = 0.0;  ///< the vendor's library
  double copy_ms = 0.0;  ///< the device's copy of as many bytes
};
Baselines baselines(const std::vector<measure::RungResult>& results);

/// One row a rung: the rate in FLOP/s and the largest error, or for memory-bound work in B/s and
/// against the copy. On an emulated device: requests to global memory and sectors a request,
/// wavefronts and conflicts of shared memory, FFMA, and floating-point operations a requested byte.
Page ladder_page(const LadderContext& context, const std::vector<measure::RungResult>& results);

/// The operations that have a ladder.
Page operation_list_page();
Page rung_list_page(std::string_view operation, const std::vector<operations::VariantInfo>& rungs);

}  // namespace tilescope::report
