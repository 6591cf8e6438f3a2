#include "operations/rung/task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "operations/rung/kernel_program.hpp"

namespace tilescope::operations {
namespace {

RunReport run_on_cpu(const Task& task, void* output) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  task.compute(output);
  return {.variant = std::string(cpu_rung().name),
          .compute_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count()};
}

// Where an input or the output has elements and a null pointer.
void require_memory(const Task& task, std::span<const ConstArrayView> inputs, const void* output) {
  const auto require = [&](const char* what, const void* data, std::size_t bytes) {
    if (data != nullptr || bytes == 0) return;
    throw usage_error("{}: {} has {} bytes and no memory (a null pointer)", task.operation, what,
                      bytes);
  };
  for (const ConstArrayView& input : inputs) require("an input", input.data, input.bytes());
  require("the result", output, task.output_bytes());
}

bool shares_memory(const Task& task, const ConstArrayView& input, const void* output) {
  const auto from = reinterpret_cast<std::uintptr_t>(input.data),
             to = reinterpret_cast<std::uintptr_t>(output);
  return from < to + task.output_bytes() && to < from + input.bytes();
}

// An operation that works element by element may write over its input, but not beside it.
void require_whole_or_none(const Task& task, const void* output) {
  for (const ConstArrayView& input : task.inputs) {
    if (input.data == output || !shares_memory(task, input, output)) continue;
    throw usage_error(
        "{}: the result shares a part of an input's memory; let it begin where the input does, or "
        "give it memory of its own",
        task.operation);
  }
}

}  // namespace

Rung cpu_rung() {
  return {.name = "cpu", .idea = "all cores of the CPU", .form = RungForm::cpu};
}

Rung peer_rung(std::string_view name, std::string_view peer) {
  return {.name = name, .idea = "the vendor's library", .form = RungForm::peer, .peer = peer};
}

device::PeerCall peer_call(const ConstArrayView& input) {
  device::PeerCall call;
  call.count = static_cast<std::int64_t>(input.count);
  const std::string_view type = name_of(input.type);
  type.copy(call.type, sizeof call.type - 1);
  return call;
}

ConstArrayView dense_elements(const ConstMatrixView& matrix, const char* name) {
  require_valid(matrix, name);
  if (matrix.leading != matrix.vector_length() && !matrix.empty()) {
    throw usage_error("{} must be dense: its rows are {} elements long and {} apart", name,
                      matrix.vector_length(), matrix.leading);
  }
  return {matrix.type, static_cast<std::size_t>(matrix.rows * matrix.columns), matrix.data};
}

void require_own_result(const Task& task, std::span<const ConstArrayView> inputs,
                        const void* output) {
  require_memory(task, inputs, output);
  for (const ConstArrayView& input : inputs) {
    if (!shares_memory(task, input, output)) continue;
    throw usage_error("{}: the result shares memory with an input; give it memory of its own",
                      task.operation);
  }
}

Task with_own_result(Task task, const void* output) {
  require_own_result(task, task.inputs, output);
  return task;
}

const Rung& find_rung(const Task& task, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Rung& rung : task.rungs) {
    if (rung.name == name) return rung;
    names.push_back(rung.name);
  }
  const std::string_view near = nearest(name, names);
  throw usage_error("{} has no variant \"{}\"{}; see tilescope ladder {} --list", task.operation,
                    printable(name), near.empty() ? "" : fmt::format(", did you mean {}?", near),
                    task.operation);
}

std::optional<std::string> refusal(const Rung& rung, const Device& device) {
  if (rung.form == RungForm::cpu) return rung.refusal;
  if (rung.form == RungForm::peer) {
    if (device.kind() != DeviceKind::cuda) return "needs a GPU";
    if (std::string why = device::Peers::missing(rung.peer); !why.empty()) return why;
    return rung.refusal;
  }
  if (device.kind() == DeviceKind::cpu) return "a kernel: needs a GPU or --device emulated";
  const DeviceProperties& p = device.properties();
  if (10 * p.compute_major + p.compute_minor < rung.least_compute) {
    return fmt::format("needs compute capability {}.{}; {} has {}.{}", rung.least_compute / 10,
                       rung.least_compute % 10, p.name, p.compute_major, p.compute_minor);
  }
  return rung.refusal;
}

const Rung& rung_to_run(const Device& device, const Task& task, const std::string& variant) {
  const bool on_cpu = device.kind() == DeviceKind::cpu;
  const std::string name =
      !variant.empty() ? variant : std::string(on_cpu ? cpu_rung().name : task.best);
  const Rung& rung = find_rung(task, name);
  if (const auto why = refusal(rung, device)) {
    throw usage_error("{}, variant {}: {}", task.operation, name, *why);
  }
  if (rung.form == RungForm::peer) {
    throw usage_error("{}, variant {}: only a baseline of the ladder; name a kernel",
                      task.operation, name);
  }
  return rung;
}

RunReport run_task(Device& device, const Task& task, const std::string& variant, void* output) {
  if (task.output_count == 0) return {.variant = "none (nothing to compute)", .compute_ms = 0.0};
  require_memory(task, task.inputs, output);
  require_whole_or_none(task, output);
  const Rung& rung = rung_to_run(device, task, variant);
  if (rung.form == RungForm::cpu) return run_on_cpu(task, output);
  const KernelProgram program(device, rung.source, rung.plan(device.properties()));
  std::vector<Buffer> inputs;
  std::vector<DeviceAddress> addresses;
  for (const ConstArrayView& input : task.inputs) {
    inputs.push_back(device.allocate(input.bytes(), "input", Reach::own));
    addresses.push_back(inputs.back().address());
    device.copy_to_device(addresses.back(), input.data, input.bytes());
  }
  const Buffer result =
      rung.in_place ? Buffer() : device.allocate(task.output_bytes(), "output", Reach::own);
  const DeviceAddress to = rung.in_place ? addresses.at(0) : result.address();
  const Event before = device.create_event(), after = device.create_event();
  device.record(before);
  program.run(addresses, to);
  device.record(after);
  const double elapsed = device.elapsed_ms(before, after);
  device.copy_to_host(output, to, task.output_bytes());
  return {.variant = std::string(rung.name), .compute_ms = elapsed};
}

}  // namespace tilescope::operations
