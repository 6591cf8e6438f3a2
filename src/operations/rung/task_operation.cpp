#include "operations/rung/task_operation.hpp"

#include <algorithm>
#include <cstring>

#include "operations/numerics/random.hpp"
#include "operations/rung/guarded_buffer.hpp"
#include "operations/rung/kernel_program.hpp"

namespace tilescope::operations {
namespace {

constexpr std::string_view copy_name = "device_copy";
constexpr std::uint8_t poison_byte = 0xFF;

class HostRun final : public Prepared {
 public:
  explicit HostRun(const Task& task) : task_(task), output_(task.output_type, task.output_count) {}
  void run(int) override { task_.compute(output_.data()); }
  void poison(int) override { std::memset(output_.data(), poison_byte, output_.bytes()); }
  HostArray output(int) override {
    HostArray copy(output_.type(), output_.count());
    std::memcpy(copy.data(), output_.data(), output_.bytes());
    return copy;
  }

 private:
  const Task& task_;
  HostArray output_;
};

// Inputs and an output on the device, at enough addresses to exceed its cache.
class DeviceRun : public Prepared {
 public:
  DeviceRun(Device& device, const std::vector<ConstArrayView>& inputs, DataType output_type,
            std::size_t output_count, bool in_place = false)
      : device_(device), type_(output_type), count_(output_count), in_place_(in_place) {
    std::size_t bytes = output_count * size_of(output_type);
    for (const ConstArrayView& input : inputs) bytes += input.bytes();
    for (std::size_t i = 0; i < input_sets(device, bytes); ++i) {
      Set set;
      for (const ConstArrayView& input : inputs) {
        set.buffers.push_back(device.allocate(input.bytes(), "input"));
        set.inputs.push_back(set.buffers.back().address());
        device.copy_to_device(set.inputs.back(), input.data, input.bytes());
      }
      set.output = GuardedBuffer(device, output_bytes(), "output");
      // A run that is only timed must find its input there too.
      if (in_place) device.copy_on_device(set.output.address(), set.inputs[0], output_bytes());
      sets_.push_back(std::move(set));
    }
  }

  void poison(int input_set) override {
    const Set& set = at(input_set);
    if (in_place_) {
      device_.copy_on_device(set.output.address(), set.inputs[0], output_bytes());
    } else {
      device_.fill(set.output.address(), poison_byte, output_bytes());
    }
  }
  HostArray output(int input_set) override {
    at(input_set).output.require_intact();
    HostArray result(type_, count_);
    device_.copy_to_host(result.data(), at(input_set).output.address(), result.bytes());
    return result;
  }

 protected:
  struct Set {
    std::vector<Buffer> buffers;
    std::vector<DeviceAddress> inputs;
    GuardedBuffer output;
  };
  const Set& at(int input_set) const {
    return sets_[static_cast<std::size_t>(input_set) % sets_.size()];
  }
  std::size_t output_bytes() const { return count_ * size_of(type_); }
  Device& device() const { return device_; }

 private:
  Device& device_;
  DataType type_;
  std::size_t count_;
  bool in_place_;
  std::vector<Set> sets_;
};

class KernelRun final : public DeviceRun {
 public:
  KernelRun(Device& device, const Task& task, const Rung& rung)
      : DeviceRun(device, task.inputs, task.output_type, task.output_count, rung.in_place),
        program_(device, rung.source, rung.plan(device.properties())) {}
  void run(int input_set) override {
    program_.run(at(input_set).inputs, at(input_set).output.address());
  }

 private:
  KernelProgram program_;
};

class PeerRun final : public DeviceRun {
 public:
  PeerRun(Device& device, const Task& task, const Rung& rung)
      : DeviceRun(device, task.inputs, task.output_type, task.output_count),
        symbol_(rung.peer),
        call_(task.peer_call) {}
  void run(int input_set) override {
    device::PeerCall call = call_;
    const Set& set = at(input_set);
    for (std::size_t i = 0; i < set.inputs.size(); ++i) call.inputs[i] = set.inputs[i];
    call.output = set.output.address();
    device::Peers::run(symbol_, call);
  }

 private:
  std::string symbol_;
  device::PeerCall call_;
};

class CopyRun final : public DeviceRun {
 public:
  CopyRun(Device& device, const ConstArrayView& from)
      : DeviceRun(device, {from}, from.type, from.count) {}
  void run(int input_set) override {
    device().queue_copy(at(input_set).output.address(), at(input_set).inputs[0], output_bytes());
  }
};

}  // namespace

std::vector<ConstArrayView> views(const std::vector<HostArray>& arrays) {
  std::vector<ConstArrayView> all;
  for (const HostArray& array : arrays) all.push_back(array.view());
  return all;
}

std::vector<VariantInfo> TaskOperation::variants() const {
  std::vector<VariantInfo> infos;
  for (const Rung& rung : parts_.task.rungs) {
    infos.push_back({.name = std::string(rung.name),
                     .idea = rung.idea,
                     .source = rung.source,
                     .is_peer = rung.form == RungForm::peer,
                     .needs_gpu = rung.form == RungForm::peer,
                     .on_host = rung.form == RungForm::cpu});
  }
  infos.push_back({.name = std::string(copy_name),
                   .idea = "the device's copy of as many bytes",
                   .source = {},
                   .needs_gpu = true,
                   .is_copy = true});
  return infos;
}

std::string TaskOperation::variant_name(std::string_view name) const {
  return std::string(name == copy_name ? name : find_rung(parts_.task, name).name);
}

std::optional<std::string> TaskOperation::refusal(const VariantInfo& variant,
                                                  const Device& device) const {
  if (parts_.task.output_count == 0) return "there is nothing to compute";
  if (!variant.is_copy) return operations::refusal(find_rung(parts_.task, variant.name), device);
  if (device.kind() != DeviceKind::cuda) return "needs a GPU";
  return std::nullopt;
}

Plan TaskOperation::plan(const VariantInfo& variant, const DeviceProperties& device) const {
  if (variant.source.empty()) throw no_kernel_of_ours(name(), variant);
  return find_rung(parts_.task, variant.name).plan(device);
}

std::unique_ptr<Prepared> TaskOperation::prepare(const VariantInfo& variant, Device& device) const {
  if (variant.is_copy) {
    // Half of the bytes are read, half are written.
    const auto words = static_cast<std::size_t>(parts_.work.bytes / 2.0 / sizeof(float)) + 1;
    HostArray from = random_array(DataType::float32, words, 1);
    auto run = std::make_unique<CopyRun>(device, from.view());
    copied_ = std::make_unique<ArrayExpected>(std::move(from));
    return run;
  }
  const Rung& rung = find_rung(parts_.task, variant.name);
  switch (rung.form) {
    case RungForm::cpu:
      return std::make_unique<HostRun>(parts_.task);
    case RungForm::peer:
      return std::make_unique<PeerRun>(device, parts_.task, rung);
    case RungForm::kernel:
      break;
  }
  return std::make_unique<KernelRun>(device, parts_.task, rung);
}

const Expected& TaskOperation::expected(const VariantInfo& variant) const {
  if (variant.is_copy) return *copied_;
  if (!expected_) expected_ = parts_.make_expected();
  return *expected_;
}

}  // namespace tilescope::operations
