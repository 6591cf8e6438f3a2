// The rungs of the matmul ladder with their launches, for tests of observers.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "kernel_run.hpp"

namespace tilescope::testing {

struct Rung {
  std::string name, source;
  std::vector<std::pair<std::string, std::string>> defines;
  Launch launch;
};

using Defines = std::vector<std::pair<std::string, std::string>>;

/// Launches of n x n x n products with n a multiple of every tile.
inline std::vector<Rung> rungs(std::uint32_t n) {
  const auto square = [&](std::uint32_t w) { return Launch{{n / w, n / w}, {w, w}}; };
  const auto tile = [](int w) { return Defines{{"TILE", std::to_string(w)}}; };
  const Defines tile_1d{{"BM", "64"}, {"BN", "64"}, {"BK", "8"}, {"ROWS", "8"}, {"COLUMNS", "1"}};
  const Defines tile_2d{{"BM", "128"}, {"BN", "128"}, {"BK", "8"}, {"ROWS", "8"}, {"COLUMNS", "8"}};
  const Defines warp_tile{{"BM", "64"},           {"BN", "128"},  {"BK", "16"},
                          {"WM", "32"},           {"WN", "64"},   {"STAGES", "4"},
                          {"BLOCKS_PER_SM", "3"}, {"GROUP", "8"}, {"ACCUMULATE", "0"}};
  const Launch launch_2d{{n / 128, n / 128}, {256}};
  return {
      {"global_accumulator", "02_global_accumulator", {}, square(16)},
      {"exchanged_16", "05_exchanged", {}, square(16)},
      {"exchanged_32", "05_exchanged", {}, square(32)},
      {"register_accumulator_16", "03_register_accumulator", {}, square(16)},
      {"register_accumulator_32", "03_register_accumulator", {}, square(32)},
      {"double_accumulator", "04_double_accumulator", {}, square(16)},
      {"tiled_conflicts_32", "07_tiled_conflicts", tile(32), square(32)},
      {"tiled_transposed_32", "08_tiled_transposed", tile(32), square(32)},
      {"tiled_padded_32", "09_tiled_padded", tile(32), square(32)},
      {"tiled_2", "06_tiled", tile(2), square(2)},
      {"tiled_4", "06_tiled", tile(4), square(4)},
      {"tiled_8", "06_tiled", tile(8), square(8)},
      {"tiled_16", "06_tiled", tile(16), square(16)},
      {"tiled_32", "06_tiled", tile(32), square(32)},
      {"tiled_dynamic", "11_tiled_dynamic", {}, {{n / 32, n / 32}, {32, 32}, 8192}},
      {"corner_turning_32", "12_corner_turning", tile(32), square(32)},
      {"register_tile_1d", "13_register_tile_1d", tile_1d, {{n / 64, n / 64}, {512}}},
      {"register_tile_2d", "14_register_tile_2d", tile_2d, launch_2d},
      {"vector_loads", "15_vector_loads", tile_2d, launch_2d},
      {"double_buffered", "16_double_buffered", tile_2d, launch_2d},
      {"warp_tiles",
       "17_warp_tiles",
       warp_tile,
       {{n / 64 * (n / 128)}, {128}, 4 * 64 * (68 + 128)}},
  };
}

/// Multiplies two matrices of ones and checks an element of the product.
inline void run_rung(const Rung& rung, std::uint32_t n, std::vector<emulator::Observer*> observers,
                     unsigned threads = 2) {
  const std::string folder = TILESCOPE_SOURCE_DIR "/kernels/matmul/";
  compile::Compilation c = compilation(read_text(folder + rung.source + ".cu"), rung.defines);
  for (const char* header : {"async_copy.cuh", "float4.cuh"}) {
    c.headers.emplace_back(header, read_text(folder + header));
  }
  KernelRun run(compile::compile(c));
  run.threads = threads;
  const std::vector<float> ones(std::size_t{n} * n, 1.0f);
  const std::uint64_t a = run.array("A", ones), b = run.array("B", ones),
                      out = run.array("C", ones);
  const auto size = static_cast<std::int32_t>(n);
  const emulator::LaunchSummary summary =
      run.launch(rung.launch, std::move(observers), a, b, out, size, size, size);
  EXPECT_TRUE(summary.complete()) << summary.message;
  EXPECT_EQ(run.fetch<float>(out, 1)[0], static_cast<float>(n)) << rung.name;
}

}  // namespace tilescope::testing
