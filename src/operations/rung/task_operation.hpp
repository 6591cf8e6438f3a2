// The ladder of a task: random inputs, the right answer, every rung and the device's own copy.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "operations/rung/task.hpp"

namespace tilescope::operations {

class TaskOperation final : public Operation {
 public:
  /// The parts of one problem. `task` refers to `inputs`; `make_expected` is called when the answer
  /// is first needed.
  struct Parts {
    std::vector<HostArray> inputs;
    Task task;
    std::string size_text;
    Work work;
    std::function<std::unique_ptr<Expected>()> make_expected;
  };
  explicit TaskOperation(Parts parts) : parts_(std::move(parts)) {}

  std::string_view name() const override { return parts_.task.operation; }
  std::string size_text() const override { return parts_.size_text; }
  std::vector<VariantInfo> variants() const override;
  std::string variant_name(std::string_view name) const override;
  Work work() const override { return parts_.work; }
  std::optional<std::string> refusal(const VariantInfo& variant,
                                     const Device& device) const override;
  Plan plan(const VariantInfo& variant, const DeviceProperties& device) const override;
  std::unique_ptr<Prepared> prepare(const VariantInfo& variant, Device& device) const override;
  const Expected& expected(const VariantInfo& variant) const override;

 private:
  Parts parts_;
  mutable std::unique_ptr<Expected> expected_, copied_;
};

/// The inputs in the form that a task takes.
std::vector<ConstArrayView> views(const std::vector<HostArray>& arrays);

}  // namespace tilescope::operations
