// The formulas of gpu/ against the emulator: `coalesce`, `banks` and `warps` compute from an
// expression what a kernel with that expression does. Random expressions, blocks and grids; the
// figures must be equal.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <tilescope/gpu/access.hpp>
#include <tilescope/gpu/warps.hpp>

#include "kernel_run.hpp"
#include "observe/count/count_observer.hpp"

namespace tilescope::observe {
namespace {

constexpr int rounds = 12, lines_each = 12;

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}

  int among(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }
  template <typename T>
  T one_of(std::initializer_list<T> all) {
    return all.begin()[among(0, static_cast<int>(all.size()) - 1)];
  }

  Dim3 block() {
    return one_of<Dim3>({{32, 1, 1},
                         {64, 2, 1},
                         {16, 16, 1},
                         {8, 8, 2},
                         {33, 3, 1},
                         {5, 7, 3},
                         {1, 40, 1},
                         {2, 2, 9},
                         {100, 1, 1},
                         {31, 1, 4}});
  }
  Dim3 grid() { return one_of<Dim3>({{1, 1, 1}, {3, 1, 1}, {2, 2, 1}, {1, 5, 1}}); }

  /// An index that is never negative.
  std::string index() {
    const int factor = one_of({0, 1, 1, 2, 3, 4, 8, 16, 17, 32, 33, 64});
    const int row = one_of({0, 1, 2, 16, 32, 33, 100, 128});
    switch (among(0, 5)) {
      case 0:
        return fmt::format("threadIdx.x * {} + threadIdx.y * {}", factor, row);
      case 1:
        return fmt::format("threadIdx.y * {} + threadIdx.x * {} + threadIdx.z * {}", factor, row,
                           one_of({0, 1, 64}));
      case 2:
        return fmt::format("(blockIdx.x * blockDim.x + threadIdx.x) * {} + {}", factor,
                           among(0, 40));
      case 3:
        return fmt::format("threadIdx.x / {} + threadIdx.y * {}", among(1, 9), row);
      case 4:
        return fmt::format("(threadIdx.x + threadIdx.y * {}) % {}", row, among(1, 70));
      default:
        return fmt::format("(blockIdx.y * 3 + threadIdx.y) * {} + threadIdx.x * threadIdx.x", row);
    }
  }
  std::string condition() {
    switch (among(0, 4)) {
      case 0:
        return fmt::format("threadIdx.x > {}", among(0, 100));
      case 1:
        return fmt::format("blockIdx.x * blockDim.x + threadIdx.x < {}", among(0, 220));
      case 2:
        return fmt::format("threadIdx.x % {} == {}", among(2, 64), among(0, 1));
      case 3:
        return fmt::format("threadIdx.y < {} && threadIdx.x < {}", among(0, 16), among(0, 40));
      default:
        return fmt::format("blockIdx.x > {} || threadIdx.z == {}", among(0, 2), among(0, 3));
    }
  }

 private:
  std::mt19937 random_;
};

// Runs a kernel whose lines from the first '\n' on are `statements`, and counts it line by line.
std::vector<Counts> counts_of(const std::string& declarations,
                              const std::vector<std::string>& statements, const Launch& launch,
                              int argument) {
  std::string source = declarations + " extern \"C\" __global__ void kernel(char* a, int n) {";
  for (const std::string& statement : statements) source += "\n" + statement;
  source += "\n}\n";
  testing::KernelRun run(compile::compile(testing::compilation(source)));
  const std::uint64_t a = run.uninitialised("a", std::size_t{1} << 20U);
  CountObserver counter;
  run.launch(launch, {&counter}, a, argument);
  std::vector<Counts> lines(statements.size());
  for (const LineCounts& line : counter.result().lines) {
    const std::size_t index = line.place.line - 2U;
    if (line.place.line >= 2 && index < lines.size()) lines[index] += line.counts;
  }
  return lines;
}

// The sum of the answers over every warp of every block.
struct Predicted {
  std::uint64_t requests = 0, sectors = 0, wavefronts = 0, ideal_wavefronts = 0;
};
Predicted predict(const std::string& index, int bytes, const Launch& launch) {
  Predicted sum;
  gpu::AccessQuestion question{
      .expression = "a[" + index + "]", .launch = launch, .element_bytes = bytes};
  for (std::uint32_t y = 0; y < launch.grid.y; ++y) {
    for (std::uint32_t x = 0; x < launch.grid.x; ++x) {
      question.block_index = {x, y, 0};
      for (std::uint64_t warp = 0; warp < gpu::warps_per_block(launch.block); ++warp) {
        question.warp = warp;
        const gpu::AccessAnswer answer = gpu::analyse_access(question);
        ++sum.requests;
        sum.sectors += static_cast<std::uint64_t>(answer.sectors);
        sum.wavefronts += static_cast<std::uint64_t>(answer.wavefronts);
        sum.ideal_wavefronts += static_cast<std::uint64_t>(answer.ideal_wavefronts);
      }
    }
  }
  return sum;
}

