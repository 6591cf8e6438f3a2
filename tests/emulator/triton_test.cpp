// A kernel of Triton's that finds its matrices by addresses in memory; tests/triton runs the
// others.
#include "base/half.hpp"
#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

class GroupedGemm : public ::testing::TestWithParam<const char*> {};

TEST_P(GroupedGemm, MultipliesEachGroup) {
  std::ifstream file(std::string(TILESCOPE_SOURCE_DIR "/tests/triton/ptx/grouped_gemm_") +
                     GetParam() + ".ptx");
  std::stringstream text;
  text << file.rdbuf();
  Bench bench(text.str());

  struct Group {
    std::int32_t m, n, k;
  };
  const std::vector<Group> groups = {{70, 40, 33}, {64, 130, 64}, {5, 7, 100}};
  const auto value = [](std::size_t i) { return static_cast<float>(i * 37 % 17) / 8 - 1; };
  std::vector<std::uint64_t> addresses;
  std::vector<std::int32_t> sizes;
  for (const auto& [m, n, k] : groups) {
    for (const std::int32_t count : {m * k, k * n, m * n}) {
      std::vector<std::uint16_t> halves(static_cast<std::size_t>(count));
      for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = float32_to_float16(value(i));
      addresses.push_back(bench.upload(halves, "matrix"));
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

INSTANTIATE_TEST_SUITE_P(Triton, GroupedGemm, ::testing::Values("80"));

}  // namespace
}  // namespace tilescope::emulator::test
