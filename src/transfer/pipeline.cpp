#include "transfer/pipeline.hpp"

#include <algorithm>

#include "operations/rung/kernel_source.hpp"

namespace tilescope::transfer {
namespace {

constexpr int operands = 3;
constexpr std::uint32_t threads = 256;

// Inputs for a stream with its own buffers.
void add_inputs(std::vector<Task>& tasks, int segment, int stream) {
  tasks.push_back({Engine::copy_in, segment, stream, stream, 0});
  tasks.push_back({Engine::copy_in, segment, stream, stream, 1});
}
void add_kernel(std::vector<Task>& tasks, int segment, int stream) {
  tasks.push_back({Engine::compute, segment, stream, stream, 2});
}
void add_output(std::vector<Task>& tasks, int segment, int stream) {
  tasks.push_back({Engine::copy_out, segment, stream, stream, 2});
}

/// All tasks of one segment, then all of the next, streams in turn.
std::vector<Task> depth_first(int segments, int streams) {
  std::vector<Task> tasks;
  for (int i = 0; i < segments; ++i) {
    add_inputs(tasks, i, i % streams);
    add_kernel(tasks, i, i % streams);
    add_output(tasks, i, i % streams);
  }
  return tasks;
}

/// Two segments at a time: all inputs, both kernels, both outputs.
std::vector<Task> breadth_first(int segments) {
  std::vector<Task> tasks;
  for (int first = 0; first < segments; first += 2) {
    const int end = std::min(first + 2, segments);
    for (int i = first; i < end; ++i) add_inputs(tasks, i, i % 2);
    for (int i = first; i < end; ++i) add_kernel(tasks, i, i % 2);
    for (int i = first; i < end; ++i) add_output(tasks, i, i % 2);
  }
  return tasks;
}

/// In step t: inputs of segment t, kernel of t - 1, output of t - 2, so that no queue ever has a
/// task at its head that waits for one issued later. Each engine has its own stream: with a stream
/// for each set of buffers, a GPU would copy two segments' inputs at once, and both would end late.
std::vector<Task> pipelined(int segments) {
  constexpr int sets = 3;
  std::vector<Task> tasks;
  std::vector<int> last(static_cast<std::size_t>(segments));  // of each segment's tasks so far
  const auto add = [&](Engine engine, int segment, int operand, int after) {
    tasks.push_back({engine, segment, static_cast<int>(engine), segment % sets, operand, after});
    last[static_cast<std::size_t>(segment)] = static_cast<int>(tasks.size()) - 1;
  };
  const auto last_of = [&](int segment) {
    return segment < 0 ? -1 : last[static_cast<std::size_t>(segment)];
  };
  for (int step = 0; step < segments + 2; ++step) {
    if (const int s = step; s < segments) {
      add(Engine::copy_in, s, 0, last_of(s - sets));
      add(Engine::copy_in, s, 1, -1);
    }
    if (const int s = step - 1; s >= 0 && s < segments) add(Engine::compute, s, 2, last_of(s));
    if (const int s = step - 2; s >= 0) add(Engine::copy_out, s, 2, last_of(s));
  }
  return tasks;
}

struct FormFacts {
  std::string_view name, idea;
  int streams;
};

const FormFacts& facts_of(Form form) {
  // By the value of Form.
  static constexpr FormFacts forms[] = {
      {"serial", "one stream: nothing overlaps", 1},
      {"simple", "two streams, one segment after the other", 2},
      {"better", "two streams, both inputs before the kernels", 2},
      {"three_buffers", "three buffers: in, compute and out at once", 3},
      {"many_streams", "eight streams, one segment after the other", 8}};
  return forms[static_cast<std::size_t>(form)];
}

}  // namespace

std::string_view name_of(Form form) {
  return facts_of(form).name;
}

std::string_view idea_of(Form form) {
  return facts_of(form).idea;
}

int stream_count(Form form) {
  return facts_of(form).streams;
}

std::vector<Task> tasks_of(Form form, int segments) {
  switch (form) {
    case Form::better:
      return breadth_first(segments);
    case Form::three_buffers:
      return pipelined(segments);
    default:
      return depth_first(segments, stream_count(form));
  }
}

VectorAddPipeline::VectorAddPipeline(Device& device, Form form, std::size_t segment)
    : device_(device), form_(form), segment_(segment) {
  KernelRequest request = operations::embedded_request("transfer/vector_add.cu");
  request.kernel = "vector_add";
  kernel_ = device.load(request);
  for (int i = 0; i < stream_count(form); ++i) {
    streams_.push_back(device.create_stream());
    for (const char* name : {"a", "b", "c"}) {
      buffers_.push_back(device.allocate(segment * sizeof(float), name, Reach::own));
    }
  }
}

void VectorAddPipeline::issue(const Task& task, const HostVectors& vectors) {
  const std::size_t first = static_cast<std::size_t>(task.segment) * segment_;
  const std::size_t count = std::min(segment_, vectors.count - first);
  const Stream& stream = streams_[static_cast<std::size_t>(task.stream)];
  const auto buffer = [&](int operand) {
    return buffers_[static_cast<std::size_t>(task.buffers * operands + operand)].address();
  };
  switch (task.engine) {
    case Engine::copy_in:
      device_.copy_to_device(buffer(task.operand),
                             (task.operand == 0 ? vectors.a : vectors.b) + first,
                             count * sizeof(float), stream);
      break;
    case Engine::compute:
      device_.launch(
          kernel_,
          {.grid = {static_cast<std::uint32_t>((count + threads - 1) / threads)},
           .block = {threads}},
          KernelArguments::of(buffer(0), buffer(1), buffer(2), static_cast<long long>(count)),
          stream);
      break;
    case Engine::copy_out:
      device_.copy_to_host(vectors.c + first, buffer(2), count * sizeof(float), stream);
      break;
  }
}

PipelineRun VectorAddPipeline::run(const HostVectors& vectors) {
  PipelineRun result;
  if (vectors.count == 0) return result;
  const auto segments = static_cast<int>((vectors.count + segment_ - 1) / segment_);
  result.tasks = tasks_of(form_, segments);
  std::vector<Event> starts, ends;
  for (std::size_t i = 0; i < result.tasks.size(); ++i) {
    starts.push_back(device_.create_event());
    ends.push_back(device_.create_event());
  }
  device_.synchronize();
  for (std::size_t i = 0; i < result.tasks.size(); ++i) {
    const Stream& stream = streams_[static_cast<std::size_t>(result.tasks[i].stream)];
    if (const int after = result.tasks[i].after; after >= 0) {
      device_.wait(stream, ends[static_cast<std::size_t>(after)]);
    }
    device_.record(starts[i], stream);
    issue(result.tasks[i], vectors);
    device_.record(ends[i], stream);
  }
  device_.synchronize();
  for (std::size_t i = 0; i < result.tasks.size(); ++i) {
    result.intervals.push_back(
        {device_.elapsed_ms(starts[0], starts[i]), device_.elapsed_ms(starts[0], ends[i])});
  }
  result.total_ms = makespan(result.intervals);
  return result;
}

}  // namespace tilescope::transfer