// A load of `bytes` bytes that the compiler must keep, into registers that are never read.
std::string load(std::string_view space, int bytes, const std::string& address) {
  switch (bytes) {
    case 8:
      return fmt::format(
          "{{ unsigned v, w; asm volatile(\"ld.{}.v2.u32 {{%0, %1}}, [%2];\" : \"=r\"(v), "
          "\"=r\"(w) : {}); }}",
          space, address);
    case 16:
      return fmt::format(
          "{{ unsigned s, t, v, w; asm volatile(\"ld.{}.v4.u32 {{%0, %1, %2, %3}}, [%4];\" : "
          "\"=r\"(s), \"=r\"(t), \"=r\"(v), \"=r\"(w) : {}); }}",
          space, address);
    default:
      return fmt::format(
          "{{ unsigned v; asm volatile(\"ld.{}.u{} %0, [%1];\" : \"=r\"(v) : {}); }}", space,
          8 * bytes, address);
  }
}

class Reasoning : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::has_compiler()) GTEST_SKIP() << "no NVRTC";
  }
};

TEST_F(Reasoning, SectorsOfAnIndexAreThoseOfTheRun) {
  Draw draw(20);
  for (int round = 0; round < rounds; ++round) {
    const Launch launch{.grid = draw.grid(), .block = draw.block()};
    const int bytes = draw.one_of({1, 2, 4, 4, 8, 16});
    std::vector<std::string> indices, statements;
    for (int i = 0; i < lines_each; ++i) {
      indices.push_back(draw.index());
      statements.push_back(
          load("global", bytes, fmt::format("\"l\"(a + {}ull * ({}))", bytes, indices.back())));
    }
    const std::vector<Counts> counts = counts_of("", statements, launch, 0);
    for (int i = 0; i < lines_each; ++i) {
      SCOPED_TRACE(fmt::format("{} B, blocks of {} x {} x {}: {}", bytes, launch.block.x,
                               launch.block.y, launch.block.z, indices[i]));
      const Predicted predicted = predict(indices[i], bytes, launch);
      EXPECT_EQ(predicted.requests, counts[i].global_load.requests);
      EXPECT_EQ(predicted.sectors, counts[i].global_load.sectors);
    }
  }
}

TEST_F(Reasoning, WavefrontsOfAnIndexAreThoseOfTheRun) {
  Draw draw(21);
  for (int round = 0; round < rounds; ++round) {
    const Launch launch{.grid = draw.grid(), .block = draw.block()};
    const int bytes = draw.one_of({1, 2, 4, 4, 8, 16});
    std::vector<std::string> indices, statements;
    for (int i = 0; i < lines_each; ++i) {
      // Modulo the size of the array; a multiple of every bank's period, so banks stay the same.
      indices.push_back(fmt::format("({}) % {}", draw.index(), 32768 / bytes));
      statements.push_back(
          load("shared", bytes, fmt::format("\"r\"(base + {}u * ({}))", bytes, indices.back())));
    }
    statements.insert(statements.begin(),
                      "__shared__ __align__(128) char s[32768]; const unsigned base = "
                      "(unsigned)__cvta_generic_to_shared(s);");
    const std::vector<Counts> counts = counts_of("", statements, launch, 0);
    for (int i = 0; i < lines_each; ++i) {
      SCOPED_TRACE(fmt::format("{} B, blocks of {} x {} x {}: {}", bytes, launch.block.x,
                               launch.block.y, launch.block.z, indices[i]));
      const Predicted predicted = predict(indices[i], bytes, launch);
      EXPECT_EQ(predicted.requests, counts[i + 1].shared_load.requests);
      EXPECT_EQ(predicted.wavefronts, counts[i + 1].shared_load.wavefronts);
      EXPECT_EQ(predicted.ideal_wavefronts, counts[i + 1].shared_load.ideal_wavefronts);
    }
  }
}

TEST_F(Reasoning, DivergentWarpsOfAConditionAreThoseOfTheRun) {
  Draw draw(22);
  std::uint64_t divergent = 0;
  for (int round = 0; round < rounds; ++round) {
    const Launch launch{.grid = draw.grid(), .block = draw.block()};
    std::vector<std::string> conditions, statements;
    for (int i = 0; i < lines_each; ++i) {
      conditions.push_back(draw.condition());
      // Written out, for the compiler would rather select than branch around so little.
      statements.push_back(fmt::format(
          "{{ unsigned p = {}; asm volatile(\"{{ .reg .pred q; setp.ne.u32 q, %0, 0; @q bra "
          "YES; membar.cta; YES: }}\" :: \"r\"(p)); }}",
          conditions.back()));
    }
    const std::vector<Counts> counts = counts_of("", statements, launch, 0);
    for (int i = 0; i < lines_each; ++i) {
      SCOPED_TRACE(fmt::format("blocks of {} x {} x {}: {}", launch.block.x, launch.block.y,
                               launch.block.z, conditions[i]));
      const gpu::DivergenceCount predicted = gpu::count_divergence(conditions[i], launch);
      EXPECT_EQ(predicted.warps, launch.grid.count() * gpu::warps_per_block(launch.block));
      EXPECT_EQ(predicted.evaluations, counts[i].branches);
      EXPECT_EQ(predicted.divergent, counts[i].divergent_branches);
      divergent += predicted.divergent;
    }
  }
  EXPECT_GT(divergent, 100U) << "the cases must hold something to count";
}

}  // namespace
}  // namespace tilescope::observe
