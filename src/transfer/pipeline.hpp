// C = A + B for vectors in host memory, in segments, in five ways of ordering copies and kernels.
#pragma once

#include <cstddef>
#include <string_view>
#include <tilescope/device.hpp>
#include <vector>

#include "transfer/schedule.hpp"

namespace tilescope::transfer {

/// The five forms, from the textbook's first to the ideal.
enum class Form { serial, simple, better, three_buffers, many_streams };
inline constexpr Form all_forms[] = {Form::serial, Form::simple, Form::better, Form::three_buffers,
                                     Form::many_streams};

std::string_view name_of(Form form);
std::string_view idea_of(Form form);

/// The streams of a form, and so its sets of device buffers: a set for each stream, except in
/// three_buffers, which has a stream for each engine.
int stream_count(Form form);

/// The tasks of `segments` segments in the form's order of issue.
std::vector<Task> tasks_of(Form form, int segments);

/// The result of one run of the pipeline.
struct PipelineRun {
  double total_ms = 0.0;    ///< from the first task's start to the last one's end
  std::vector<Task> tasks;  ///< in order of issue
  /// From the moment its stream was free until its end: a copy that waits for the engine is longer
  /// here than on the link.
  std::vector<Interval> intervals;
};

/// Host vectors of `count` floats each.
struct HostVectors {
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  std::size_t count = 0;
};

/// Runs the pipeline on a device that runs kernels, `segment` floats at a time. Pinned host memory
/// is needed for copies to overlap.
class VectorAddPipeline {
 public:
  VectorAddPipeline(Device& device, Form form, std::size_t segment);
  PipelineRun run(const HostVectors& vectors);

 private:
  void issue(const Task& task, const HostVectors& vectors);

  Device& device_;
  Form form_;
  std::size_t segment_;
  Kernel kernel_;
  std::vector<Stream> streams_;
  std::vector<Buffer> buffers_;  ///< A, B, C of set 0, then of set 1, ...
};

}  // namespace tilescope::transfer
