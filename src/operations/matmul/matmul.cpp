#include <tilescope/matmul.hpp>
#include <vector>

#include "operations/gemm/product/cpu_product.hpp"
#include "operations/gemm/product/device_product.hpp"
#include "operations/gemm/product/quantised_problem.hpp"
#include "operations/matmul/kernel_product.hpp"
#include "operations/matmul/matmul_choice.hpp"
#include "operations/numerics/conversion.hpp"

namespace tilescope {
namespace {

using namespace operations;

/// Multiplies by a rung of the ladder.
MatmulReport multiply_with_rung(Device& device, const HostProblem& problem,
                                const MatmulVariant& variant) {
  const ConstMatrixView& a = problem.a.first;
  const ConstMatrixView& b = problem.b.first;
  const MatrixView& c = problem.c.first;
  const DataType element = sum_type(problem.precision);
  const MatmulShape shape = problem.shape();
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
  return {.variant = variant.name, .compute_ms = elapsed, .precision = problem.precision};
}

/// Takes a rung of the ladder if one is named or if it is faster than the GEMM table's kernel; else
/// a kernel of the table.
MatmulReport multiply_with_kernel(Device& device, const HostProblem& problem,
                                  const std::string& name) {
  if (names_rung(name)) {
    return multiply_with_rung(device, problem, rung_for(problem, device, name));
  }
  const HostProblem by_rows = with_rows_of_c(problem);
  const DeviceChoice choice = choose_variant(by_rows, device, name);
  if (const MatmulVariant* rung =
          name.empty() ? faster_rung(problem, device, choice.kernel) : nullptr) {
    return multiply_with_rung(device, problem, *rung);
  }
  return multiply_on_device(device, by_rows, choice);
}

}  // namespace

DataType product_type(DataType a, DataType b) {
  if (a == DataType::int8 && b == DataType::int8) return DataType::int32;
  if (is_float8(a) && is_float8(b)) return DataType::float32;
  if (a != b && size_of(a) == 2 && size_of(b) == 2) return DataType::float32;
  return size_of(a) >= size_of(b) ? a : b;
}

MatmulReport matmul_batched(Device& device, const ConstMatrixBatch& a, const ConstMatrixBatch& b,
                            const MatrixBatch& c, const MatmulOptions& options) {
  const QuantisedProblem quantised(checked_problem(device, a, b, c, options));
  const HostProblem& problem = quantised.problem();
  const bool on_cpu = !has_products(problem) || device.kind() == DeviceKind::cpu;
  MatmulReport report =
      on_cpu ? multiply_on_cpu(problem) : multiply_with_kernel(device, problem, options.variant);
  report.scale_a = quantised.scale_a();
  report.scale_b = quantised.scale_b();
  return report;
}

MatmulReport matmul(Device& device, const ConstMatrixView& a, const ConstMatrixView& b,
                    const MatrixView& c, const MatmulOptions& options) {
  return matmul_batched(device, {.first = a}, {.first = b}, {.first = c}, options);
}

}  // namespace tilescope
