#include "operations/gemm/problem/gemm_constants.hpp"

namespace tilescope::operations {
namespace {

std::string_view activation_kind(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return "relu";
    case Activation::gelu:
      return "gelu";
    case Activation::none:
      break;
  }
  return "no_activation";
}

std::string_view bias_kind(const GemmProblem& problem) {
  if (!problem.has_bias) return "no_bias";
  return problem.bias_per_row ? "bias_of_row" : "bias_of_column";
}

}  // namespace

std::string_view operand_kind(Precision precision) {
  switch (precision) {
    case Precision::fp64:
      return "as_float64";
    case Precision::tf32:
      return "as_tf32";
    case Precision::bf16:
      return "as_bfloat16";
    case Precision::fp16:
      return "as_float16";
    case Precision::int8:
      return "as_int32";
    case Precision::fp8_e4m3:  // exact in float32
    case Precision::fp8_e5m2:
    case Precision::automatic:
    case Precision::fp32:
    case Precision::fp32_fast:
      break;
  }
  return "as_float32";
}

Defines epilogue_constants(const GemmProblem& problem) {
  return {{"C_TYPE", std::string(name_of(problem.c.type))},
          define("READS_C", std::int64_t{problem.beta != 0.0}),
          {"BIAS", std::string(bias_kind(problem))},
          {"ACTIVATION", std::string(activation_kind(problem.activation))}};
}

std::string_view wgmma_operand(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return "bf16";
    case Precision::fp16:
      return "f16";
    case Precision::fp8_e4m3:
      return "e4m3";
    case Precision::fp8_e5m2:
      return "e5m2";
    case Precision::int8:
      return "s8";
    default:
      return "tf32";
  }
}

void push_factors(KernelArguments& arguments, const GemmProblem& problem) {
  if (problem.precision == Precision::int8) {
    arguments.push(static_cast<std::int32_t>(problem.alpha));
    arguments.push(static_cast<std::int32_t>(problem.beta));
  } else if (problem.precision == Precision::fp64) {
    arguments.push(problem.alpha);
    arguments.push(problem.beta);
  } else {
    arguments.push(static_cast<float>(problem.alpha));
    arguments.push(static_cast<float>(problem.beta));
  }
}

}  // namespace tilescope::operations
