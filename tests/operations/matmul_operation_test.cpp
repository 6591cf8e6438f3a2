#include "operations/matmul/matmul_operation.hpp"

#include <algorithm>
#include <set>

#include "measure/verification.hpp"
#include "support/arrays.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::operations {
namespace {

VariantInfo info(const MatmulOperation& operation, std::string_view name) {
  const auto variants = operation.variants();
  const auto found = std::find_if(variants.begin(), variants.end(),
                                  [name](const VariantInfo& v) { return v.name == name; });
  if (found == variants.end()) throw std::runtime_error("no variant " + std::string(name));
  return *found;
}

struct ValuesAndBounds {
  explicit ValuesAndBounds(const Expected& expected)
      : values(expected.size()), bounds(expected.size()) {
    expected.get(0, values, bounds);
  }
  std::vector<double> values, bounds;
};

TEST(MatmulOperation, OperandsAreReproducibleAndRandom) {
  const MatmulOperation one({300, 300, 300}, 1), same({300, 300, 300}, 1), two({300, 300, 300}, 2);
  EXPECT_EQ(one.a(), same.a());
  EXPECT_EQ(one.b(), same.b());
  EXPECT_NE(one.a(), two.a());
  EXPECT_NE(one.a(), one.b());
  const auto [least, most] = std::minmax_element(one.a().begin(), one.a().end());
  EXPECT_GE(*least, -1.0F);
  EXPECT_LT(*most, 1.0F);
  EXPECT_LT(*least, -0.999F);
  EXPECT_GT(*most, 0.999F);
  const std::set<float> different(one.a().begin(), one.a().end());
  EXPECT_GT(different.size(), one.a().size() * 99 / 100);
}

TEST(MatmulOperation, Work) {
  const MatmulOperation operation({10, 20, 30}, 1);
  EXPECT_EQ(operation.work().flops, 2.0 * 10 * 20 * 30);
  EXPECT_EQ(operation.work().bytes, 4.0 * (10 * 30 + 30 * 20 + 10 * 20));
  EXPECT_EQ(operation.size_text(), "10 x 20 x 30");
}

TEST(MatmulOperation, ExpectedValuesAndBounds) {
  const MatmulOperation operation({3, 4, 5}, 7);
  const ValuesAndBounds floats(operation.expected(info(operation, "tiled_16")));
  const ValuesAndBounds doubles(operation.expected(info(operation, "double_accumulator")));
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      double value = 0, magnitude = 0;
      for (std::size_t p = 0; p < 5; ++p) {
        const double product = double{operation.a()[i * 5 + p]} * operation.b()[p * 4 + j];
        value += product;
        magnitude += std::abs(product);
      }
      EXPECT_NEAR(floats.values[i * 4 + j], value, 1e-15);
      EXPECT_NEAR(floats.bounds[i * 4 + j], 7 * 0x1p-24 * magnitude, 1e-20);
      EXPECT_EQ(doubles.values[i * 4 + j], floats.values[i * 4 + j]);
      EXPECT_LT(doubles.bounds[i * 4 + j], floats.bounds[i * 4 + j]);
      EXPECT_GE(doubles.bounds[i * 4 + j], 0x1p-24 * std::abs(floats.values[i * 4 + j]));
    }
  }
}

TEST(MatmulOperation, HostVariantsAreRightAndPoisonIsNan) {
  const MatmulOperation operation({65, 33, 129}, 3);
  const auto cpu = Device::open("cpu");
  for (const char* name : {"cpu_reference", "cpu_blas"}) {
    const VariantInfo variant = info(operation, name);
    EXPECT_TRUE(variant.on_host);
    const auto prepared = operation.prepare(variant, *cpu);
    prepared->poison(0);
    for (const double value : testing::doubles(prepared->output(0))) EXPECT_TRUE(std::isnan(value));
    prepared->run(0);
    EXPECT_TRUE(measure::verify(prepared->output(0), operation.expected(variant)).ok());
  }
}

TEST(MatmulOperation, RefusalsOnTheCpu) {
  const auto cpu = Device::open("cpu");
  const MatmulOperation operation({8, 8, 8}, 1), empty({0, 8, 8}, 1);
  EXPECT_FALSE(operation.refusal(info(operation, "cpu_reference"), *cpu));
  EXPECT_FALSE(operation.refusal(info(operation, "cpu_blas"), *cpu));
  EXPECT_EQ(operation.refusal(info(operation, "cublas"), *cpu), "needs a GPU");
  EXPECT_EQ(operation.refusal(info(operation, "tiled_16"), *cpu),
            "a kernel: needs a GPU or --device emulated");
  for (const VariantInfo& variant : empty.variants()) {
    EXPECT_EQ(empty.refusal(variant, *cpu), "C has no elements");
  }
}

TEST(MatmulOperation, ExactlyOneVariantIsThePeer) {
  const auto variants = MatmulOperation({1, 1, 1}, 1).variants();
  EXPECT_EQ(std::count_if(variants.begin(), variants.end(), [](auto& v) { return v.is_peer; }), 1);
}

}  // namespace
}  // namespace tilescope::operations
