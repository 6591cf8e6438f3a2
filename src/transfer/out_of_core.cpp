#include "transfer/out_of_core.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/errors.hpp"
#include "operations/numerics/conversion.hpp"
#include "operations/numerics/product_reference.hpp"
#include "transfer/tile_kernel.hpp"
#include "transfer/tiled_product.hpp"

namespace tilescope::transfer {
namespace {

DataType element_of(const ConstMatrixView& a, const ConstMatrixView& b, DataType c) {
  return product_type(product_type(a.type, b.type), c) == DataType::float64 ? DataType::float64
                                                                            : DataType::float32;
}

template <typename View>
View transposed(View view) {
  std::swap(view.rows, view.columns);
  view.order = view.order == Order::row_major ? Order::column_major : Order::row_major;
  return view;
}

constexpr int buffers = 2;  // buffers of each matrix on a device that runs kernels

struct KernelAndPlan {
  TileKernel kernel;
  OutOfCorePlan plan;
};

/// For a row-major C.
KernelAndPlan choose(const Device& device, const ConstMatrixView& a, const ConstMatrixView& b,
                     DataType c, const OutOfCoreOptions& options) {
  const MatmulShape shape = product_shape(a, b);
  const DataType element = element_of(a, b, c);
  const auto kernel_for = [&](bool must_cut_k) {
    return choose_tile_kernel(device.properties(), shape, element, a.order, b.order,
                              options.variant, must_cut_k);
  };
  KernelAndPlan chosen{.kernel = kernel_for(false), .plan = {}};
  const MatmulShape least = chosen.kernel.granularity;
  if (!chosen.kernel.can_cut_k &&
      device_bytes_of({least.m, least.n, rounded_up(shape.k, least.k)}, element, buffers) >
          static_cast<double>(options.device_bytes)) {
    chosen.kernel = kernel_for(true);
  }
  const TileKernel& kernel = chosen.kernel;
  chosen.plan = plan_out_of_core(shape, kernel.granularity, element, options.device_bytes, buffers);
  if (kernel.rung == nullptr) return chosen;
  if (const auto why = kernel.rung->refusal(chosen.plan.tile, device.properties())) {
    throw usage_error("variant {}: {}", kernel.name, *why);
  }
  return chosen;
}

/// The cpu device's form: BLAS, tile by tile, and in a tile cell by cell on all cores.
OutOfCoreReport multiply_on_cpu(const ConstMatrixView& a, const ConstMatrixView& b,
                                const MatrixView& c, const OutOfCorePlan& plan,
                                const OutOfCoreOptions& options) {
  const MatmulShape& shape = plan.shape;
  OutOfCoreReport report{.plan = plan, .variant = "cpu_blas"};
  const MatmulShape& t = report.plan.tile;
  const MatmulShape cell = operations::blas_cell(shape);
  for (const TileStep& s : steps_of(report.plan, options)) {
    if (s.step > 0) continue;  // the operands are in memory already, all of their steps
    if (options.cancelled && options.cancelled()) {
      report.cancelled = true;
      break;
    }
    const std::int64_t rows = std::min(t.m, shape.m - s.row * t.m);
    const std::int64_t columns = std::min(t.n, shape.n - s.column * t.n);
    operations::converted_blas_matmul(
        operations::part(a, s.row * t.m, rows, 0, shape.k),
        operations::part(b, 0, shape.k, s.column * t.n, columns),
        operations::part(c, s.row * t.m, rows, s.column * t.n, columns), cell);
    if (options.tile_done) options.tile_done(s.row * report.plan.tiles_across + s.column);
  }
  return report;
}

}  // namespace

OutOfCorePlan plan_of(const Device& device, const ConstMatrixView& a, const ConstMatrixView& b,
                      DataType c, Order c_order, const OutOfCoreOptions& options) {
  if (device.kind() == DeviceKind::cpu) {
    if (!options.variant.empty() && options.variant != "cpu_blas") {
      throw usage_error("variant {} does not run on the cpu device, which has cpu_blas",
                        options.variant);
    }
    const MatmulShape shape = product_shape(a, b);
    MatmulShape cell = operations::blas_cell(shape);
    cell.k = std::clamp<std::int64_t>(shape.k, 1, cell.k);
    return plan_out_of_core(shape, cell, element_of(a, b, c), options.device_bytes, 1);
  }
  if (c_order == Order::column_major) {
    return choose(device, transposed(b), transposed(a), c, options).plan;
  }
  return choose(device, a, b, c, options).plan;
}

OutOfCoreReport out_of_core_matmul(Device& device, const ConstMatrixView& a,
                                   const ConstMatrixView& b, const MatrixView& c,
                                   const OutOfCoreOptions& options) {
  if (device.kind() != DeviceKind::cpu && c.order == Order::column_major) {
    return out_of_core_matmul(device, transposed(b), transposed(a), transposed(c), options);
  }
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  OutOfCoreReport report;
  if (device.kind() == DeviceKind::cpu) {
    report = multiply_on_cpu(a, b, c, plan_of(device, a, b, c.type, c.order, options), options);
  } else {
    const KernelAndPlan chosen = choose(device, a, b, c.type, options);
    TiledProduct product(device, a, b, c, chosen.plan, chosen.kernel);
    report = {.plan = chosen.plan, .variant = chosen.kernel.name};
    report.cancelled = !product.run(options);
    report.busy_seconds = product.busy_ms() * 1e-3;
  }
  report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return report;
}

}  // namespace tilescope::transfer
