#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <tilescope/tuning.hpp>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "operations/gemm/dispatch/tuned_products.hpp"
#include "operations/gemm/product/device_product.hpp"
#include "tuning/product_tuning.hpp"

namespace tilescope {
namespace {

using namespace operations;

// The problem that matmul_batched() would make of matrices, without matrices.
HostProblem described(const MatmulProduct& product) {
  const MatmulShape& s = product.shape;
  if (s.m < 1 || s.n < 1 || s.k < 1 || product.batch < 1) {
    throw usage_error("a product of {}, {} times: to tune it every extent must be at least 1",
                      shape_text(s), product.batch);
  }
  // Far beyond any memory, and far below where numbers of elements would wrap around.
  constexpr double most = 1e15;
  const auto elements = [&](std::int64_t x, std::int64_t y) {
    return static_cast<double>(x) * static_cast<double>(y) * static_cast<double>(product.batch);
  };
  if (std::max({elements(s.m, s.k), elements(s.k, s.n), elements(s.m, s.n)}) > most) {
    throw usage_error(
        "a product of {}, {} times: a matrix would have more than 10^15 elements, which no memory "
        "holds",
        shape_text(s), product.batch);
  }
  if (!is_floating(product.type)) {
    throw usage_error("matrices of {}: matmul takes float16, bfloat16, float32 and float64",
                      name_of(product.type));
  }
  Precision precision = product.precision;
  if (size_of(operand_type(precision)) == 1) {
    throw usage_error("precision {}: products of 8-bit operands have no tuned plans",
                      name_of(precision));
  }
  if (precision == Precision::automatic) {
    precision = product.type == DataType::float64 ? Precision::fp64 : Precision::fp32;
  }
  const auto matrix = [&](std::int64_t rows, std::int64_t columns, Order order) {
    return dense_view(static_cast<void*>(nullptr), product.type, rows, columns, order);
  };
  const auto batch = [&](const MatrixView& first) {
    return MatrixBatch{first, product.batch, first.rows * first.columns};
  };
  const auto constant = [](const MatrixBatch& of) {
    return ConstMatrixBatch{of.first, of.count, of.stride};
  };
  static constexpr float some_bias[1] = {};
  HostProblem problem{.a = constant(batch(matrix(s.m, s.k, product.a_order))),
                      .b = constant(batch(matrix(s.k, s.n, product.b_order))),
                      .c = batch(matrix(s.m, s.n, product.c_order)),
                      .precision = precision,
                      .beta = product.adds_to_c ? 0.5 : 0.0,
                      .bias = {},
                      .activation = product.activation};
  if (product.has_bias) problem.bias = some_bias;
  return with_rows_of_c(problem);
}

// Every file of tuned products, for all devices.
std::vector<std::filesystem::path> tuned_files() {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path folder = tuned_folder();
  std::error_code failed;
  if (folder.empty()) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TuneReport tune_matmul(Device& device, const MatmulProduct& product, const TuneOptions& options) {
  const HostProblem problem = described(product);
  if (device.kind() == DeviceKind::cpu) {
    throw device_error(
        "the cpu device has one way to multiply: there is nothing to tune; use --device cuda, or "
        "emulated");
  }
  return tuning::tune_problem(device, choose_by_model(problem, device.properties()).problem,
                              options);
}

std::vector<TunedMatmul> tuned_matmuls(std::vector<std::string>* troubles) {
  std::vector<TunedMatmul> all;
  for (const std::filesystem::path& path : tuned_files()) {
    const TunedProducts file(path);
    if (troubles && !file.trouble().empty()) troubles->push_back(file.trouble());
    if (troubles && file.is_stale()) {
      troubles->push_back(
          fmt::format("tuned plans are not used: {} is of other kernels than "
                      "this version's; tilescope tune rewrites it",
                      quoted(path.string())));
    }
    for (const auto& [key, tuned] : file.all()) {
      all.push_back({.product = key,
                     .device = file.device(),
                     .variant = tuned.variant,
                     .note = tuned.note,
                     .time_ms = tuned.ms,
                     .model = tuned.model,
                     .model_time_ms = tuned.model_ms});
    }
  }
  return all;
}

std::size_t forget_tuned_matmuls(const std::function<bool(const std::string&)>& which) {
  std::size_t count = 0;
  for (const std::filesystem::path& path : tuned_files()) {
    count += tuned_products_in(path).forget(which);
  }
  return count;
}

std::string tuning_trouble(const Device& device) {
  if (device.kind() == DeviceKind::cpu || !uses_tuned_products()) return {};
  return tuned_products(device).trouble();
}

}  // namespace tilescope
