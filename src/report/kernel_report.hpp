// The parts of a report about each kernel: its counts, its resources, its occupancy.
#pragma once

#include <cstdint>
#include <string>
#include <tilescope/explain.hpp>

#include "report/page/page.hpp"

namespace tilescope::report {

/// For each kernel: its name, launches and totals; of one that was compiled from source also
/// registers, local and shared memory, and the blocks and warps that fit on an SM.
List kernel_list(const ExplainResult& result);

/// Blocks of the kernel that fit on an SM; 0 if its registers are not known.
std::uint64_t blocks_per_sm(const ExplainResult& result, const std::string& kernel);

/// The resources in words; nothing for a program, whose kernels are PTX.
void add_resources(Page& page, const ExplainResult& result);

}  // namespace tilescope::report
