// Whole kernels that nvcc compiled (tests/data/emulator/kernels.cu), against the host's results.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/half.hpp"
#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

class Kernels : public ::testing::Test {
 protected:
  Bench bench{data_file("kernels.ptx")};

  template <class... T>
  void run(std::string_view kernel, Dim3 grid, Dim3 block, const T&... arguments) {
    run_with({}, kernel, grid, block, arguments...);
  }
  template <class... T>
  void run_with(const LaunchOptions& options, std::string_view kernel, Dim3 grid, Dim3 block,
                const T&... arguments) {
    summary = bench.run(kernel, grid, block, options, arguments...);
    EXPECT_TRUE(summary.complete()) << summary.message;
    for (const FaultRecord& fault : summary.faults) ADD_FAILURE() << fault.text;
  }
  LaunchSummary summary;
};

std::vector<int> iota(std::size_t n, int first = 0) {
  std::vector<int> v(n);
  std::iota(v.begin(), v.end(), first);
  return v;
}

TEST_F(Kernels, TiledProductOfAnySize) {
  for (const int n : {1, 16, 33, 64, 100}) {
    const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    std::vector<float> a(size), b(size);
    for (std::size_t i = 0; i < size; ++i) {
      a[i] = static_cast<float>(static_cast<int>(i * 7 % 13) - 6);
      b[i] = static_cast<float>(static_cast<int>(i * 5 % 11) - 5);
    }
    const auto da = bench.upload(a, "a"), db = bench.upload(b, "b");
    const auto dc = bench.machine.allocate(size * 4, "c");
    const auto blocks = static_cast<std::uint32_t>((n + 15) / 16);
    run("tiled_matmul", {blocks, blocks}, {16, 16}, da, db, dc, n);
    const auto c = bench.download<float>(dc, size);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int k = 0; k < n; ++k) {
          sum += static_cast<double>(a[static_cast<std::size_t>(i * n + k)]) *
                 static_cast<double>(b[static_cast<std::size_t>(k * n + j)]);
        }
        ASSERT_EQ(static_cast<double>(c[static_cast<std::size_t>(i * n + j)]), sum) << n << i << j;
      }
    }
  }
}

TEST_F(Kernels, SumsWithShufflesAndAtomics) {
  std::vector<float> x(10007);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17);
  const auto dx = bench.upload(x, "x"), out = bench.upload(std::vector<float>{0}, "out");
  run("sum_floats", {7}, {256}, dx, out, static_cast<int>(x.size()));
  EXPECT_EQ(bench.download<float>(out, 1)[0], std::accumulate(x.begin(), x.end(), 0.0f));
}

TEST_F(Kernels, HistogramIsTheSameForAnyNumberOfThreads) {
  std::vector<unsigned char> data(20000);
  std::vector<unsigned> want(256, 0);
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<unsigned char>(i * i % 251);
    ++want[data[i]];
  }
  const auto dx = bench.upload(data, "data");
  for (const unsigned threads : {1u, 2u, 5u}) {
    const auto bins = bench.upload(std::vector<unsigned>(256, 0), "bins");
    run_with({.threads = threads}, "histogram", {13}, {128}, dx, bins,
             static_cast<int>(data.size()));
    EXPECT_EQ(summary.threads, threads);
    EXPECT_EQ(bench.download<unsigned>(bins, 256), want);
  }
}

TEST_F(Kernels, DivergentLoops) {
  std::vector<unsigned> start(300);
  for (std::size_t i = 0; i < start.size(); ++i) start[i] = static_cast<unsigned>(i + 1);
  const auto ds = bench.upload(start, "start");
  const auto steps = bench.machine.allocate(300 * 4, "steps");
  run("collatz", {3}, {128}, ds, steps, 300);
  const auto got = bench.download<unsigned>(steps, 300);
  for (std::size_t i = 0; i < 300; ++i) {
    unsigned count = 0;
    for (std::uint64_t v = i + 1; v != 1; ++count) v = v % 2 == 0 ? v / 2 : 3 * v + 1;
    EXPECT_EQ(got[i], count) << i;
  }
}

