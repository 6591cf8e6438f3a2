#include "operations/gemm/product/memory_product.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/errors.hpp"
#include "operations/gemm/operands/operand_conversion.hpp"

namespace tilescope::operations {
namespace {

OperandLayout layout_of_a(const GemmProblem& p) {
  return {p.a, p.shape.m, p.shape.k};
}
OperandLayout layout_of_b(const GemmProblem& p) {
  return {p.b, p.shape.k, p.shape.n};
}
OperandLayout layout_of_c(const GemmProblem& p) {
  return {p.c, p.shape.m, p.shape.n};
}

/// Operands and C are copied where the kernel takes them in another layout.
class ConvertedRun final : public GemmRun {
 public:
  ConvertedRun(Device& device, const GemmProblem& given, const DeviceChoice& choice)
      : reads_c_(given.beta != 0.0),
        a_(device, layout_of_a(given), layout_of_a(choice.problem), given.batch, "converted A"),
        b_(device, layout_of_b(given), layout_of_b(choice.problem), given.batch, "converted B"),
        c_(device, layout_of_c(given), layout_of_c(choice.problem), given.batch, "unconverted C"),
        run_(choice.kernel.prepare(device, choice.problem)) {}

  void run(const GemmAddresses& addresses, const Stream& stream) override {
    a_.copy_in(addresses.a, stream);
    b_.copy_in(addresses.b, stream);
    if (reads_c_) c_.copy_in(addresses.c, stream);
    GemmAddresses there = addresses;
    there.a = a_.address(addresses.a);
    there.b = b_.address(addresses.b);
    there.c = c_.address(addresses.c);
    run_->run(there, stream);
    c_.copy_out(addresses.c, stream);
  }
  std::string note() const override { return run_->note(); }

 private:
  bool reads_c_;
  StagedOperand a_, b_, c_;
  std::unique_ptr<GemmRun> run_;
};

GemmOperand converted(const OperandLayout& layout, DataType type, std::int64_t batch) {
  if (layout.operand.type == type) return layout.operand;
  return padded_operand(layout, type, batch > 1 && layout.operand.batch_stride == 0);
}

// The problem in order of preference: as it is, with converted operands, with another C too.
std::array<GemmProblem, 3> problems_to_choose_from(const GemmProblem& problem) {
  GemmProblem operands = problem;
  const DataType type = operand_type(problem.precision);
  operands.a = converted(layout_of_a(problem), type, problem.batch);
  operands.b = converted(layout_of_b(problem), type, problem.batch);
  GemmProblem all = operands;
  all.c = converted(layout_of_c(problem), sum_type(problem.precision), problem.batch);
  return {problem, operands, all};
}

// The order in which a variant adds, as far as it follows from more than its plan's text.
struct SumOrder {
  std::string sums;
  bool follows_rows = false;  // and from the place of rows of A
  bool says_all = false;      // plans of other texts with the same order add alike

