// Regions for one warp of each block. The threads' indices in their block never change, so all that
// follows from them alone is known when the code is compiled: rows and columns of a tile are
// constants, and loops over a block's work have rounds of which each is known.
#pragma once

#include <optional>

#include "emulator/compiled/region.hpp"

namespace tilescope::emulator::compiled {

struct WarpRegion {
  FunctionPlan plan;  ///< with copies of rounds
  Region region;
};

/// The most that regions for each warp may gain beside `region`, which is that for all warps: about
/// the time that vectors and calls for indices take in it; 0 where it is too long.
int possible_gain(const FunctionPlan& plan, Region& region, const PresentState& present);

/// The region behind the kernel's begin, block `head`, for the warp whose state this is. Nothing:
/// it gains too little of what is possible.
std::optional<WarpRegion> find_warp_region(const FunctionPlan& plan, std::uint32_t head,
                                           PresentState present, int possible);

}  // namespace tilescope::emulator::compiled