TEST_F(Kernels, Recursion) {
  const auto x = bench.upload(iota(20), "x");
  run("recursion", {1}, {20}, x);
  const auto got = bench.download<int>(x, 20);
  int a = 0, b = 1;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(got[static_cast<std::size_t>(i)], a);
    a = std::exchange(b, a + b);
  }
}

TEST_F(Kernels, EndlessRecursionIsAnError) {
  const auto x = bench.upload(std::vector<int>{0}, "x");
  const LaunchSummary result = bench.run("endless_recursion", {1}, {1}, {}, x);
  EXPECT_EQ(result.end, LaunchEnd::trapped);
  EXPECT_THAT(result.message, ::testing::HasSubstr("nested too deep"));
}

TEST_F(Kernels, CallsThroughPointers) {
  std::vector<int> which(64);
  for (std::size_t i = 0; i < 64; ++i) which[i] = static_cast<int>(i * i % 3);
  const auto dw = bench.upload(which, "which"), x = bench.upload(iota(64), "x");
  run("through_pointers", {1}, {64}, dw, x);
  const auto got = bench.download<int>(x, 64);
  for (int i = 0; i < 64; ++i) {
    const int w = which[static_cast<std::size_t>(i)];
    EXPECT_EQ(got[static_cast<std::size_t>(i)], w == 0 ? i + 3 : w == 1 ? i - 3 : i * 3);
  }
}

TEST_F(Kernels, LocalConstantAndDynamicSharedMemory) {
  const auto x = bench.upload(iota(40), "x");
  run("local_array", {1}, {40}, x, 5);
  auto got = bench.download<int>(x, 40);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], (i & 15) * (i & 15) + 5);

  const auto f = bench.upload(std::vector<float>(16, 2.0f), "f");
  run("constants", {1}, {16}, f);
  const auto scaled = bench.download<float>(f, 16);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(scaled[static_cast<std::size_t>(i)], 2.0f * static_cast<float>(i % 8 + 1));
  }

  const auto in = bench.upload(iota(100), "in"), out = bench.machine.allocate(400, "out");
  const auto result =
      bench.machine.launch(*bench.module, "dynamic_shared", {1}, {100}, 400, pack(in, out), {});
  EXPECT_TRUE(result.complete() && result.fault_count == 0);
  got = bench.download<int>(out, 100);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], 99 - i);
}

TEST_F(Kernels, Switch) {
  std::vector<int> values(64);
  for (std::size_t i = 0; i < 64; ++i) values[i] = static_cast<int>(i % 9);
  const auto x = bench.upload(values, "x");
  run("many_ways", {1}, {64}, x);
  const auto got = bench.download<int>(x, 64);
  for (int i = 0; i < 64; ++i) {
    const int want[] = {10, i * 3, i - 7, i / 3, i % 3, -i, i << 2, 99, 99};
    EXPECT_EQ(got[static_cast<std::size_t>(i)], want[i % 9]) << i;
  }
}

TEST_F(Kernels, LocksWithinAWarpAndBetweenBlocks) {
  const auto counter = bench.upload(std::vector<int>{0}, "counter");
  run("spin_lock", {3}, {64}, counter, 3);
  EXPECT_EQ(bench.download<int>(counter, 1)[0], 3 * 64 * 3);
}

TEST_F(Kernels, TheLastBlockSeesTheOthers) {
  const auto x = bench.upload(iota(50 * 64), "x");
  const auto partial = bench.machine.allocate(50 * 4, "partial"),
             total = bench.machine.allocate(4, "total");
  run("last_block_sums", {50}, {64}, x, partial, total);
  EXPECT_EQ(bench.download<int>(total, 1)[0], 3200 * 3199 / 2);
}

TEST_F(Kernels, ABlockMayWaitForALaterOne) {
  for (const unsigned threads : {1u, 2u}) {
    const auto flag = bench.upload(std::vector<int>{0}, "flag");
    const auto out = bench.upload(std::vector<int>{0, 0}, "out");
    run_with({.threads = threads}, "wait_for_flag", {40}, {32}, flag, out);
    EXPECT_EQ(bench.download<int>(out, 2)[0], 43);
  }
}

