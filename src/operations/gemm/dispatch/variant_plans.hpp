// The plans of the variants that have several, by their texts in files.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "operations/gemm/problem/gemm_variant.hpp"

namespace tilescope::operations {

// GemmVariant::plans, prepare_plan, plan_features and awaits_columns of each variant that has them.
std::vector<GemmPlan> tensor_tiles_plans(const GemmProblem& problem,
                                         const DeviceProperties& device);
std::unique_ptr<GemmRun> prepare_tensor_tiles_plan(Device& device, const GemmProblem& problem,
                                                   std::string_view plan);
std::vector<double> tensor_tiles_plan_features(const GemmProblem& problem,
                                               const DeviceProperties& device,
                                               std::string_view plan);
bool tensor_tiles_plan_awaits_columns(const GemmProblem& problem, const GemmAddresses& addresses,
                                      const DeviceProperties& device, std::string_view plan);
std::vector<GemmPlan> register_operand_plans(const GemmProblem& problem,
                                             const DeviceProperties& device);
std::vector<double> register_operand_plan_features(const GemmProblem& problem,
                                                   const DeviceProperties& device,
                                                   std::string_view plan);
std::unique_ptr<GemmRun> prepare_register_operand_plan(Device& device, const GemmProblem& problem,
                                                       std::string_view plan);
std::vector<GemmPlan> fp64_tiles_plans(const GemmProblem& problem, const DeviceProperties& device);
std::unique_ptr<GemmRun> prepare_fp64_tiles_plan(Device& device, const GemmProblem& problem,
                                                 std::string_view plan);
std::vector<GemmPlan> ffma_plans(const GemmProblem& problem, const DeviceProperties& device);
std::vector<double> ffma_plan_features(const GemmProblem& problem, const DeviceProperties& device,
                                       std::string_view plan);
std::unique_ptr<GemmRun> prepare_ffma_plan(Device& device, const GemmProblem& problem,
                                           std::string_view plan);
std::vector<GemmPlan> short_k_plans(const GemmProblem& problem, const DeviceProperties& device);
std::vector<double> short_k_plan_features(const GemmProblem& problem,
                                          const DeviceProperties& device, std::string_view plan);
std::unique_ptr<GemmRun> prepare_short_k_plan(Device& device, const GemmProblem& problem,
                                              std::string_view plan);
std::vector<GemmPlan> short_k_mma_plans(const GemmProblem& problem, const DeviceProperties& device);
std::vector<double> short_k_mma_plan_features(const GemmProblem& problem,
                                              const DeviceProperties& device,
                                              std::string_view plan);
std::unique_ptr<GemmRun> prepare_short_k_mma_plan(Device& device, const GemmProblem& problem,
                                                  std::string_view plan);
std::vector<GemmPlan> small_products_plans(const GemmProblem& problem,
                                           const DeviceProperties& device);
std::unique_ptr<GemmRun> prepare_small_products_plan(Device& device, const GemmProblem& problem,
                                                     std::string_view plan);

}  // namespace tilescope::operations
