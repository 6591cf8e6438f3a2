// Products whose kernels may begin while the kernel before them still runs: the emulator checks
// that none of them touches what that one writes before it has waited for it.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "device/emulated/emulated_device.hpp"
#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "support/launch_findings.hpp"

namespace tilescope::operations {
namespace {

using testing::LaunchFindings;

struct OverlappedCase {
  std::string variant;
  Precision precision = Precision::bf16;
  MatmulShape shape;
  std::int64_t batch = 1;
  bool a_by_columns = false;

  friend void PrintTo(const OverlappedCase& of, std::ostream* out) { *out << of.variant; }
};

GemmProblem problem_of(const OverlappedCase& of) {
  const DataType type = operand_type(of.precision);
  GemmProblem problem = dense_problem(of.shape, of.precision, type, type);
  problem.batch = of.batch;
  if (of.a_by_columns) problem.a.order = Order::column_major, problem.a.leading = of.shape.m;
  problem.a.batch_stride = of.shape.m * of.shape.k;
  problem.b.batch_stride = of.shape.k * of.shape.n;
  problem.c.batch_stride = of.shape.m * of.shape.n;
  problem.beta = 1.0;
  return problem;
}

/// Writes `count` elements by `gemv`, whose kernel lets the next grid begin before it ends.
void write(device::EmulatedDevice& device, Precision precision, std::int64_t count,
           DeviceAddress to) {
  constexpr std::int64_t length = 16;
  const DataType type = operand_type(precision);
  const GemmProblem problem = dense_problem({count, 1, length}, precision, type, type);
  const auto zeros = [&](std::int64_t elements, const char* name) {
    Buffer buffer = device.allocate(static_cast<std::size_t>(elements) * size_of(type), name);
    device.fill(buffer.address(), 0, buffer.bytes(), {});
    return buffer;
  };
  const Buffer matrix = zeros(count * length, "a matrix"), x = zeros(length, "a vector");
  gemm_variant("gemv")
      .prepare(device, problem)
      ->run({.a = matrix.address(), .b = x.address(), .c = to});
}

class OverlappedProducts : public ::testing::TestWithParam<OverlappedCase> {};

TEST_P(OverlappedProducts, WaitForWhatTheGridBeforeWrites) {
  const auto emulated = std::make_shared<device::EmulatedDevice>("h200");
  device::EmulatedDevice& device = *emulated;
  // fp64_tiles loads fragments of the stage behind the last, which no product takes.
  std::vector<FindingKind> known;
  if (GetParam().variant == "fp64_tiles") known = {FindingKind::uninitialised_read};
  LaunchFindings findings(device, known);
  const GemmProblem problem = problem_of(GetParam());
  const std::int64_t counts[] = {problem.batch * problem.a.batch_stride,
                                 problem.batch * problem.b.batch_stride,
                                 problem.batch * problem.c.batch_stride};
  std::vector<Buffer> matrices;
  for (const std::int64_t count : counts) {
    matrices.push_back(
        device.allocate(static_cast<std::size_t>(count) * size_of(problem.a.type), "a matrix"));
    device.fill(matrices.back().address(), 0, matrices.back().bytes(), {});
  }
  const auto run = gemm_variant(GetParam().variant).prepare(device, problem);
  // Each matrix is written by the grid right before the product, C by that before another product.
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    SCOPED_TRACE(i);
    write(device, problem.precision, counts[i], matrices[i].address());
    run->run({.a = matrices[0].address(), .b = matrices[1].address(), .c = matrices[2].address()});
    EXPECT_EQ(findings.take(), "");
  }
  write(device, problem.precision, counts[2], matrices[2].address());
  EXPECT_EQ(findings.take(), "");
}

// If gemv did not let the next grid begin, nothing would be looked for.
TEST(OverlappedProduct, ThatDoesNotWaitIsFound) {
  const auto device = std::make_shared<device::EmulatedDevice>("h200");
  LaunchFindings findings(*device);
  constexpr std::int64_t count = 32;
  const Buffer x = device->allocate(count * sizeof(float), "x");
  const Buffer y = device->allocate(count * sizeof(float), "y");
  const Kernel copy =
      device->load({.source_name = "copy.cu",
                    .source = "extern \"C\" __global__ void copy(const float* x, float* y) {\n"
                              "  y[threadIdx.x] = x[threadIdx.x];\n}\n",
                    .kernel = "copy"});
  for (const bool overlaps : {false, true}) {
    write(*device, Precision::fp32, count, x.address());
    device->launch(copy, {.block = {count}, .overlaps_previous = overlaps},
                   KernelArguments::of(x.address(), y.address()), {});
    EXPECT_EQ(findings.take().find("missing-grid-wait") != std::string::npos, overlaps);
  }
}

INSTANTIATE_TEST_SUITE_P(
    , OverlappedProducts,
    ::testing::Values(
        OverlappedCase{.variant = "tensor_tiles", .shape = {136, 136, 200}},
        OverlappedCase{.variant = "tensor_tiles", .shape = {130, 131, 133}},
        OverlappedCase{.variant = "tensor_tiles", .shape = {131, 64, 133}, .a_by_columns = true},
        OverlappedCase{.variant = "panel_tiles", .shape = {136, 264, 128}},
        OverlappedCase{.variant = "narrow_tiles", .shape = {512, 16, 256}},
        OverlappedCase{.variant = "unaligned_rows", .shape = {64, 130, 133}},
        OverlappedCase{.variant = "unaligned_rows", .shape = {70, 131, 133}, .a_by_columns = true},
        OverlappedCase{.variant = "unaligned_rows", .shape = {131, 72, 134}, .a_by_columns = true},
        OverlappedCase{.variant = "short_k_mma", .shape = {64, 130, 33}},
        OverlappedCase{.variant = "mma_sync", .shape = {130, 70, 99}},
        OverlappedCase{.variant = "mma_sync", .shape = {64, 64, 2048}},
        OverlappedCase{.variant = "small_products", .shape = {16, 16, 16}, .batch = 5},
        OverlappedCase{
            .variant = "register_operand", .precision = Precision::tf32, .shape = {130, 72, 99}},
        OverlappedCase{
            .variant = "ffma_tiles", .precision = Precision::fp32, .shape = {65, 72, 99}},
        OverlappedCase{
            .variant = "ffma_tiles", .precision = Precision::fp32, .shape = {64, 64, 2048}},
        OverlappedCase{.variant = "short_k", .precision = Precision::fp32, .shape = {70, 65, 33}},
        OverlappedCase{
            .variant = "fp64_tiles", .precision = Precision::fp64, .shape = {64, 66, 700}}),
    [](const auto& info) {
      return info.param.variant + "_" + std::to_string(info.param.shape.k) +
             (info.param.a_by_columns ? "_ByColumns" : "");
    });

}  // namespace
}  // namespace tilescope::operations
