#include "operations/gemm/general/short_k.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "operations/gemm/operands/access_kernels.hpp"
#include "operations/gemm/problem/gemm_constants.hpp"
#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

// As in the kernel.
constexpr int short_k_warps = 8, short_k_threads = 32 * short_k_warps, lanes = 32;

constexpr ShortKTile short_k_tiles[] = {{64, 128}, {64, 64}, {32, 64}, {32, 32}};

std::int64_t tiles_of(const GemmProblem& problem, const ShortKTile& tile) {
  return groups_of(problem.shape.m, tile.rows) * groups_of(problem.shape.n, tile.columns) *
         problem.batch;
}

class ShortKRun final : public GemmRun {
 public:
  ShortKRun(Device& device, const GemmProblem& problem)
      : device_(device),
        problem_(problem),
        launch_(flat_launch(tiles_of(problem, short_k_tile(problem, device.properties())),
                            short_k_threads)),
        kernels_(device, problem, [this](const ChunkAccess& access) {
          return short_k_request(problem_, device_.properties(), access);
        }) {}

  void run(const GemmAddresses& addresses, const Stream& stream) override {
    device_.launch(kernels_.of(addresses), launch_, operand_arguments(problem_, addresses), stream);
  }

 private:
  Device& device_;
  GemmProblem problem_;
  Launch launch_;
  AccessKernels kernels_;
};

}  // namespace

ShortKTile short_k_tile(const GemmProblem& problem, const DeviceProperties& device) {
  for (const ShortKTile& tile : short_k_tiles) {
    if (tiles_of(problem, tile) >= device.sm_count) return tile;
  }
  return std::end(short_k_tiles)[-1];
}

KernelRequest short_k_request(const GemmProblem& problem, const DeviceProperties& device,
                              const ChunkAccess& access) {
  KernelRequest request = embedded_request("gemm/short_k.cu");
  request.kernel = "gemm";
  request.defines = epilogue_constants(problem);
  const ShortKTile tile = short_k_tile(problem, device);
  constexpr int least_for_quads = 64;  // rows or columns, for each thread to load one
  const auto number = [&](std::string_view name, std::int64_t value) {
    request.defines.push_back(define(name, value));
  };
  number("A_BY_COLUMNS", problem.a.order == Order::column_major);
  number("B_BY_COLUMNS", problem.b.order == Order::column_major);
  number("A_QUADS", tile.rows >= least_for_quads && access.a == RowsBy::chunks);
  number("B_QUADS", tile.columns >= least_for_quads && access.b == RowsBy::chunks);
  number("ROWS", tile.rows / short_k_warps);
  number("ACROSS", tile.columns / lanes);
  return request;
}

std::optional<std::string> short_k_refusal(const GemmProblem& problem, const DeviceProperties&) {
  if (problem.precision != Precision::fp32) return "short_k computes fp32";
  for (const GemmOperand* operand : {&problem.a, &problem.b, &problem.c}) {
    if (operand->type != DataType::float32) return "all matrices must be float32";
  }
  constexpr std::int64_t most_apart = std::int64_t{1} << 24;  // the kernel's offsets of rows
  if (std::max(problem.a.leading, problem.b.leading) > most_apart) {
    return fmt::format("rows more than {} elements apart", most_apart);
  }
  if (auto why = extent_refusal(problem)) return why;
  return block_refusal(tiles_of(problem, std::end(short_k_tiles)[-1]));
}

bool short_k_pays(const GemmProblem& problem, const DeviceProperties& device) {
  // Up to these steps it was faster than ffma_tiles on an H200
  // (docs/results/products_random_h200.md): where the copy engine takes an operand, and where
  // words would be copied one by one.
  constexpr std::int64_t beside_boxes = 24, beside_words = 72, of_small_c = 128, adding_c = 136;
  const ChunkAccess access = chunk_access(problem, {});
  // ffma_tiles copies an operand that lies along k word by word, whatever its rows begin with.
  const bool lie_along_k =
      problem.a.order == Order::row_major && problem.b.order == Order::column_major;
  const bool has_boxes = access.a == RowsBy::chunks && access.b == RowsBy::chunks && !lie_along_k;
  const bool is_small = tiles_of(problem, short_k_tiles[0]) < device.sm_count;
  const std::int64_t k = problem.shape.k;
  if (device.compute_major != 9) return false;  // not measured
  if (has_boxes) return k <= (is_small ? beside_words : beside_boxes);
  return k <= (problem.beta != 0.0 ? adding_c : is_small ? of_small_c : beside_words);
}

std::unique_ptr<GemmRun> prepare_short_k(Device& device, const GemmProblem& problem) {
  return std::make_unique<ShortKRun>(device, problem);
}

}  // namespace tilescope::operations
