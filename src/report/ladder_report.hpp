// A climbed ladder as a table of 80 columns and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tilescope/device.hpp>
#include <vector>

#include "measure/ladder.hpp"
#include "operations/rung/operation.hpp"

namespace tilescope::report {

/// What was measured, for the head of a report.
struct LadderContext {
  std::string operation, size, device_id;
  DeviceProperties device;
  operations::Work work;
  std::uint64_t seed = 0;
  bool counted = false;  ///< an emulated device: counts instead of times
};

/// What the rungs are compared with: median times, 0 where there is none.
struct Yardsticks {
  double peer_ms = 0.0;  ///< the vendor's library
  double copy_ms = 0.0;  ///< the device's copy of as many bytes
};
Yardsticks yardsticks(const std::vector<measure::RungResult>& results);

/// The lines above the rows.
std::string ladder_head(const LadderContext& context);
/// One row: the rate in FLOP/s and the largest error, or for memory-bound work in B/s and against
/// the copy. On an emulated device: requests to global memory and sectors a request, wavefronts and
/// conflicts of shared memory, FFMA, and floating-point operations a requested byte.
std::string ladder_row(const measure::RungResult& result, const LadderContext& context,
                       const Yardsticks& yardsticks);
/// What follows the rows: how many are ok, and the notes.
std::string ladder_foot(const std::vector<measure::RungResult>& results,
                        const LadderContext& context);

/// Version 1: {"version", "command", "operation", "size", "device", "rungs": [...]}.
nlohmann::json ladder_json(const LadderContext& context,
                           const std::vector<measure::RungResult>& results);

}  // namespace tilescope::report
