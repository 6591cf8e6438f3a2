// The launches of a program that are watched (InspectOptions::launches).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tilescope/inspection.hpp>
#include <tilescope/program.hpp>
#include <vector>

namespace tilescope::inspect {

/// Whether one of `ranges` has launch `number` of the program, which is number `of_kernel` of
/// `kernel`; always if there are none.
bool selects(const std::vector<LaunchRange>& ranges, std::uint64_t number, std::string_view kernel,
             std::uint64_t of_kernel);

/// Why a range that selects none of `launches` is an error; empty if there is none.
std::string absent_launches(const std::vector<LaunchRange>& ranges,
                            const std::vector<ProgramLaunch>& launches);
/// Throws Error(usage) for launches that the result's program was to make and did not.
void require_selected(const Inspection& result);

}  // namespace tilescope::inspect
