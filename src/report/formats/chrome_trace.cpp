#include "report/formats/chrome_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/symbol_names.hpp"
#include "inspect/results/run_trace.hpp"

namespace tilescope::report {
namespace {

using Json = nlohmann::ordered_json;

std::string extents_text(const Dim3& extents) {
  return fmt::format("{} x {} x {}", extents.x, extents.y, extents.z);
}

std::string span_text(const observe::WarpSpan& span) {
  const std::string where =
      span.place.line == 0 ? "" : fmt::format(" at {}:{}", span.place.file, span.place.line);
  switch (span.state) {
    case observe::WarpState::working:
      return "works";
    case observe::WarpState::partly_idle:
      return "works, lanes apart";
    case observe::WarpState::waiting:
      return "waits" + where;
    case observe::WarpState::stuck:
      return "waits for ever" + where;
  }
  return {};
}

/// The events of a trace. A launch is a process, a warp a thread of it.
class TraceEvents {
 public:
  void name(const char* what, std::uint64_t process, std::uint64_t thread, std::string text) {
    events_.push_back({{"ph", "M"},
                       {"name", what},
                       {"pid", process},
                       {"tid", thread},
                       {"args", {{"name", std::move(text)}}}});
  }

  void slice(std::string text, std::uint64_t process, std::uint64_t thread, std::uint64_t begin,
             std::uint64_t end, Json arguments) {
    events_.push_back({{"ph", "X"},
                       {"name", std::move(text)},
                       {"cat", thread == 0 ? "launch" : "warp"},
                       {"pid", process},
                       {"tid", thread},
                       {"ts", begin},
                       {"dur", end - begin},
                       {"args", std::move(arguments)}});
  }

  /// Returns the end of the block's last warp.
  std::uint64_t add_block(const observe::CourseOfBlock& block, std::uint64_t process,
                          std::uint64_t first_thread, std::uint64_t begin) {
    std::uint64_t end = begin;
    for (std::size_t warp = 0; warp < block.warps.size(); ++warp) {
      const std::uint64_t thread = first_thread + warp;
      name("thread_name", process, thread,
           fmt::format("block ({},{},{}) warp {}{}", block.index.x, block.index.y, block.index.z,
                       warp, block.complete ? "" : ", cut short"));
      for (const observe::WarpSpan& span : block.warps[warp]) {
        slice(span_text(span), process, thread, begin + span.begin, begin + span.end,
              Json::object());
        end = std::max(end, begin + span.end);
      }
    }
    return end;
  }

  Json take() { return std::move(events_); }

 private:
  Json events_ = Json::array();
};

Json launch_arguments(const Dim3& grid, const Dim3& block, std::uint64_t warp_instructions) {
  return {{"grid", extents_text(grid)},
          {"block", extents_text(block)},
          {"warp_instructions", warp_instructions}};
}

void add_emulated_launches(TraceEvents& events, const inspect::RunTrace& trace) {
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < trace.launches.size(); ++i) {
    const inspect::RunTrace::OfLaunch& launch = trace.launches[i];
    events.name("process_name", i, 0, fmt::format("launch {}: {}", i, launch.kernel));
    events.name("thread_name", i, 0, "launch");
    std::uint64_t end = begin, thread = 1;
    for (const observe::CourseOfBlock& block : launch.blocks) {
      end = std::max(end, events.add_block(block, i, thread, begin));
      thread += block.warps.size();
    }
    Json arguments = launch_arguments(launch.grid, launch.block, launch.warp_instructions);
    arguments["blocks_traced"] = launch.blocks.size();
    events.slice(launch.kernel, i, 0, begin, end, std::move(arguments));
    begin = end;
  }
}

void add_gpu_launches(TraceEvents& events, const inspect::RunTrace& trace) {
  events.name("thread_name", 0, 0, "launches");
  std::string kernels;
  for (const inspect::RunTrace::OfLaunch& launch : trace.launches) {
    kernels += (kernels.empty() ? "" : ", ") + launch.kernel;
  }
  const inspect::RunTrace::OfLaunch& first = trace.launches.front();
  events.slice(kernels, 0, 0, 0, static_cast<std::uint64_t>(std::llround(*trace.time_ms * 1e3)),
               {{"grid", extents_text(first.grid)},
                {"block", extents_text(first.block)},
                {"launches", trace.launches.size()}});
}

void add_program_launches(TraceEvents& events, const Inspection& run) {
  events.name("process_name", 0, 0, run.target);
  events.name("thread_name", 0, 0, "launches");
  std::uint64_t begin = 0;
  for (const ProgramLaunch& launch : run.program->launches) {
    if (!launch.is_watched) continue;
    const SourcePlace& place = launch.place;
    const std::uint64_t end = begin + launch.warp_instructions;
    Json arguments = launch_arguments(launch.grid, launch.block, launch.warp_instructions);
    if (place.line != 0) arguments["place"] = fmt::format("{}:{}", place.file, place.line);
    events.slice(function_name(launch.kernel), 0, 0, begin, end, std::move(arguments));
    begin = end;
  }
}

}  // namespace

std::string render_trace(const Inspection& run) {
  TraceEvents events;
  if (run.program) {
    add_program_launches(events, run);
  } else if (run.trace && run.trace->time_ms) {
    add_gpu_launches(events, *run.trace);
  } else if (run.trace) {
    add_emulated_launches(events, *run.trace);
  }
  const Json document = {{"otherData", {{"target", run.target}, {"device", run.device}}},
                         {"traceEvents", events.take()}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace tilescope::report