TEST_F(Kernels, GridWideSynchronisation) {
  const int blocks = 20, width = 64, n = blocks * width, steps = 5;
  std::vector<int> x(2 * n, 0);
  for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = i * i % 1009;
  std::vector<int> want(x.begin(), x.begin() + n);
  for (int s = 0; s < steps; ++s) {
    std::rotate(want.begin(), want.begin() + 1, want.end());
    for (int& v : want) ++v;
  }
  const auto dx = bench.upload(x, "x");
  run_with({.cooperative = true}, "grid_steps", {blocks}, {width}, dx, steps);
  const auto got = bench.download<int>(dx, 2 * n);
  EXPECT_TRUE(std::equal(want.begin(), want.end(), got.begin() + (steps % 2) * n));
}

TEST_F(Kernels, CooperativeGroupsInAWarp) {
  const auto x = bench.upload(iota(64), "x");
  run("tiles_of_threads", {1}, {64}, x);
  const auto got = bench.download<int>(x, 64);
  for (int i = 0; i < 64; ++i) {
    const int first = i / 8 * 8;
    EXPECT_EQ(got[static_cast<std::size_t>(i)], 8 * first + 28 + (first == 16 ? 1000 : 0));
  }
  std::vector<int> values(500);
  for (int i = 0; i < 500; ++i) values[static_cast<std::size_t>(i)] = i % 3 == 0 ? i : -i;
  const auto in = bench.upload(values, "x"), out = bench.machine.allocate(2000, "out");
  const auto count = bench.upload(std::vector<int>{0}, "count");
  run("compact", {4}, {128}, in, out, count, 500);
  const int found = bench.download<int>(count, 1)[0];
  std::vector<int> want;
  std::copy_if(values.begin(), values.end(), std::back_inserter(want), [](int v) { return v > 0; });
  ASSERT_EQ(static_cast<std::size_t>(found), want.size());
  EXPECT_EQ(bench.download<int>(out, want.size()), want);  // blocks run in order
}

TEST_F(Kernels, PrintedTextComesInBlockOrder) {
  std::string text;
  run_with({.threads = 4, .print = [&](std::string_view piece) { text += piece; }}, "say", {3},
           {64}, 2);
  std::string want;
  for (int b = 0; b < 3; ++b) {
    for (int t = 0; t < 2; ++t) {
      want += "block " + std::to_string(b) + " thread " + std::to_string(t) + ": " +
              (t == 0 ? " 0.00" : " 1.50") + " text x 123456789abc %\n";
    }
  }
  EXPECT_EQ(text, want);
}

TEST_F(Kernels, AssertionsAndTrapsNameTheirThread) {
  std::vector<int> x(64, 1);
  x[37] = 0;
  const auto dx = bench.upload(x, "x");
  LaunchSummary result = bench.run("check_positive", {1}, {64}, {}, dx);
  EXPECT_EQ(result.end, LaunchEnd::trapped);
  EXPECT_THAT(result.message, ::testing::HasSubstr("x[threadIdx.x] > 0"));
  EXPECT_THAT(result.message, ::testing::HasSubstr("block (0,0,0), thread (37,0,0)"));
  result = bench.run("give_up", {2}, {32}, {.threads = 1});
  EXPECT_EQ(result.end, LaunchEnd::trapped);
  EXPECT_THAT(result.message, ::testing::HasSubstr("kernels.cu:"));
  EXPECT_THAT(result.message, ::testing::HasSubstr("thread (5,0,0)"));
}

TEST_F(Kernels, TheHeap) {
  const auto x = bench.upload(std::vector<int>(64, -1), "x");
  run("from_heap", {2}, {32}, x);
  const auto got = bench.download<int>(x, 32);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], 4 * i + 6);
}

