// The arithmetic of tensor cores, against what a GPU of compute capability 9.0 computed
// (bench/record_matrix.cpp) and, for other architectures, against a plain model of one sum.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/half.hpp"
#include "emulator/harness.hpp"
#include "emulator/matrix_cases.hpp"
#include "emulator/matrix_values.hpp"

namespace tilescope::emulator::test {
namespace {

using tilescope::testing::MatrixCase;
using tilescope::testing::MatrixRegime;

std::vector<std::uint32_t> run_case(Machine& machine, const MatrixCase& c) {
  const auto module = machine.load(ptx::parse(c.ptx, c.name));
  std::vector<std::uint32_t> out(std::size_t{c.out_words} * c.blocks);
  const std::uint64_t from = machine.allocate(c.in.size() * 4, "in"),
                      to = machine.allocate(out.size() * 4, "out");
  machine.copy_to_device(from, c.in.data(), c.in.size() * 4);
  const LaunchSummary summary =
      machine.launch(*module, "k", {c.blocks}, {c.threads}, 0, pack(from, to), {.threads = 1});
  EXPECT_TRUE(summary.complete()) << c.name << ": " << summary.message;
  EXPECT_EQ(summary.fault_count, 0u) << c.name;
  machine.copy_to_host(out.data(), to, out.size() * 4);
  machine.free(from);
  machine.free(to);
  return out;
}

/// By name of the case: the hash of each block's results.
std::map<std::string, std::vector<std::string>> recorded() {
  std::map<std::string, std::vector<std::string>> all;
  std::istringstream file(data_file("tensor_cores_sm_90.txt"));
  for (std::string line; std::getline(file, line);) {
    const std::size_t tab = line.find('\t');
    std::istringstream hashes(line.substr(tab + 1));
    for (std::string hash; hashes >> hash;) all[line.substr(0, tab)].push_back(hash);
  }
  return all;
}

std::string hexadecimal(std::uint64_t value) {
  std::ostringstream text;
  text << std::hex << value;
  return text.str();
}

void compare(const std::vector<MatrixCase>& cases) {
  const auto chip = recorded();
  const LaneKernels& before = lane_kernels();
  for (const LaneKernels* set : all_lane_kernels()) {
    use_lane_kernels(*set);
    Machine machine(tilescope::testing::h200());
    for (const MatrixCase& c : cases) {
      const auto expected = chip.find(c.name);
      ASSERT_NE(expected, chip.end()) << c.name;
      ASSERT_EQ(expected->second.size(), c.blocks) << c.name;
      const std::vector<std::uint32_t> out = run_case(machine, c);
      for (std::size_t block = 0; block < c.blocks; ++block) {
        const std::span words(out.data() + block * c.out_words, c.out_words);
        EXPECT_EQ(hexadecimal(tilescope::testing::matrix_hash(words)), expected->second[block])
            << c.name << ", block " << block << ", with " << set->name;
      }
    }
  }
  use_lane_kernels(before);
}

TEST(TensorCores, ProductsOfAWarpAreTheChips) {
  compare(tilescope::testing::mma_cases());
}
TEST(TensorCores, ProductsOfAWarpgroupAreTheChips) {
  compare(tilescope::testing::wgmma_cases());
}
TEST(TensorCores, DescriptorsReadWhereTheChipDoes) {
  compare(tilescope::testing::wgmma_layout_cases());
}

// --- other architectures
// ------------------------------------------------------------------------

/// One sum as published models describe it: significands as doubles, cut by trunc().
float model_sum(const std::vector<float>& a, const std::vector<float>& b, float c, int bits) {
  constexpr int none = -1000;
  const auto exponent = [](double v, int least) {
    return v == 0 ? none : std::max(std::ilogb(v), least);
  };
  int top = exponent(c, -126);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != 0 && b[i] != 0) top = std::max(top, exponent(a[i], -14) + exponent(b[i], -14));
  }
  if (top == none) return 0;
  const auto cut = [&](double v) { return std::trunc(std::ldexp(v, bits - top)); };
  double sum = cut(c);
  for (std::size_t i = 0; i < a.size(); ++i) sum += cut(double{a[i]} * double{b[i]});
  const double value = std::ldexp(sum, top - bits);
  const float nearest = static_cast<float>(value);
  return std::fabs(double{nearest}) > std::fabs(value) ? std::nextafterf(nearest, 0) : nearest;
}

/// Runs a 16-bit product of m16n8k16 on `gpu` and compares it with sums of `step` elements.
void expect_model(const DeviceProperties& gpu, std::size_t step, int bits) {
  const std::vector<MatrixCase> all = tilescope::testing::mma_cases();
  const auto found = std::find_if(all.begin(), all.end(), [](const MatrixCase& c) {
    return c.name == "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
  });
  ASSERT_NE(found, all.end());
  Machine machine(gpu);
  const std::vector<std::uint32_t> out = run_case(machine, *found);
  constexpr std::size_t kRegisters = 10;  // of a lane: 4 of A, 2 of B, 4 of C
  int compared = 0;
  for (std::size_t block = 0; block < found->blocks; ++block) {
    const auto regime = static_cast<MatrixRegime>(block % std::size_t(MatrixRegime::count));
    if (regime == MatrixRegime::special || regime == MatrixRegime::large) continue;
    const std::uint32_t* in = found->in.data() + block * 32 * kRegisters;
    const auto half = [&](std::size_t lane, std::size_t reg, std::size_t part) {
      const std::uint32_t word = in[lane * kRegisters + reg];
      return float16_to_float32(static_cast<std::uint16_t>(word >> part * 16));
    };
    for (std::size_t row = 0; row < 16; ++row) {
      for (std::size_t column = 0; column < 8; ++column) {
        std::vector<float> a(16), b(16);
        for (std::size_t k = 0; k < 16; ++k) {
          a[k] = half(row % 8 * 4 + k % 8 / 2, row / 8 + k / 8 * 2, k % 2);
          b[k] = half(column * 4 + k % 8 / 2, 4 + k / 8, k % 2);
        }
        const std::size_t lane = row % 8 * 4 + column / 2, reg = row / 8 * 2 + column % 2;
        float sum = std::bit_cast<float>(in[lane * kRegisters + 6 + reg]);
        for (std::size_t k = 0; k < 16; k += step) {
          const auto part = [&](const std::vector<float>& v) {
            return std::vector<float>(v.begin() + static_cast<long>(k),
                                      v.begin() + static_cast<long>(k + step));
          };
          sum = model_sum(part(a), part(b), sum, bits);
        }
        const float ours = std::bit_cast<float>(out[block * 128 + lane * 4 + reg]);
        ASSERT_EQ(ours, sum) << "block " << block << " row " << row << " column " << column;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 2000);
}

TEST(TensorCores, SumsOfEachArchitecture) {
  expect_model(tilescope::testing::h200(), 16, 25);
  expect_model(tilescope::testing::a100(), 8, 24);
  DeviceProperties volta = tilescope::testing::t4();
  volta.compute_minor = 0;
  expect_model(tilescope::testing::t4(), 8, 24);
  expect_model(volta, 4, 23);
}

}  // namespace
}  // namespace tilescope::emulator::test
