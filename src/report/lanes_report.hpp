// A drawing of one warp's access: the lanes in each sector, or in each bank.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tilescope/launch.hpp>
#include <vector>

#include "observe/trace/lane_samples.hpp"
#include "report/source_text.hpp"

namespace tilescope::report {

/// "0-7,16,18": the lanes of a mask.
std::string lanes_text(std::uint32_t mask);

/// The costliest access of every instruction of line `line`. Throws Error(usage) that lists the
/// lines with accesses if this one has none.
std::string lanes_report(const std::vector<observe::LaneSample>& samples, const Dim3& block,
                         std::uint32_t line, SourceTexts& sources);

nlohmann::json lanes_json(const std::vector<observe::LaneSample>& samples, std::uint32_t line);

}  // namespace tilescope::report
