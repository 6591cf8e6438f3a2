// A drawing of one warp's access: the lanes in each sector, or in each bank.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tilescope/launch.hpp>
#include <vector>

#include "observe/trace/lane_samples.hpp"
#include "report/page/page.hpp"
#include "report/source_text.hpp"

namespace tilescope::report {

/// "load", "cp.async read", ...
std::string_view kind_words(emulator::AccessKind kind);

/// "0-7,16,18": the lanes of a mask.
std::string lanes_text(std::uint32_t mask);

/// Adds the costliest access of every instruction of line `line`, drawn and to `lanes` of the data.
/// Throws Error(usage) that lists the lines with accesses when this one has none.
void add_lanes(Page& page, const std::vector<observe::LaneSample>& samples, const Dim3& block,
               std::uint32_t line, SourceTexts& sources);

}  // namespace tilescope::report
