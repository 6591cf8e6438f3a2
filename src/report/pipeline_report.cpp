#include "report/pipeline_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tilescope/gpu/dram.hpp>
#include <tilescope/gpu/gpu_table.hpp>

#include "base/format.hpp"
#include "base/symbol_names.hpp"
#include "report/kernel_report.hpp"
#include "report/source_text.hpp"
#include "report/words/wording.hpp"

namespace tilescope::report {
namespace {

/// The emulated order in figures.
struct Waits {
  std::uint64_t producer = 0, consumer = 0;  ///< phases in which they waited
  double ready = 0;                          ///< stages that consumers found filled, on average
};

Waits waits_of(const Pipeline& pipeline) {
  Waits waits;
  for (const PipelinePhase& phase : pipeline.phases) {
    waits.producer += phase.producer_waited ? 1 : 0;
    waits.consumer += phase.consumer_waited ? 1 : 0;
    waits.ready += phase.ready;
  }
  waits.ready /= static_cast<double>(pipeline.phases.size());
  return waits;
}

std::string place_text(const SourcePlace& at) {
  return fmt::format("{}:{}", at.file.empty() ? "PTX" : file_name(at.file), at.line);
}

std::string name_of(const Pipeline& pipeline) {
  return pipeline.barrier.empty() ? "a pipeline" : pipeline.barrier;
}

std::string bytes_in(double bytes) {
  return format_count(static_cast<std::uint64_t>(std::llround(bytes)));
}

/// "4,814 GB/s x 242 ns / 132 SMs"
std::string law_text(const PipelineNeed& need, const DeviceProperties& gpu) {
  return fmt::format("{} GB/s x {:.0f} ns / {} SMs",
                     bytes_in(gpu::gpu_of_device(gpu).bandwidth() / 1e9), need.latency_ns,
                     gpu.sm_count);
}

std::string pipeline_text(const Pipeline& pipeline, const ExplainResult& result) {
  const PipelineNeed need = need_of(pipeline, result);
  const Waits waits = waits_of(pipeline);
  std::string text =
      fmt::format("{}: {} filled at {}, {} of {} bytes; depth {}, {} bytes under way at most",
                  name_of(pipeline), counted(pipeline.stages, "stage"), place_text(pipeline.issue),
                  counted(pipeline.phases.size(), "phase"), format_count(pipeline.phase_bytes()),
                  pipeline.depth(), format_count(pipeline.bytes_under_way()));
  if (need.needed_per_sm > 0) {
    text += fmt::format("; on an SM {} of the {} that its memory needs ({})",
                        bytes_in(need.bytes_per_sm), bytes_in(need.needed_per_sm),
                        law_text(need, result.properties));
  }
  text += fmt::format(
      ". In emulated order consumers found {:.1f} stages filled, and waited in {} of {} phases; "
      "the producer waited in {}",
      waits.ready, waits.consumer, pipeline.phases.size(), waits.producer);
  return text;
}

List phase_list(const Pipeline& pipeline) {
  List list;
  for (const PipelinePhase& phase : pipeline.phases) {
    list.push_back(Record{{"stage", phase.stage},
                          {"bytes", phase.bytes},
                          {"ahead", phase.ahead},
                          {"under_way", phase.under_way},
                          {"under_way", phase.under_way},
                          {"ready", phase.ready},
                          {"producer_waited", phase.producer_waited},
                          {"consumer_waited", phase.consumer_waited}});
  }
  return list;
}

/// The cure of a pipeline that is too shallow; empty if it is not.
std::string cure_of(const Pipeline& pipeline, const PipelineNeed& need,
                    const ExplainResult& result) {
  const std::uint32_t depth = pipeline.depth();
  if (depth == 0 || depth >= pipeline.phases.size()) return {};  // all were issued at once
  const std::string latency =
      need.latency_ns > 0 ? fmt::format(", {:.0f} ns of DRAM", need.latency_ns) : "";
  if (depth == 1) {
    return fmt::format(
        "Each copy for {} is issued only after the data of the one before have been used: nothing "
        "is under way meanwhile, and each of {} phases waits for the whole latency{}{}. Issue the "
        "copy of the next phase before the work of this one{}",
        name_of(pipeline), pipeline.phases.size(), latency,
        need.blocks_per_sm > 1
            ? fmt::format(" unless other blocks work ({} fit on an SM)", need.blocks_per_sm)
            : "",
        pipeline.stages > 1 ? fmt::format("; there are {} stages for it", pipeline.stages)
                            : ", into a second stage");
  }
  if (depth < pipeline.stages && pipeline.phases.size() >= pipeline.stages) {
    return fmt::format(
        "At most {} of the {} stages of {} are full or under way: the producer waits for more "
        "than the stage that it fills next",
        depth, pipeline.stages, name_of(pipeline));
  }
  if (need.needed_per_sm <= need.bytes_per_sm) return {};
  const double stage = static_cast<double>(pipeline.phase_bytes() * need.blocks_per_sm);
  const double missing = need.needed_per_sm - need.bytes_per_sm;
  return fmt::format(
      "At most {} bytes are under way on an SM ({}: {} bytes a phase; {}), and its share of the "
      "memory's bandwidth needs {} ({}). {} more would be enough",
      bytes_in(need.bytes_per_sm), name_of(pipeline), format_count(pipeline.phase_bytes()),
      counted(need.blocks_per_sm, "block"), bytes_in(need.needed_per_sm),
      law_text(need, result.properties),
      counted(static_cast<std::uint64_t>(std::ceil(missing / stage)), "stage"));
}

}  // namespace

PipelineNeed need_of(const Pipeline& pipeline, const ExplainResult& result) {
  PipelineNeed need;
  need.blocks_per_sm = std::max<std::uint64_t>(blocks_per_sm(result, pipeline.kernel), 1);
  for (const Pipeline& other : result.pipelines) {
    if (other.kernel != pipeline.kernel) continue;
    need.bytes_per_sm += static_cast<double>(other.bytes_under_way() * need.blocks_per_sm);
  }
  const gpu::Gpu gpu = gpu::gpu_of_device(result.properties);
  const gpu::LevelLatency* const latency = gpu.latency(gpu::MemoryLevel::dram);
  const double clock = result.properties.core_clock_khz * 1e3;
  if (latency == nullptr || clock <= 0) return need;
  need.latency_ns = latency->cycles / clock * 1e9;
  if (gpu.bandwidth() <= 0 || result.properties.sm_count <= 0) return need;
  need.needed_per_sm =
      gpu::little_need(gpu.bandwidth(), need.latency_ns * 1e-9, result.properties.sm_count)
          .bytes_per_sm;
  return need;
}

List pipeline_list(const ExplainResult& result) {
  List list;
  for (const Pipeline& pipeline : result.pipelines) {
    const PipelineNeed need = need_of(pipeline, result);
    const Waits waits = waits_of(pipeline);
    list.push_back(Record{{"kernel", function_name(pipeline.kernel)},
                          {"barrier", pipeline.barrier},
                          {"file", pipeline.issue.file},
                          {"line", pipeline.issue.line},
                          {"wait_file", pipeline.wait.file},
                          {"wait_line", pipeline.wait.line},
                          {"stages", pipeline.stages},
                          {"depth", pipeline.depth()},
                          {"phase_bytes", pipeline.phase_bytes()},
                          {"bytes_under_way", pipeline.bytes_under_way()},
                          {"blocks_per_sm", need.blocks_per_sm},
                          {"bytes_under_way_per_sm", need.bytes_per_sm},
                          {"bytes_needed_per_sm", need.needed_per_sm},
                          {"latency_ns", need.latency_ns},
                          {"mean_ready", waits.ready},
                          {"producer_waits", waits.producer},
                          {"consumer_waits", waits.consumer},
                          {"phases", phase_list(pipeline)}});
  }
  return list;
}

void add_pipelines(Page& page, const ExplainResult& result) {
  if (result.pipelines.empty()) return;
  page.gap();
  page.head("pipelines, of block 0");
  for (const Pipeline& pipeline : result.pipelines) {
    page.add(Text{pipeline_text(pipeline, result), 2, 2});
  }
}

void advise_on_pipelines(const ExplainResult& result, std::vector<Advice>& advice) {
  for (const Pipeline& pipeline : result.pipelines) {
    const PipelineNeed need = need_of(pipeline, result);
    std::string message = cure_of(pipeline, need, result);
    if (message.empty()) continue;
    // A pipeline's cost is the share of its phases that wait for the whole latency, or of the
    // bandwidth that it leaves.
    const bool lacks_bytes = pipeline.depth() > 1 && need.bytes_per_sm < need.needed_per_sm;
    const double weight =
        lacks_bytes ? 1 - need.bytes_per_sm / need.needed_per_sm : 1.0 / pipeline.depth();
    advice.push_back({AdviceKind::shallow_pipeline, pipeline.issue, std::move(message), weight});
  }
}

}  // namespace tilescope::report
