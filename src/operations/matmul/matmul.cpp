#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <tilescope/matmul.hpp>
#include <vector>

#include "base/errors.hpp"
#include "operations/gemm/product/cpu_product.hpp"
#include "operations/gemm/product/device_product.hpp"
#include "operations/matmul/kernel_product.hpp"
#include "operations/matmul/matmul_variants.hpp"
#include "operations/numerics/conversion.hpp"

namespace tilescope {
namespace {

using namespace operations;

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

/// Multiplies by a rung of the ladder.
MatmulReport multiply_with_rung(Device& device, const HostProblem& problem,
                                const MatmulVariant& variant) {
  const std::string& name = variant.name;
  if (!is_for_ladder(problem)) {
    throw usage_error(
        "variant {} computes A * B in fp32 or fp64 and nothing else: it takes no {}; use general",
        name, beyond_ladder(problem));
  }
  const ConstMatrixView& a = problem.a.first;
  const ConstMatrixView& b = problem.b.first;
  const MatrixView& c = problem.c.first;
  const DataType element = sum_type(problem.precision);
  const bool wide = element == DataType::float64;
  const MatmulShape shape = problem.shape();
  if (variant.row->form != MatmulForm::kernel) {
    throw usage_error("variant {} does not run on {}; name a kernel, or use --device cpu", name,
                      device.id());
  }
  if (const auto why = variant.refusal(shape, device.properties())) {
    throw usage_error("variant {}: {}", name, *why);
  }
  if (wide && !variant.row->any_element) {
    throw usage_error(
        "variant {} computes in float32, and an operand is float64; use {}, or --device cpu", name,
        best_rung(device, problem).name);
  }
  const ConvertedMatrix ready_a(a, element, Order::row_major);
  const ConvertedMatrix ready_b(b, element, variant.row->b_order);
  const KernelProduct product(device, variant, shape, element);
  DeviceOperands operands = product.operands();
  operands.upload(ready_a.view(), ready_b.view());
  const Event before = device.create_event(), after = device.create_event();
  device.record(before);
  product.run(operands);
  device.record(after);
  const double elapsed = device.elapsed_ms(before, after);

  if (c.type == element && c.order == Order::row_major) {
    operands.download(c);
  } else {
    std::vector<std::byte> result(static_cast<std::size_t>(shape.m * shape.n) * size_of(element));
    const MatrixView view =
        dense_view(static_cast<void*>(result.data()), element, shape.m, shape.n);
    operands.download(view);
    convert_matrix(view, c);
  }
  return {.variant = name, .compute_ms = elapsed, .precision = problem.precision};
}

/// Takes a rung of the ladder if one is named or if it is faster than the GEMM table's kernel; else
/// a kernel of the table.
MatmulReport multiply_with_kernel(Device& device, const HostProblem& problem,
                                  const std::string& name) {
  const bool in_table = find_gemm_variant(name) != nullptr;
  if (!name.empty() && !in_table) return multiply_with_rung(device, problem, matmul_variant(name));
  const HostProblem by_rows = with_rows_of_c(problem);
  const DeviceChoice choice = choose_variant(by_rows, device, name);
  // `general` is slower than the ladder's best, but takes everything.
  const bool by_general = choice.kernel.variant == &gemm_variants().front();
  if (name.empty() && by_general && !choice.kernel.is_tuned && is_for_ladder(problem)) {
    const MatmulVariant& rung = best_rung(device, problem);
    if (!rung.refusal(problem.shape(), device.properties())) {
      return multiply_with_rung(device, problem, rung);
    }
  }
  return multiply_on_device(device, by_rows, choice);
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

DataType product_type(DataType a, DataType b) {
  if (a != b && size_of(a) == 2 && size_of(b) == 2) return DataType::float32;
  return size_of(a) >= size_of(b) ? a : b;
}

MatmulReport matmul_batched(Device& device, const ConstMatrixBatch& a, const ConstMatrixBatch& b,
                            const MatrixBatch& c, const MatmulOptions& options) {
  const HostProblem problem = host_problem(a, b, c, options);
  require_variant(device, options.variant);
  require_factor(problem.alpha, problem.precision, "alpha");
  require_factor(problem.beta, problem.precision, "beta");
  const bool nothing_to_sum =
      problem.c.first.empty() || problem.batch() == 0 || problem.shape().k == 0;
  if (nothing_to_sum || device.kind() == DeviceKind::cpu) return multiply_on_cpu(problem);
  return multiply_with_kernel(device, problem, options.variant);
}

MatmulReport matmul(Device& device, const ConstMatrixView& a, const ConstMatrixView& b,
                    const MatrixView& c, const MatmulOptions& options) {
  return matmul_batched(device, {.first = a}, {.first = b}, {.first = c}, options);
}

}  // namespace tilescope
