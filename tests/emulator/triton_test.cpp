// A kernel of Triton's that finds its matrices by addresses in memory; tests/triton runs the
// others.
#include "base/half.hpp"
#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

std::string triton_text(const std::string& name) {
  std::ifstream file(TILESCOPE_SOURCE_DIR "/tests/triton/ptx/" + name + ".ptx");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

float value(std::size_t i) {
  return static_cast<float>(i * 37 % 17) / 8 - 1;
}
std::vector<std::uint16_t> halves(std::int32_t count) {
  std::vector<std::uint16_t> list(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = float32_to_float16(value(i));
  return list;
}

class GroupedGemm : public ::testing::TestWithParam<const char*> {};

TEST_P(GroupedGemm, MultipliesEachGroup) {
  Bench bench(triton_text(std::string("grouped_gemm_") + GetParam()));
  struct Group {
    std::int32_t m, n, k;
  };
  const std::vector<Group> groups = {{70, 40, 33}, {64, 130, 64}, {5, 7, 100}};
  std::vector<std::uint64_t> addresses;
  std::vector<std::int32_t> sizes;
  for (const auto& [m, n, k] : groups) {
    for (const std::int32_t count : {m * k, k * n, m * n}) {
      addresses.push_back(bench.upload(halves(count), "matrix"));
    }
    sizes.insert(sizes.end(), {m, n, k});
  }
  const std::uint64_t a = bench.upload(addresses, "addresses"), s = bench.upload(sizes, "sizes");
  constexpr std::uint64_t none = 0;
  const LaunchSummary summary =
      bench.machine.launch(*bench.module, "grouped_gemm", {4}, {128}, 8192,
                           pack(a, s, static_cast<std::int32_t>(groups.size()), none, none), {});
  EXPECT_TRUE(summary.complete()) << summary.message;
  EXPECT_EQ(summary.fault_count, 0u);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto [m, n, k] = groups[g];
    const auto c =
        bench.download<std::uint16_t>(addresses[3 * g + 2], static_cast<std::size_t>(m * n));
    for (std::int32_t i = 0; i < m * n; ++i) {
      double sum = 0;
      for (std::int32_t j = 0; j < k; ++j) {
        sum += static_cast<double>(value(static_cast<std::size_t>(i / n * k + j))) *
               static_cast<double>(value(static_cast<std::size_t>(j * n + i % n)));
      }
      const float got = float16_to_float32(c[static_cast<std::size_t>(i)]);
      ASSERT_NEAR(static_cast<double>(got), sum, 1e-3 * std::abs(sum) + 1e-3)
          << "group " << g << ", element " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Triton, GroupedGemm, ::testing::Values("80", "90"));

// The kernel writes tensor maps into its scratch memory, and copies tiles by them.
TEST(DescriptorMatmul, MultipliesByTensorMapsOfItsOwn) {
  Bench bench(triton_text("descriptor_matmul_90"));
  const std::int32_t m = 150, n = 104, k = 72;
  const std::uint64_t a = bench.upload(halves(m * k), "a"), b = bench.upload(halves(n * k), "b");
  const std::uint64_t c = bench.upload(halves(m * n), "c");
  const std::uint64_t scratch = bench.machine.allocate(3 * 384, "scratch");
  constexpr std::uint64_t none = 0;
  const LaunchSummary summary =
      bench.machine.launch(*bench.module, "descriptor_matmul", {3}, {128}, 57368,
                           pack(a, b, c, m, n, k, scratch, none), {});
  EXPECT_TRUE(summary.complete()) << summary.message;
  EXPECT_EQ(summary.fault_count, 0u);
  const auto got = bench.download<std::uint16_t>(c, static_cast<std::size_t>(m * n));
  for (std::int32_t i = 0; i < m * n; ++i) {
    double sum = 0;
    for (std::int32_t j = 0; j < k; ++j) {
      sum += static_cast<double>(value(static_cast<std::size_t>(i / n * k + j))) *
             static_cast<double>(value(static_cast<std::size_t>(i % n * k + j)));
    }
    const float is = float16_to_float32(got[static_cast<std::size_t>(i)]);
    ASSERT_NEAR(static_cast<double>(is), sum, 1e-3 * std::abs(sum) + 1e-3) << "element " << i;
  }
}

}  // namespace
}  // namespace tilescope::emulator::test
