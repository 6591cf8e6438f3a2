#include "operations/gemm/dispatch/dispatch.hpp"

#include <algorithm>

#include "operations/gemm/dispatch/tuned_products.hpp"

namespace tilescope::operations {
namespace {

// The variant with the plan that it takes by default.
GemmChoice first_plan(const GemmVariant& variant, const GemmProblem& problem,
                      const DeviceProperties& device) {
  return with_plan({.variant = &variant}, problem, device);
}

}  // namespace

std::unique_ptr<GemmRun> GemmChoice::prepare(Device& device, const GemmProblem& problem) const {
  return plan.empty() ? variant->prepare(device, problem)
                      : variant->prepare_plan(device, problem, plan);
}

std::string GemmChoice::explained(const std::string& note) const {
  if (!is_tuned) return note;
  return note.empty() ? "tuned" : "tuned, " + note;
}

std::optional<GemmChoice> tuned_choice(const GemmProblem& problem, const Device& device) {
  if (!uses_tuned_products()) return std::nullopt;
  const auto tuned = tuned_products(device).find(key_of(problem));
  if (!tuned) return std::nullopt;
  GemmChoice choice{
      .variant = find_gemm_variant(tuned->variant), .plan = tuned->plan, .is_tuned = true};
  // The file may have been edited.
  if (choice.variant == nullptr || choice.variant->refusal(problem, device.properties())) {
    return std::nullopt;
  }
  if (choice.variant->plans == nullptr) {
    return choice.plan.empty() ? std::optional(choice) : std::nullopt;
  }
  for (const GemmPlan& plan : choice.variant->plans(problem, device.properties())) {
    if (plan.text != choice.plan) continue;
    choice.cycles = plan.cycles;
    return choice;
  }
  return std::nullopt;
}

GemmChoice model_choice(const GemmProblem& problem, const DeviceProperties& device) {
  return {.variant = &best_gemm_variant(problem, device)};
}

GemmChoice with_plan(GemmChoice choice, const GemmProblem& problem,
                     const DeviceProperties& device) {
  if (!choice.plan.empty() || choice.variant->plans == nullptr) return choice;
  const GemmPlan plan = choice.variant->plans(problem, device).front();
  choice.plan = plan.text;
  choice.cycles = plan.cycles;
  return choice;
}

GemmChoice dispatch(const GemmProblem& problem, const Device& device) {
  if (auto tuned = tuned_choice(problem, device)) return *std::move(tuned);
  return model_choice(problem, device.properties());
}

std::vector<GemmChoice> tuning_candidates(const GemmProblem& problem,
                                          const DeviceProperties& device, std::size_t most) {
  const DeviceProperties judged = properties_to_choose_by(device);
  const GemmVariant& best = best_gemm_variant(problem, device);
  std::vector<GemmChoice> candidates{first_plan(best, problem, device)}, more;
  for (const GemmVariant& variant : gemm_variants()) {
    if (variant.is_step || variant.refusal(problem, judged)) continue;
    if (&variant != &best) candidates.push_back(first_plan(variant, problem, device));
    if (variant.plans == nullptr) continue;
    double last = -1.0;
    bool is_first = true;
    for (const GemmPlan& plan : variant.plans(problem, device)) {
      const bool is_new = plan.cycles != last;
      last = plan.cycles;
      if (is_new && !is_first) {
        more.push_back({.variant = &variant, .plan = plan.text, .cycles = plan.cycles});
      }
      is_first = false;
    }
  }
  std::stable_sort(more.begin(), more.end(),
                   [](const auto& one, const auto& other) { return one.cycles < other.cycles; });
  for (GemmChoice& choice : more) {
    if (candidates.size() >= most) break;
    candidates.push_back(std::move(choice));
  }
  return candidates;
}

std::vector<GemmChoice> siblings(const GemmChoice& choice, const GemmProblem& problem,
                                 const DeviceProperties& device) {
  std::vector<GemmChoice> found;
  if (choice.variant->plans == nullptr) return found;
  for (const GemmPlan& plan : choice.variant->plans(problem, device)) {
    if (plan.cycles == choice.cycles && plan.text != choice.plan) {
      found.push_back({.variant = choice.variant, .plan = plan.text, .cycles = plan.cycles});
    }
  }
  return found;
}

}  // namespace tilescope::operations
