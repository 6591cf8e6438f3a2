#include "operations/matmul/matmul_choice.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/errors.hpp"

namespace tilescope::operations {
namespace {

const MatmulVariant& best_rung(const Device& device, const HostProblem& problem) {
  return matmul_variant(best_matmul_variant(device.properties(), sum_type(problem.precision)));
}

/// The first feature of a problem beyond the ladder's kernels, which compute A * B in one
/// precision; empty if there is none.
std::string beyond_ladder(const HostProblem& problem) {
  if (problem.precision != Precision::fp32 && problem.precision != Precision::fp64) {
    return fmt::format("precision {}", name_of(problem.precision));
  }
  return problem.batch() != 1                     ? "batch"
         : problem.alpha != 1.0                   ? "alpha"
         : problem.beta != 0.0                    ? "beta"
         : !problem.bias.empty()                  ? "bias"
         : problem.activation != Activation::none ? "activation"
                                                  : "";
}

bool is_for_ladder(const HostProblem& problem) {
  return beyond_ladder(problem).empty();
}

/// A device takes factors in the type of the sums, where a number out of its range would be
/// infinity, 0, or lose digits.
void require_factor(double factor, Precision precision, const char* name) {
  const double size = std::abs(factor);
  if (sum_type(precision) == DataType::float64 || size == 0.0 || !std::isfinite(size)) return;
  if (size >= std::numeric_limits<float>::min() && std::isfinite(static_cast<float>(size))) return;
  throw usage_error(
      "{} is {}: in {} a factor is a float32, 0 or of a size from {:.3g} to {:.3g}; use fp64", name,
      factor, name_of(precision), std::numeric_limits<float>::min(),
      std::numeric_limits<float>::max());
}

void require_variant(const Device& device, const std::string& name) {
  if (name.empty()) return;
  // An unknown name is the better message, whichever device computes.
  const MatmulForm form =
      find_gemm_variant(name) ? MatmulForm::kernel : matmul_variant(name).row->form;
  if (form == MatmulForm::cpu_reference || form == MatmulForm::cublas) {
    throw usage_error(
        "variant {} is only a baseline of tilescope ladder matmul; name a kernel, or no variant",
        name);
  }
  if (form == MatmulForm::kernel && device.kind() == DeviceKind::cpu) {
    throw usage_error(
        "variant {} does not run on the cpu device, which has cpu_blas; use --device cuda or "
        "emulated",
        name);
  }
}

}  // namespace

HostProblem checked_problem(const Device& device, const ConstMatrixBatch& a,
                            const ConstMatrixBatch& b, const MatrixBatch& c,
                            const MatmulOptions& options) {
  HostProblem problem = checked_anywhere(device, a, b, c, options);
  require_own_memory(problem);
  return problem;
}

HostProblem checked_anywhere(const Device& device, const ConstMatrixBatch& a,
                             const ConstMatrixBatch& b, const MatrixBatch& c,
                             const MatmulOptions& options) {
  HostProblem problem = host_problem(a, b, c, options);
  require_variant(device, options.variant);
  require_factor(problem.alpha, problem.precision, "alpha");
  require_factor(problem.beta, problem.precision, "beta");
  return problem;
}

bool has_products(const HostProblem& problem) {
  return !problem.c.first.empty() && problem.batch() > 0 && problem.shape().k > 0;
}

bool names_rung(const std::string& name) {
  return !name.empty() && find_gemm_variant(name) == nullptr;
}

const MatmulVariant& rung_for(const HostProblem& problem, const Device& device,
                              const std::string& name) {
  const MatmulVariant& variant = matmul_variant(name);
  if (!is_for_ladder(problem)) {
    throw usage_error(
        "variant {} computes A * B in fp32 or fp64 and nothing else: it takes no {}; use general",
        name, beyond_ladder(problem));
  }
  if (variant.row->form != MatmulForm::kernel) {
    throw usage_error("variant {} does not run on {}; name a kernel, or use --device cpu", name,
                      device.id());
  }
  if (const auto why = variant.refusal(problem.shape(), device.properties())) {
    throw usage_error("variant {}: {}", name, *why);
  }
  if (sum_type(problem.precision) == DataType::float64 && !variant.row->any_element) {
    throw usage_error(
        "variant {} computes in float32, and an operand is float64; use {}, or --device cpu", name,
        best_rung(device, problem).name);
  }
  return variant;
}

const MatmulVariant* faster_rung(const HostProblem& problem, const Device& device,
                                 const GemmChoice& choice) {
  const bool by_general = choice.variant == &gemm_variants().front();
  if (!by_general || choice.is_tuned || !is_for_ladder(problem)) return nullptr;
  const MatmulVariant& rung = best_rung(device, problem);
  return rung.refusal(problem.shape(), device.properties()) ? nullptr : &rung;
}

}  // namespace tilescope::operations
