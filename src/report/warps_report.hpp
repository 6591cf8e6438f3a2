// Warps and divergence for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tilescope/gpu/warps.hpp>

namespace tilescope::report {

/// Which threads of a block are in which warp: one line a warp, at most `most` of them.
std::string warp_layout(const Dim3& block, int warp_size, std::size_t most = 12);
/// "3 of 32 (9.4%)" and the rest, a few lines. `unit`: "warps" or "warp-phases".
std::string divergence_text(const gpu::DivergenceCount& count, std::string_view unit);
nlohmann::json divergence_json(const gpu::DivergenceCount& count);

}  // namespace tilescope::report
