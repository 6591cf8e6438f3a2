#include "operations/rung/prepared_task.hpp"

#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "operations/rung/kernel_program.hpp"
#include "operations/rung/recording_device.hpp"

namespace tilescope {
namespace operations {
namespace {

DeviceAddress address_in_memory(const void* data) {
  return reinterpret_cast<DeviceAddress>(data);
}

void require_place(const Task& task, const void* data, const char* what) {
  constexpr DeviceAddress pack = 16;
  if (address_in_memory(data) % pack != 0) {
    throw usage_error("{}: {} begins {} bytes behind a multiple of {}; align or copy it",
                      task.operation, what, address_in_memory(data) % pack, pack);
  }
}

void require_places(const Task& task, std::span<const ConstArrayView> inputs, const void* output) {
  require_place(task, output, "the result");
  for (const ConstArrayView& input : inputs) require_place(task, input.data, "an input");
  require_own_result(task, inputs, output);
}

}  // namespace
}  // namespace operations

using namespace operations;

struct PreparedOperation::State {
  std::shared_ptr<Device> device;
  Task task;
  void* output = nullptr;
  std::string variant = {};
  std::shared_ptr<RecordingDevice> recorder = {};     // none: the CPU computes
  std::unique_ptr<const KernelProgram> program = {};  // owns the scratch memory
  std::vector<RecordedStep> steps = {};

  void bind() {
    std::vector<DeviceAddress> inputs;
    for (const ConstArrayView& input : task.inputs) inputs.push_back(address_in_memory(input.data));
    program->run(inputs, address_in_memory(output));
    steps = recorder->take_steps();
  }
};

PreparedOperation::PreparedOperation(std::unique_ptr<State> state) : state_(std::move(state)) {}
PreparedOperation::PreparedOperation(PreparedOperation&& other) noexcept = default;
PreparedOperation& PreparedOperation::operator=(PreparedOperation&& other) noexcept = default;
PreparedOperation::~PreparedOperation() = default;

void PreparedOperation::launch(const Stream& stream) const {
  if (state_->recorder) {
    queue_steps(*state_->device, state_->steps, stream);
  } else if (state_->task.output_count > 0) {
    state_->task.compute(state_->output);
  }
}

void PreparedOperation::set_operands(std::span<const void* const> inputs, void* output) {
  Task& task = state_->task;
  if (inputs.size() != task.inputs.size()) {
    throw usage_error("{}: {} inputs; expected {}", task.operation, inputs.size(),
                      task.inputs.size());
  }
  if (task.output_count == 0) return;
  if (!state_->recorder) {
    throw usage_error("{}: on the CPU an operation keeps its operands: prepare another",
                      task.operation);
  }
  std::vector<ConstArrayView> others = task.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) others[i].data = inputs[i];
  require_places(task, others, output);
  task.inputs = std::move(others);
  state_->output = output;
  state_->bind();
}

const std::string& PreparedOperation::variant() const {
  return state_->variant;
}

namespace operations {

PreparedOperation prepare_task(Device& device, const Task& task, const std::string& variant,
                               void* output) {
  auto state = std::make_unique<PreparedOperation::State>(PreparedOperation::State{
      .device = device.shared_from_this(), .task = task, .output = output});
  if (task.output_count == 0) {
    state->variant = "none (nothing to compute)";
    return PreparedOperation(std::move(state));
  }
  require_places(task, task.inputs, output);
  const Rung& rung = rung_to_run(device, task, variant);
  state->variant = rung.name;
  if (rung.form == RungForm::cpu) {
    if (device.kind() != DeviceKind::cpu) {
      throw usage_error("{}, variant {}: it cannot reach the memory of {}; name a kernel",
                        task.operation, rung.name, device.id());
    }
    return PreparedOperation(std::move(state));
  }
  if (rung.in_place) {
    throw usage_error("{}, variant {}: it works in place, and these lists are two; name another",
                      task.operation, rung.name);
  }
  state->recorder = std::make_shared<RecordingDevice>(state->device, Workspace{});
  state->program = std::make_unique<KernelProgram>(*state->recorder, rung.source,
                                                   rung.plan(device.properties()));
  // Scratch memory is zero before the first run.
  queue_steps(device, state->recorder->take_steps(), {});
  device.synchronize(Stream());
  state->bind();
  return PreparedOperation(std::move(state));
}

}  // namespace operations
}  // namespace tilescope
