// Pipelines of bulk copies in `explain`: how far the producer runs ahead, the bytes under way that
// follow, and those that the GPU needs by Little's law.
#pragma once

#include <tilescope/explain.hpp>
#include <vector>

#include "report/page/page.hpp"

namespace tilescope::report {

/// Bytes that a pipeline's launch has under way on an SM, and those that keep the memory busy.
struct PipelineNeed {
  std::uint64_t blocks_per_sm = 1;  ///< 1 too where registers are not known
  double bytes_per_sm = 0;          ///< under way, with all pipelines of the kernel
  double needed_per_sm = 0;         ///< bandwidth x latency / SMs; 0: a figure is not known
  double latency_ns = 0;            ///< of DRAM
};
PipelineNeed need_of(const Pipeline& pipeline, const ExplainResult& result);

/// `pipelines[]` of the JSON.
List pipeline_list(const ExplainResult& result);
/// The section of the text; nothing without pipelines.
void add_pipelines(Page& page, const ExplainResult& result);

void advise_on_pipelines(const ExplainResult& result, std::vector<Advice>& advice);

}  // namespace tilescope::report
