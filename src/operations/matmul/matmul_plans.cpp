#include "operations/matmul/matmul_plans.hpp"

#include <fmt/format.h>

#include "gpu/tile_width.hpp"

namespace tilescope::operations {
namespace {

std::uint32_t blocks_over(std::int64_t extent, std::int64_t tile) {
  return static_cast<std::uint32_t>((extent + tile - 1) / tile);
}

std::pair<std::string, std::string> define(const char* name, int value) {
  return {name, fmt::format("{}", value)};
}

// Block tile BM x BN, BK steps a phase; ROWS (x COLUMNS) elements of C a thread.
struct RegisterTile {
  int bm, bn, bk, rows, columns;
  int threads() const { return bm * bn / (rows * columns); }
  MatmulShape granularity() const { return {bm, bn, bk}; }
};
constexpr RegisterTile tile_1d{64, 64, 8, 8, 1};
constexpr RegisterTile tile_2d{128, 128, 8, 8, 8};

MatmulPlan register_plan(const MatmulShape& shape, const RegisterTile& tile) {
  return {.launch = {.grid = {blocks_over(shape.n, tile.bn), blocks_over(shape.m, tile.bm)},
                     .block = {static_cast<std::uint32_t>(tile.threads())}},
          .defines = {define("BM", tile.bm), define("BN", tile.bn), define("BK", tile.bk),
                      define("ROWS", tile.rows), define("COLUMNS", tile.columns)}};
}

// The configuration of 17_warp_tiles; docs/results has the measurements of others.
struct WarpTile {
  int bm = 64, bn = 128, bk = 16, wm = 32, wn = 64, stages = 4, blocks_per_sm = 3, group = 8;

  int threads() const { return 32 * (bm / wm) * (bn / wn); }
  std::size_t tile_bytes() const {
    constexpr int pad = 4;  // as in the kernel
    return sizeof(float) * static_cast<std::size_t>(bk) * static_cast<std::size_t>(bm + pad + bn);
  }
};
constexpr WarpTile warp_tile;

}  // namespace

MatmulShape any_shape(int) {
  return {1, 1, 1};
}
MatmulShape square_tiles(int width) {
  return {width, width, width};
}
MatmulShape register_1d_granularity(int) {
  return tile_1d.granularity();
}
MatmulShape register_2d_granularity(int) {
  return tile_2d.granularity();
}
MatmulShape warp_tiles_granularity(int) {
  return {warp_tile.bm, warp_tile.bn, warp_tile.bk};
}

MatmulPlan one_block(const MatmulShape& shape, int, const DeviceProperties&) {
  return {.launch = {.block = {static_cast<std::uint32_t>(shape.n),
                               static_cast<std::uint32_t>(shape.m)}},
          .defines = {}};
}

MatmulPlan wide_blocks(const MatmulShape& shape, int width, const DeviceProperties&) {
  const auto side = static_cast<std::uint32_t>(width);
  return {.launch = {.grid = {blocks_over(shape.n, width), blocks_over(shape.m, width)},
                     .block = {side, side}},
          .defines = {}};
}

MatmulPlan exchanged_blocks(const MatmulShape& shape, int width, const DeviceProperties& device) {
  MatmulPlan plan = wide_blocks(shape, width, device);
  std::swap(plan.launch.grid.x, plan.launch.grid.y);
  return plan;
}

MatmulPlan tiles(const MatmulShape& shape, int width, const DeviceProperties& device) {
  MatmulPlan plan = wide_blocks(shape, width, device);
  plan.defines = {define("TILE", width)};
  return plan;
}

MatmulPlan exchanged_tiles(const MatmulShape& shape, int width, const DeviceProperties& device) {
  MatmulPlan plan = exchanged_blocks(shape, width, device);
  plan.defines = {define("TILE", width)};
  return plan;
}

MatmulPlan dynamic_tiles(const MatmulShape& shape, int, const DeviceProperties& device) {
  const int width = gpu::best_tile_width(device, shape);
  MatmulPlan plan = wide_blocks(shape, width, device);
  plan.launch.shared_bytes = gpu::tile_shared_bytes(width);
  return plan;
}

MatmulPlan register_1d(const MatmulShape& shape, int, const DeviceProperties&) {
  return register_plan(shape, tile_1d);
}

MatmulPlan register_2d(const MatmulShape& shape, int, const DeviceProperties&) {
  return register_plan(shape, tile_2d);
}

MatmulPlan warp_tiles(const MatmulShape& shape, int, const DeviceProperties&) {
  const WarpTile& t = warp_tile;
  return {.launch = {.grid = {blocks_over(shape.m, t.bm) * blocks_over(shape.n, t.bn)},
                     .block = {static_cast<std::uint32_t>(t.threads())},
                     .shared_bytes = static_cast<std::size_t>(t.stages) * t.tile_bytes()},
          .defines = {define("BM", t.bm), define("BN", t.bn), define("BK", t.bk),
                      define("WM", t.wm), define("WN", t.wn), define("STAGES", t.stages),
                      define("BLOCKS_PER_SM", t.blocks_per_sm), define("GROUP", t.group)}};
}

}  // namespace tilescope::operations
