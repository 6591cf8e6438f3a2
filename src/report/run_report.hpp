// What `run` prints: the launch, its time, and the first elements of every array.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <tilescope/device_properties.hpp>
#include <tilescope/launch.hpp>
#include <vector>

#include "inspect/launch_arrays.hpp"

namespace tilescope::report {

struct RunContext {
  std::string kernel;
  Launch launch;
  std::string device_id;
  DeviceProperties device;
  std::optional<double> time_ms;  ///< nothing where time means nothing (emulated)
};

/// "4 x 2", without trailing extents of 1.
std::string extents_text(const Dim3& extents);

std::string run_text(const RunContext& context, const std::vector<inspect::ArraySummary>& arrays);
nlohmann::json run_json(const RunContext& context,
                        const std::vector<inspect::ArraySummary>& arrays);

}  // namespace tilescope::report
