#include "companion_calls.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "devices.hpp"
#include "interruptible.hpp"

namespace tilescope::python {
namespace {

/// The operations of one GPU, prepared when they are new and given other operands afterwards.
class KeptOperations {
 public:
  explicit KeptOperations(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  void run(const std::string& key, const Addresses& from, void* to, const Stream& stream,
           const Forms& forms) {
    // Also while kernels are queued: one call's must not be mixed with another's.
    const std::lock_guard lock(mutex_);
    auto found = operations_.find(key);
    if (found == operations_.end()) {
      constexpr std::size_t most_kept = 128;
      if (operations_.size() >= most_kept) {
        device_->synchronize();
        operations_.clear();
      }
      found = operations_.emplace(key, forms.prepare(*device_, from, to)).first;
    } else {
      found->second.set_operands(from, to);
    }
    found->second.launch(stream);
  }

 private:
  std::shared_ptr<Device> device_;
  std::mutex mutex_;
  std::unordered_map<std::string, PreparedOperation> operations_;
};

/// They live as long as the process.
KeptOperations& operations_on(int device) {
  static auto& kept = *new std::map<int, KeptOperations>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  return kept.try_emplace(device, kept_gpu(device)).first->second;
}

void require_dense(const Tensor& tensor) {
  if (tensor.is_dense()) return;
  throw nb::value_error(fmt::format("{} has gaps or another order of its dimensions; pass a "
                                    "contiguous copy of it",
                                    tensor.name())
                            .c_str());
}

void run_on_gpu(const Call& call, const Choice& choice, const Inputs& inputs, const Tensor& out,
                const Forms& forms) {
  std::string key = fmt::format("{} {} {} {}", call.operation, fmt::join(call.numbers, " "),
                                choice.variant, choice.queue->stream);
  Addresses from;
  for (const Tensor* input : inputs) {
    require_on_gpu_of(*inputs[0], *input);
    require_dense(*input);
    key += fmt::format(" {} {}", name_of(input->type()), fmt::join(input->shape(), ","));
    from.push_back(input->data());
  }
  require_on_gpu_of(*inputs[0], out);
  require_dense(out);
  const int device = inputs[0]->device_id();
  const nb::gil_scoped_release others_run;
  operations_on(device).run(key, from, out.data(), choice.queue->native_stream(), forms);
}

}  // namespace

Tensor Choice::take(nb::handle object, const char* name, Access access) const {
  return queue ? Tensor::on_gpu(object, name, access, *queue) : Tensor(object, name, access);
}

void run_call(const Call& call, const Choice& choice, const Inputs& inputs, const Tensor& out,
              const Forms& forms) {
  if (choice.queue) {
    run_on_gpu(call, choice, inputs, out, forms);
    return;
  }
  std::vector<DenseElements> elements;
  elements.reserve(inputs.size());
  for (const Tensor* input : inputs) elements.emplace_back(*input);
  Addresses from;
  for (const DenseElements& dense : elements) from.push_back(dense.data());
  const bool overlaps =
      std::ranges::any_of(inputs, [&](const Tensor* input) { return out.may_overlap(*input); });
  DenseResult result(out, overlaps);
  run_interruptibly([&](const CancelFlag& cancel) {
    forms.run(*device_for(choice.device, cancel), from, result.data());
  });
  result.store();
}

}  // namespace tilescope::python