TEST_F(Kernels, HalfPrecision) {
  std::vector<std::uint16_t> x(64), y(64);
  for (std::size_t i = 0; i < 64; ++i) {
    x[i] = float32_to_float16(static_cast<float>(i) * 0.25f);
    y[i] = float32_to_float16(static_cast<float>(i) - 20.0f);
  }
  const auto dx = bench.upload(x, "x"), dy = bench.upload(y, "y");
  run("half_axpy", {1}, {32}, dx, dy, 3.0f);
  const auto got = bench.download<std::uint16_t>(dy, 64);
  for (std::size_t i = 0; i < 64; ++i) {
    const double exact = static_cast<double>(i) * 0.75 + static_cast<double>(i) - 20.0;
    EXPECT_EQ(got[i], float64_to_float16(exact)) << i;
  }
  for (auto& v : x) v = float32_to_bfloat16(float16_to_float32(v));
  const auto db = bench.upload(x, "b");
  run("bfloat_scale", {1}, {64}, db, 1.5f);
  const auto scaled = bench.download<std::uint16_t>(db, 64);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(scaled[i], float64_to_bfloat16(1.5 * static_cast<double>(bfloat16_to_float32(x[i]))));
  }
}

TEST_F(Kernels, MatrixInstructions) {
  std::vector<std::uint16_t> a(256), b(256);
  const auto value_a = [](int i) { return static_cast<float>(i * 7 % 23 - 11); };
  const auto value_b = [](int i) { return static_cast<float>(i * 5 % 19 - 9); };
  for (int i = 0; i < 256; ++i) {
    a[static_cast<std::size_t>(i)] = float32_to_float16(value_a(i));
    b[static_cast<std::size_t>(i)] = float32_to_float16(value_b(i));
  }
  const auto da = bench.upload(a, "a"), db = bench.upload(b, "b"),
             dc = bench.machine.allocate(1024, "c");
  // b holds the columns of B one after the other.
  const auto product = [&](int i, int j) {
    float sum = 0;
    for (int k = 0; k < 16; ++k) sum += value_a(i * 16 + k) * value_b(j * 16 + k);
    return sum;
  };
  run("wmma_product", {1}, {32}, da, db, dc);
  auto c = bench.download<float>(dc, 256);
  for (int i = 0; i < 256; ++i)
    EXPECT_EQ(c[static_cast<std::size_t>(i)], product(i / 16, i % 16) + 1);
  run("mma_product", {1}, {32}, da, db, dc);
  c = bench.download<float>(dc, 128);
  for (int i = 0; i < 128; ++i)
    EXPECT_EQ(c[static_cast<std::size_t>(i)], product(i / 8, i % 8)) << i;
}

TEST_F(Kernels, AsynchronousCopies) {
  std::vector<float> x(512);
  std::iota(x.begin(), x.end(), 1.0f);
  const auto dx = bench.upload(x, "x"), dy = bench.machine.allocate(2048, "y");
  run("async_copy", {1}, {64}, dx, dy);
  const auto y = bench.download<float>(dy, 512);
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t e = 0; e < 4; ++e) {
      EXPECT_EQ(y[i * 4 + e], x[(63 - i) * 4 + e]);
      EXPECT_EQ(y[256 + i * 4 + e], e < 3 ? x[256 + (63 - i) * 4 + e] : 0.0f);
    }
  }
}

TEST_F(Kernels, Votes) {
  std::vector<int> x(64);
  for (std::size_t i = 0; i < 64; ++i) x[i] = static_cast<int>(i * 3 % 8);
  const auto dx = bench.upload(x, "x"), out = bench.machine.allocate(6 * 64 * 4, "out");
  run("votes", {1}, {64}, dx, out);
  const auto got = bench.download<unsigned>(out, 6 * 64);
  for (std::size_t i = 0; i < 64; ++i) {
    unsigned ballot = 0, same = 0, even = 0, most = 0, ones = 0;
    for (std::size_t l = 0; l < 32; ++l) {
      const int v = x[i / 32 * 32 + l];
      ballot |= unsigned{v > 2} << l;
      same |= unsigned{v == x[i]} << l;
      even |= unsigned{v % 2 == 0} << l;
      most = std::max(most, static_cast<unsigned>(v));
    }
    for (const int v : x) ones += v == 1 ? 1 : 0;
    EXPECT_EQ(got[i], ballot);
    EXPECT_EQ(got[64 + i], 3u);
    EXPECT_EQ(got[128 + i], same);
    EXPECT_EQ(got[192 + i], most);
    EXPECT_EQ(got[256 + i], ones);
    EXPECT_EQ(got[320 + i], x[i] % 2 == 0 ? even : 0);
  }
}

}  // namespace
}  // namespace tilescope::emulator::test
