// Facts about registers inside a part that only some lanes run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "emulator/compiled/region.hpp"

namespace tilescope::emulator::compiled {

/// The lanes that take the branch at the block's end, where no others than `lanes` run the block:
/// none, or all of `lanes`. Nothing: it is not known which do.
std::optional<LaneMask> takers_inside(const FunctionPlan& plan, const FactRules& rules,
                                      const Facts& facts, std::uint32_t block, LaneMask lanes);

/// For each block of the part that lanes can reach: about the registers that are live there.
/// `facts`: those at the branch; no others than `lanes` run the part; `rules`: of masked code.
std::map<std::uint32_t, KnownFacts> facts_inside(const FunctionPlan& plan, const FactRules& rules,
                                                 const MaskedPart& part, LaneMask lanes,
                                                 const Facts& facts);

}  // namespace tilescope::emulator::compiled
