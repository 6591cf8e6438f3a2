// The table of named GPUs, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <tilescope/gpu/gpu_table.hpp>

namespace tilescope::report {

/// One line a GPU.
std::string gpu_table_text(std::span<const gpu::Gpu> table);
/// Everything about one, with sources.
std::string gpu_text(const gpu::Gpu& gpu);
nlohmann::json gpu_json(const gpu::Gpu& gpu);

}  // namespace tilescope::report
