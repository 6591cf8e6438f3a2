// The launches of a program that are watched (InspectOptions::launches).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tilescope/program.hpp>
#include <vector>

namespace tilescope::inspect {

/// Whether one of `ranges` has launch `number` of the program, which is number `of_kernel` of
/// `kernel`; always if there are none.
bool selects(const std::vector<LaunchRange>& ranges, std::uint64_t number, std::string_view kernel,
             std::uint64_t of_kernel);

/// Throws Error(usage) if a range selects none of `launches`.
void require_selected(const std::vector<LaunchRange>& ranges,
                      const std::vector<ProgramLaunch>& launches);

}  // namespace tilescope::inspect
