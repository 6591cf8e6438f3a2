#include "operations/gemm/dispatch/plan_recorder.hpp"

#include <algorithm>
#include <memory>

namespace tilescope::operations {
namespace {

struct NotedKernel final : Kernel::State {
  std::vector<KernelParameter> parameters() const override { return {}; }
  KernelRequest request;
};

// A GPU with properties only. It hands out addresses, but there is no memory behind them.
class NotingDevice final : public Device {
 public:
  explicit NotingDevice(const DeviceProperties& properties) : properties_(properties) {}

  std::vector<Step> steps() { return std::move(steps_); }
  std::vector<KernelRequest> kernels() { return std::move(kernels_); }

  DeviceKind kind() const override { return DeviceKind::cuda; }
  std::string id() const override { return properties_.name; }
  const DeviceProperties& properties() const override { return properties_; }

  void copy_to_device(DeviceAddress, const void*, std::size_t, const Stream&) override {}
  void copy_to_host(void*, DeviceAddress, std::size_t, const Stream&) override {}
  void queue_copy(DeviceAddress, DeviceAddress, std::size_t, const Stream&) override {}
  void fill(DeviceAddress, std::uint8_t, std::size_t, const Stream&) override {}

  Kernel load(const KernelRequest& request) override {
    kernels_.push_back(request);
    auto state = std::make_shared<NotedKernel>();
    state->name = request.kernel;
    state->request = request;
    return Kernel(std::move(state));
  }
  void launch(const Kernel& kernel, const Launch& launch, const KernelArguments&,
              const Stream&) override {
    const KernelRequest& request = static_cast<const NotedKernel&>(kernel.state()).request;
    constexpr std::string_view folder = "kernels/";
    steps_.push_back({.kernel = request.kernel,
                      .launch = launch,
                      .arguments = {},
                      .defines = request.defines,
                      .source = request.source_name.substr(folder.size())});
  }
  TensorMap tensor_map(const TensorMapRequest&) override { return {}; }

  using Device::synchronize;
  void record(const Event&, const Stream&) override {}
  void wait(const Stream&, const Event&) override {}
  using Device::finished;
  bool finished(const Event&) override { return true; }
  double elapsed_ms(const Event&, const Event&) override { return 0.0; }
  void synchronize(const Stream&) override {}
  void synchronize() override {}

 protected:
  std::uint64_t allocate_bytes(std::size_t bytes, std::string_view) override {
    constexpr std::uint64_t alignment = 256;
    const std::uint64_t address = next_;
    next_ += (bytes / alignment + 1) * alignment;
    return address;
  }
  std::uint64_t new_stream() override { return 1; }
  std::uint64_t new_event() override { return 1; }
  void free_bytes(std::uint64_t) noexcept override {}
  void free_stream(std::uint64_t) noexcept override {}
  void free_event(std::uint64_t) noexcept override {}

 private:
  DeviceProperties properties_;
  std::vector<Step> steps_;
  std::vector<KernelRequest> kernels_;
  std::uint64_t next_ = std::uint64_t{1} << 32U;
};

}  // namespace

Plan recorded_plan(const GemmVariant& variant, const GemmProblem& problem,
                   const DeviceProperties& properties) {
  const auto device = std::make_shared<NotingDevice>(properties);
  const auto run = variant.prepare(*device, problem);
  const auto bytes = [](const GemmOperand& operand, std::int64_t vectors) {
    return static_cast<std::size_t>(operand.leading * vectors) * size_of(operand.type);
  };
  const std::int64_t longest = std::max({problem.shape.m, problem.shape.n, problem.shape.k});
  const Buffer a = device->allocate(bytes(problem.a, longest)),
               b = device->allocate(bytes(problem.b, longest)),
               c = device->allocate(bytes(problem.c, longest));
  run->run({.a = a.address(), .b = b.address(), .c = c.address(), .bias = c.address()});
  return {.steps = device->steps(), .defines = {}, .scratch = {}};
}

std::vector<KernelRequest> recorded_kernels(
    const std::function<std::unique_ptr<GemmRun>(Device& device)>& prepare,
    const DeviceProperties& properties) {
  const auto device = std::make_shared<NotingDevice>(properties);
  prepare(*device);
  return device->kernels();
}

}  // namespace tilescope::operations
