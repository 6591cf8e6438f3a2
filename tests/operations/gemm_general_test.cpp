// The particular properties of the kernel that takes every product, and of the reference that
// judges all of them.
#include <map>
#include <set>

#include "operations/gemm/general/general.hpp"
#include "support/compiled_request.hpp"
#include "support/gemm_runs.hpp"
#include "support/gpus.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::operations {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::Not;

class GemmGeneral : public ::testing::Test {
 protected:
  std::string defects_of(const GemmCase& of) {
    return defects(of, run_gemm(*emulated_, gemm_variant("general"), of), false);
  }
  std::shared_ptr<Device> emulated_ = Device::open("emulated");
};

TEST_F(GemmGeneral, EveryWidthOfTiles) {
  GemmGenerator generator(2);
  DeviceProperties device = emulated_->properties();
  std::set<std::int64_t> tiles;
  for (const MatmulShape& shape : {MatmulShape{40, 50, 17}, {300, 250, 18}, {530, 600, 9}}) {
    for (const Precision precision : {Precision::fp32, Precision::fp64}) {
      GemmProblem problem = dense_problem(shape, precision, operand_type(precision),
                                          DataType::float32, Order::column_major);
      problem.batch = 1;
      tiles.insert(general_tile(problem, device));
      EXPECT_EQ(defects_of(generator.filled(problem)), "");
    }
  }
  EXPECT_EQ(tiles, (std::set<std::int64_t>{16, 32, 64}));
}

// Only bits that TF32 drops distinguish this NaN from infinity.
TEST_F(GemmGeneral, ANanOfLowBitsStaysNan) {
  GemmGenerator generator(6);
  GemmCase of = generator.filled(
      dense_problem({1, 1, 1}, Precision::tf32, DataType::float32, DataType::float32));
  const std::uint32_t nan = 0x7F800001U;
  std::memcpy(of.a.image().data() + of.a.first(), &nan, sizeof nan);
  EXPECT_TRUE(std::isnan(run_gemm(*emulated_, gemm_variant("general"), of).get(0, 0, 0)));
}

TEST_F(GemmGeneral, TakesWhatItSaysItTakes) {
  GemmProblem problem =
      dense_problem({2, 2, 2}, Precision::fp32, DataType::float32, DataType::float32);
  for (const GemmCase& of : random_gemms()) {
    EXPECT_EQ(general_refusal(of.problem, emulated_->properties()), std::nullopt);
  }
  problem.b.type = DataType::int32;
  EXPECT_EQ(general_refusal(problem, emulated_->properties()), "an operand is int32");
}

TEST_F(GemmGeneral, SaysWhatBecameOfThePrecision) {
  const auto note = [&](Precision precision) {
    return prepare_general(*emulated_, dense_problem({2, 2, 2}, precision, DataType::float32,
                                                     DataType::float32))
        ->note();
  };
  EXPECT_EQ(note(Precision::fp32), "");
  EXPECT_EQ(note(Precision::fp32_fast), "computed as fp32");
}

TEST_F(GemmGeneral, CompilesWithoutWarningsAndSpillsNothing) {
  for (const DeviceProperties& device : {t4(), a100(), h200()}) {
    for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp64}) {
      GemmProblem problem =
          dense_problem({4096, 4096, 64}, precision, operand_type(precision), DataType::float32);
      problem.beta = 1.0;
      problem.has_bias = true;
      problem.activation = Activation::gelu;
      const KernelRequest request = general_request(problem, device);
      const compile::Program program = compiled(request, device);
      EXPECT_THAT(program.log,
                  HasSubstr("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"));
      EXPECT_THAT(program.log, Not(HasSubstr("warning")));
    }
  }
}

// --- the tools of these tests -------------------------------------------------------------------

TEST(RandomGemm, DrawsEveryKindOfProblem) {
  std::map<std::string, int> seen;
  for (const GemmCase& of : random_gemms()) {
    const GemmProblem& p = of.problem;
    ++seen[fmt::format("precision {}", static_cast<int>(p.precision))];
    ++seen[fmt::format("A {} {}", name_of(p.a.type), static_cast<int>(p.a.order))];
    ++seen[fmt::format("B {} {}", name_of(p.b.type), static_cast<int>(p.b.order))];
    ++seen[fmt::format("C {}", name_of(p.c.type))];
    ++seen[fmt::format("activation {}", static_cast<int>(p.activation))];
    ++seen[fmt::format("bias {} {}", p.has_bias, p.bias_per_row)];
    for (const std::int64_t x : {p.shape.m, p.shape.n, p.shape.k}) {
      if (x < 2) ++seen[fmt::format("extent {}", x)];
    }
    if (p.batch != 1) ++seen[p.batch == 0 ? "no matrices" : "a batch"];
    if (p.beta != 0.0) ++seen["C is read"];
    if (p.a.leading > (p.a.order == Order::row_major ? p.shape.k : p.shape.m)) ++seen["gaps"];
    if (of.text.find("NaN") != std::string::npos) ++seen["NaN"];
  }
  EXPECT_EQ(seen.size(), 6u + 8u + 8u + 4u + 3u + 3u + 2u + 2u + 1u + 1u + 1u);
  for (const auto& [what, count] : seen) EXPECT_GE(count, 3) << what;
}

TEST(RandomGemm, TheReferenceFindsWhatIsWrong) {
  GemmGenerator generator(3);
  GemmCase of = generator.filled(
      dense_problem({3, 2, 4}, Precision::fp32, DataType::float32, DataType::float32));
  GemmMatrices c = of.c;
  c.each([&](auto b, auto i, auto j) {
    double sum = 0.0;
    for (std::int64_t l = 0; l < 4; ++l) sum += of.a.get(b, i, l) * of.b.get(b, l, j);
    c.set(b, i, j, sum);
  });
  EXPECT_EQ(defects(of, c, false), "");
  const double right = c.get(0, 2, 1);
  c.set(0, 2, 1, right + 1e-4);
  EXPECT_THAT(defects(of, c, false), HasSubstr("C[0](2, 1) is"));
  c.set(0, 2, 1, std::nan(""));
  EXPECT_THAT(defects(of, c, false), HasSubstr("1 elements are wrong"));
  c.set(0, 2, 1, right);
  c.image().back() = std::byte{0};
  EXPECT_THAT(defects(of, c, false), HasSubstr("bytes beside C's elements changed"));
}

TEST(RandomGemm, OperandsAreRoundedAsThePrecisionSays) {
  EXPECT_EQ(rounded_operand(1.0 + 0x1p-10 + 0x1p-11, Precision::tf32), 1.0 + 0x1p-10);
  EXPECT_EQ(rounded_operand(-1.0 - 0x1p-11, Precision::tf32), -1.0);
  EXPECT_EQ(rounded_operand(0x1p-149, Precision::tf32), 0.0);
  EXPECT_EQ(rounded_operand(0x1p-136, Precision::tf32), 0x1p-136);
  EXPECT_EQ(rounded_operand(1.0 + 0x1p-8, Precision::bf16), 1.0);
  EXPECT_EQ(rounded_operand(1.0 + 0x1p-8 + 0x1p-30, Precision::bf16), 1.0 + 0x1p-7);
  EXPECT_EQ(rounded_operand(1e6, Precision::fp16), INFINITY);
  EXPECT_EQ(rounded_operand(0.1, Precision::fp64), 0.1);
}

}  // namespace
}  // namespace tilescope::operations
