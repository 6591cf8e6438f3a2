// Warps and divergence.
#pragma once

#include <optional>
#include <string>
#include <tilescope/gpu/warps.hpp>

#include "report/page/page.hpp"

namespace tilescope::report {

/// A condition, what it was counted over, and what was counted.
struct Divergence {
  std::string condition;
  gpu::ConditionLoop loop;
  gpu::DivergenceCount count;
};

/// Which threads of a block are in which warp, and how a condition splits them.
Page warps_page(const Launch& launch, int warp_size, const std::optional<Divergence>& divergence);

/// The bounds check `i < elements` in blocks of `threads`.
Page vector_bounds_page(std::int64_t elements, int threads, int warp_size);

/// The boundary checks of loading tiles of one operand.
struct TileLoads {
  gpu::Operand operand = gpu::Operand::a;
  std::int64_t m = 0, n = 0, k = 0;
  int tile = 0;
};
Page tile_loads_page(const TileLoads& loads, int warp_size);

}  // namespace tilescope::report