  SumOrder(const GemmVariant& variant, const GemmProblem& problem, const DeviceProperties& device,
           const GemmPlan& plan)
      : sums(variant.order_of_sums ? variant.order_of_sums(problem, device) : std::string()),
        follows_rows(plan.order_follows_rows),
        says_all(plan.order_says_all) {
    sums += plan.order;
  }
  friend bool operator==(const SumOrder&, const SumOrder&) = default;
};

// The order in which a choice adds. Nothing: the variant has no such plan.
std::optional<SumOrder> order_of(const DeviceChoice& choice, const DeviceProperties& device) {
  const GemmVariant& variant = *choice.kernel.variant;
  if (variant.plans == nullptr) return SumOrder(variant, choice.problem, device, {});
  for (const GemmPlan& plan : variant.plans(choice.problem, device)) {
    if (plan.text == choice.kernel.plan) return SumOrder(variant, choice.problem, device, plan);
  }
  return std::nullopt;
}

// The plans of a problem, the fastest first; one without a name, if the variant has no plans.
std::vector<GemmPlan> plans_of(const GemmVariant& variant, const GemmProblem& problem,
                               const DeviceProperties& device) {
  return variant.plans ? variant.plans(problem, device) : std::vector<GemmPlan>(1);
}

}  // namespace

GemmProblem problem_in_memory(const HostProblem& problem) {
  const auto operand = [](const auto& batch) {
    return GemmOperand{.type = batch.first.type,
                       .order = batch.first.order,
                       .leading = batch.first.leading,
                       .batch_stride = batch.stride};
  };
  return {.shape = problem.shape(),
          .batch = problem.batch(),
          .precision = problem.precision,
          .a = operand(problem.a),
          .b = operand(problem.b),
          .c = operand(problem.c),
          .alpha = problem.alpha,
          .beta = problem.beta,
          .has_bias = !problem.bias.empty(),
          .bias_per_row = problem.bias_per_row,
          .activation = problem.activation,
          .scale_a = problem.scale_a,
          .scale_b = problem.scale_b};
}

DeviceChoice choose_in_memory(const GemmProblem& problem, const Device& device,
                              const std::string& name) {
  const DeviceProperties& properties = device.properties();
  const auto problems = problems_to_choose_from(problem);
  if (!name.empty()) {
    const GemmVariant& variant = gemm_variant(name);
    std::optional<std::string> why;
    for (const GemmProblem& one : problems) {
      why = variant.refusal(one, properties);
      if (!why) return {{.variant = &variant}, one};
    }
    throw usage_error("variant {}: {}", name, *why);
  }
  DeviceChoice choice{{.variant = &best_gemm_variant(problem, properties)}, problem};
  for (const GemmProblem& one : problems) {
    // The table is in the order of the ladder: later rows are faster.
    const GemmVariant& best = best_gemm_variant(one, properties);
    if (&best > choice.kernel.variant) choice = {{.variant = &best}, one};
  }
  if (auto tuned = tuned_choice(choice.problem, device)) choice.kernel = *std::move(tuned);
  return choice;
}

DeviceChoice choose_for_parts(const GemmProblem& problem, const Device& device,
                              const std::string& name) {
  DeviceChoice choice = choose_in_memory(problem, device, name);
  const bool runs_fp32 = choice.kernel.variant->source == gemm_variant("ffma_tiles").source;
  if (problem.precision == Precision::fp32_fast && runs_fp32) {
    GemmProblem in_fp32 = problem;
    in_fp32.precision = Precision::fp32;
    choice = choose_in_memory(in_fp32, device, "");
    // as_fp32 does without this one.
    if (choice.kernel.variant->name == "short_k") {
      choice = choose_in_memory(in_fp32, device, "ffma_tiles");
    }
  }
  choice.kernel = with_plan(std::move(choice.kernel), choice.problem, device.properties());
  return choice;
}

std::optional<DeviceChoice> choose_alike(const DeviceChoice& like, const GemmProblem& problem,
                                         const DeviceProperties& device,
                                         const std::function<bool(const DeviceChoice&)>& fits) {
  const GemmVariant& variant = *like.kernel.variant;
  const auto order = order_of(like, device);
  if (!order) return std::nullopt;
  for (const GemmProblem& one : problems_to_choose_from(problem)) {
    if (one.a.type != like.problem.a.type || one.c.type != like.problem.c.type) continue;
    if (variant.refusal(one, device)) continue;
    // The whole itself keeps its plan, which may have been tuned.
    const bool takes_any = order->says_all && !(one.shape == like.problem.shape);
    for (const GemmPlan& plan : plans_of(variant, one, device)) {
      if (!takes_any && plan.text != like.kernel.plan) continue;
      if (SumOrder(variant, one, device, plan) != *order) continue;
      DeviceChoice choice{like.kernel, one};
      choice.kernel.plan = plan.text;
      if (!fits || fits(choice)) return choice;
    }
  }
  return std::nullopt;
}

bool order_follows_rows(const DeviceChoice& choice, const DeviceProperties& device) {
  const auto order = order_of(choice, device);
  return order && order->follows_rows;
}

bool add_alike(const DeviceChoice& one, const DeviceChoice& other, const DeviceProperties& device) {
  return one.kernel.variant == other.kernel.variant &&
         order_of(one, device) == order_of(other, device);
}

std::unique_ptr<GemmRun> prepare_in_memory(Device& device, const GemmProblem& problem,
                                           const DeviceChoice& choice) {
  return std::make_unique<ConvertedRun>(device, problem, choice);
}

}  // namespace tilescope::operations
