// A climbed ladder as a table of 80 columns and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tilescope/device.hpp>
#include <vector>

#include "measure/ladder.hpp"
#include "operations/operation.hpp"

namespace tilescope::report {

/// What was measured, for the head of a report.
struct LadderContext {
  std::string operation, size, device_id;
  DeviceProperties device;
  operations::Work work;
  std::uint64_t seed = 0;
};

/// The lines above the rows.
std::string ladder_head(const LadderContext& context);
/// One row. `peer_ms` is the vendor's time, 0 if there is none (yet).
std::string ladder_row(const measure::RungResult& result, double peer_ms);
/// What follows the rows: how many are ok, and the notes.
std::string ladder_foot(const std::vector<measure::RungResult>& results);

/// Version 1: {"version", "command", "operation", "size", "device", "rungs": [...]}.
nlohmann::json ladder_json(const LadderContext& context,
                           const std::vector<measure::RungResult>& results);

/// The median time of the ladder's peer, 0 if it was not measured.
double peer_ms(const std::vector<measure::RungResult>& results);

}  // namespace tilescope::report
