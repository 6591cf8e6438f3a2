// The table of named GPUs.
#pragma once

#include <span>
#include <tilescope/gpu/gpu_table.hpp>

#include "report/page/page.hpp"

namespace tilescope::report {

/// One GPU with the sources of its figures.
Record gpu_record(const gpu::Gpu& gpu);

/// `devices --gpu`: one GPU on a page.
Page gpu_page(const gpu::Gpu& gpu);
/// `devices --all`: one line for each GPU.
Page gpu_table_page(std::span<const gpu::Gpu> table);

}  // namespace tilescope::report
