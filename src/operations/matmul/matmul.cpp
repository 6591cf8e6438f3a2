#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <tilescope/matmul.hpp>
#include <vector>

#include "base/openblas.hpp"
#include "operations/matmul/convert.hpp"
#include "operations/matmul/kernel_product.hpp"
#include "operations/matmul/reference.hpp"
#include "operations/matmul/variants.hpp"

namespace tilescope {
namespace {

using namespace operations;

void require_matmul_type(const ConstMatrixView& matrix, const char* name) {
  if (matrix.type == DataType::float16 || matrix.type == DataType::float32 ||
      matrix.type == DataType::float64) {
    return;
  }
  throw Error(ErrorKind::usage, fmt::format("{} is {}: matmul takes float16, float32 and float64",
                                            name, name_of(matrix.type)));
}

void fill_zero(const MatrixView& c) {
  const std::size_t element = size_of(c.type);
  auto* bytes = static_cast<std::byte*>(c.mutable_data());
  for (std::int64_t v = 0; v < c.vectors(); ++v) {
    std::memset(bytes + static_cast<std::size_t>(v * c.leading) * element, 0,
                static_cast<std::size_t>(c.vector_length()) * element);
  }
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

MatmulReport multiply_on_cpu(const ConstMatrixView& a, const ConstMatrixView& b,
                             const MatrixView& c, const MatmulOptions& options) {
  if (!options.variant.empty() && options.variant != "cpu_blas") {
    matmul_variant(options.variant);  // a name that does not exist is the better message
    throw Error(ErrorKind::usage,
                fmt::format("variant {} does not run on the cpu device, which has cpu_blas; use "
                            "--device cuda or emulated",
                            options.variant));
  }
  OpenBlas::instance();  // opening the library is no part of the product's time
  const auto start = std::chrono::steady_clock::now();
  converted_blas_matmul(a, b, c, blas_cell(product_shape(a, b)));
  return {.variant = "cpu_blas", .compute_ms = milliseconds_since(start)};
}

MatmulReport multiply_with_kernel(Device& device, const ConstMatrixView& a,
                                  const ConstMatrixView& b, const MatrixView& c,
                                  const MatmulOptions& options) {
  const bool wide = product_type(product_type(a.type, b.type), c.type) == DataType::float64;
  const DataType element = wide ? DataType::float64 : DataType::float32;
  const std::string name = options.variant.empty()
                               ? std::string(best_matmul_variant(device.properties(), element))
                               : options.variant;
  const MatmulVariant& variant = matmul_variant(name);
  const MatmulShape shape = product_shape(a, b);
  if (variant.row->form != MatmulForm::kernel) {
    throw Error(ErrorKind::usage,
                fmt::format("variant {} does not run on {}; name a kernel, or use --device cpu",
                            name, device.id()));
  }
  if (const auto why = variant.refusal(shape, device.properties())) {
    throw Error(ErrorKind::usage, fmt::format("variant {}: {}", name, *why));
  }
  if (wide && !variant.row->any_element) {
    throw Error(ErrorKind::usage,
                fmt::format("variant {} computes in float32, and an operand is float64; use {}, "
                            "or --device cpu",
                            name, best_matmul_variant(device.properties(), element)));
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
  return {.variant = name, .compute_ms = elapsed};
}

}  // namespace

DataType product_type(DataType a, DataType b) {
  const auto width = [](DataType type) { return size_of(type); };
  return width(a) >= width(b) ? a : b;
}

MatmulReport matmul(Device& device, const ConstMatrixView& a, const ConstMatrixView& b,
                    const MatrixView& c, const MatmulOptions& options) {
  require_valid(a, "A");
  require_valid(b, "B");
  require_valid(c, "C");
  require_matmul_type(a, "A");
  require_matmul_type(b, "B");
  require_matmul_type(c, "C");
  const MatmulShape shape = product_shape(a, b);
  if (c.rows != shape.m || c.columns != shape.n) {
    throw Error(ErrorKind::usage,
                fmt::format("C is {} but A ({}) times B ({}) is {} x {}", shape_text(c),
                            shape_text(a), shape_text(b), shape.m, shape.n));
  }
  if (!options.variant.empty()) matmul_variant(options.variant);
  if (c.empty() || shape.k == 0) {
    fill_zero(c);
    return {.variant = "none (no products to sum)", .compute_ms = 0.0};
  }
  return device.kind() == DeviceKind::cpu ? multiply_on_cpu(a, b, c, options)
                                          : multiply_with_kernel(device, a, b, c, options);
}

}  // namespace tilescope
