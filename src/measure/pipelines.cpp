#include "measure/pipelines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tilescope/pinned.hpp>

#include "base/parallel.hpp"

namespace tilescope::measure {
namespace {

using transfer::Engine;
using transfer::Form;

constexpr std::size_t chunk = std::size_t{1} << 20U;

template <typename Body>
void for_chunks(std::size_t count, const Body& body) {
  parallel_for((count + chunk - 1) / chunk,
               [&](std::size_t c) { body(c * chunk, std::min(count, (c + 1) * chunk)); });
}

PipelineResult empty_result(Form form, std::size_t count) {
  PipelineResult result{.form = form};
  result.bytes_in = 2.0 * static_cast<double>(count) * sizeof(float);
  result.bytes_out = static_cast<double>(count) * sizeof(float);
  return result;
}

void check_sum(const float* a, const float* b, const float* c, std::size_t count, Form form) {
  for_chunks(count, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      if (c[i] == a[i] + b[i]) continue;
      throw Error(ErrorKind::wrong_result,
                  fmt::format("pipeline {}: element {} is {}, not {} + {}", transfer::name_of(form),
                              i, c[i], a[i], b[i]));
    }
  });
}

/// Adds the time of each engine's tasks, one after the other.
void add_engine_times(PipelineResult& result, const std::vector<transfer::Task>& tasks,
                      const std::vector<transfer::Interval>& serial) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    result.engine_ms[static_cast<int>(tasks[i].engine)] += serial[i].end - serial[i].start;
  }
}

}  // namespace

double PipelineResult::longest_engine_ms() const {
  return *std::max_element(std::begin(engine_ms), std::end(engine_ms));
}

double PipelineResult::overlap() const {
  const double all = std::accumulate(std::begin(engine_ms), std::end(engine_ms), 0.0);
  const double hideable = all - longest_engine_ms();
  return hideable > 0.0 ? std::clamp((all - total_ms) / hideable, 0.0, 1.0) : 0.0;
}

std::vector<PipelineResult> run_pipelines(Device& device, std::size_t count, std::size_t segment,
                                          int samples) {
  const std::size_t bytes = count * sizeof(float);
  PinnedBuffer a(device, bytes), b(device, bytes), c(device, bytes);
  auto* a_data = static_cast<float*>(a.data());
  auto* b_data = static_cast<float*>(b.data());
  auto* c_data = static_cast<float*>(c.data());
  for_chunks(count, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      a_data[i] = static_cast<float>(i % 8191) * 0.25F;
      b_data[i] = static_cast<float>(i % 127) - 63.0F;
    }
  });

  std::vector<PipelineResult> results;
  for (const Form form : transfer::all_forms) {
    PipelineResult result = empty_result(form, count);
    transfer::VectorAddPipeline pipeline(device, form, segment);
    std::vector<transfer::PipelineRun> runs;
    for (int sample = 0; sample < samples; ++sample) {
      std::fill(c_data, c_data + count, std::numeric_limits<float>::quiet_NaN());
      runs.push_back(pipeline.run({a_data, b_data, c_data, count}));
      check_sum(a_data, b_data, c_data, count, form);
    }
    std::sort(runs.begin(), runs.end(),
              [](const auto& x, const auto& y) { return x.total_ms < y.total_ms; });
    transfer::PipelineRun& median = runs[runs.size() / 2];
    result.total_ms = median.total_ms;
    result.tasks = std::move(median.tasks);
    result.intervals = std::move(median.intervals);
    if (form == Form::serial) add_engine_times(result, result.tasks, result.intervals);
    if (!results.empty()) {
      std::copy(std::begin(results[0].engine_ms), std::end(results[0].engine_ms), result.engine_ms);
    }
    results.push_back(std::move(result));
  }
  return results;
}

std::vector<PipelineResult> play_pipelines(const PlayedDevice& device, std::size_t count,
                                           std::size_t segment) {
  const auto segments = static_cast<int>((count + segment - 1) / segment);
  std::vector<PipelineResult> results;
  for (const Form form : transfer::all_forms) {
    PipelineResult result = empty_result(form, count);
    result.tasks = transfer::tasks_of(form, segments);
    std::vector<double> durations;
    for (const transfer::Task& task : result.tasks) {
      const std::size_t first = static_cast<std::size_t>(task.segment) * segment;
      const double bytes = static_cast<double>(std::min(segment, count - first)) * sizeof(float);
      constexpr double ms = 1e3;
      const double duration = task.engine == Engine::compute
                                  ? ms * 3.0 * bytes / device.memory_bytes_per_second
                                  : ms * bytes / device.link_bytes_per_second;
      durations.push_back(duration);
      const bool shared = device.engines.one_copy_engine && task.engine == Engine::copy_out;
      result.engine_ms[static_cast<int>(shared ? Engine::copy_in : task.engine)] += duration;
    }
    result.intervals = transfer::play(result.tasks, durations, device.engines);
    result.total_ms = transfer::makespan(result.intervals);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace tilescope::measure
