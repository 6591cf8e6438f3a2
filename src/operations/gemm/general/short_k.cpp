#include "operations/gemm/general/short_k.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "operations/gemm/operands/access_kernels.hpp"
#include "operations/gemm/problem/gemm_constants.hpp"
#include "operations/gemm/problem/time_model.hpp"
#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

// Microseconds on an H200: of a block that has an SM to itself, and for each step of k; of an SM
// for each of its blocks, and for each step of theirs. Fitted to all plans of 410 products
// (docs/results/products_random_h200.md).
struct TimedTile {
  ShortKTile tile;
  double first, of_k;
  double own, own_of_k;
};
constexpr TimedTile timed_tiles[] = {
    {{8, 8, 2, 2, 1, 16, 3}, 1.19, 0.0508, 1.04, 0.0474},
    {{8, 8, 2, 1, 2, 32, 2}, 0.80, 0.0290, 0.82, 0.0243},
    {{4, 8, 4, 1, 1, 16, 3}, 0.16, 0.0366, 0.51, 0.0287},
    {{8, 8, 1, 1, 4, 32, 3}, 0.51, 0.0167, 0.62, 0.0144},
    {{4, 8, 2, 1, 2, 32, 2}, 0.19, 0.0216, 0.36, 0.0159},
    {{4, 4, 2, 1, 4, 32, 4}, 0.00, 0.0115, 0.34, 0.0101},
    {{4, 4, 1, 1, 4, 32, 4}, 0.00, 0.0095, 0.17, 0.0062},
    {{4, 4, 1, 1, 8, 32, 3}, 0.00, 0.0099, 0.29, 0.0064},
};

std::int64_t tiles_of(const GemmProblem& problem, const ShortKTile& tile) {
  return groups_of(problem.shape.m, tile.rows()) * groups_of(problem.shape.n, tile.columns()) *
         problem.batch;
}

// The stages of copies, whose rows have four words more where they are turned, or the sums of all
// slices.
std::size_t shared_bytes(const ShortKTile& tile) {
  constexpr std::size_t word = 4, pad = 4;
  const auto rows = static_cast<std::size_t>(tile.rows());
  const auto columns = static_cast<std::size_t>(tile.columns());
  const std::size_t copies = std::size_t(tile.stages) * tile.depth * (rows + columns + 2 * pad);
  return word * std::max(copies, tile.slices > 1 ? rows * columns * tile.slices : 0);
}

// By the registers of a thread, at most 128, 80 or 64, and by the memory of a block. An activation
// of many instructions takes some more registers.
int blocks_per_sm(const GemmProblem& problem, const ShortKTile& tile,
                  const DeviceProperties& device) {
  const int sums = tile.thread_m * tile.thread_n;
  const bool is_long = problem.activation == Activation::gelu;
  const int threads = sums == 64   ? (is_long ? 384 : 512)
                      : sums == 32 ? (is_long ? 640 : 768)
                                   : (is_long ? 768 : 1024);
  const std::size_t bytes = shared_bytes(tile);
  if (bytes > device.shared_bytes_per_block_optin) return 0;
  return std::min(threads / tile.threads(),
                  static_cast<int>(device.shared_bytes_per_sm /
                                   (bytes + device.reserved_shared_bytes_per_block)));
}

class ShortKRun final : public GemmRun {
 public:
  ShortKRun(Device& device, const GemmProblem& problem, const ShortKPlan& plan)
      : device_(device),
        problem_(problem),
        plan_(plan),
        launch_(flat_launch(tiles_of(problem, plan.tile), plan.tile.threads(),
                            shared_bytes(plan.tile))),
        kernels_(device, problem, [this](const ChunkAccess& access) {
          return short_k_request(problem_, plan_, access);
        }) {
    launch_.overlaps_previous = true;
  }

  void run(const GemmAddresses& addresses, const Stream& stream) override {
    device_.launch(kernels_.of(addresses), launch_, operand_arguments(problem_, addresses), stream);
  }

  std::string note() const override {
    const ShortKTile& tile = plan_.tile;
    return fmt::format("{}x{}{}", tile.rows(), tile.columns(),
                       tile.slices > 1 ? fmt::format(" slices {}", tile.slices) : "");
  }

 private:
  Device& device_;
  GemmProblem problem_;
  ShortKPlan plan_;
  Launch launch_;
  AccessKernels kernels_;
};

double expected_cycles(const GemmProblem& problem, const TimedTile& timed, int blocks_per_sm,
                       const DeviceProperties& device) {
  constexpr double cycles_of_microsecond = 1755.0, launch = 5.73;
  // Where C is added, for each 1,024 elements of a tile: of a block alone, and of the SM.
  constexpr double adding = 0.242, own_adding = 0.061, elements = 1024.0;
  // The additional part of an SM's time where an operand lies along k, and is turned.
  constexpr double turning_a = 0.064, turning_b = 0.104;
  const ShortKTile& tile = timed.tile;
  const double k = double(problem.shape.k);
  const double adds = problem.beta != 0.0 ? tile.rows() * tile.columns() / elements : 0.0;
  const double turns = 1.0 + (problem.a.order == Order::row_major ? turning_a : 0.0) +
                       (problem.b.order == Order::column_major ? turning_b : 0.0);
  const double alone = timed.first + timed.of_k * k + adding * adds;
  const double own = timed.own + timed.own_of_k * k * turns + own_adding * adds;
  // Blocks hide each other's waits, or the SM is what they wait for.
  const auto round = [&](std::int64_t blocks) {
    constexpr double power = 3.0;
    if (blocks == 0) return 0.0;
    return overlapped(alone, double(blocks) * own, power);
  };
  const std::int64_t sms = std::max(1, device.sm_count), at_once = blocks_per_sm;
  const std::int64_t tiles = tiles_of(problem, tile), full = tiles / (at_once * sms);
  const std::int64_t rest = groups_of(tiles % (at_once * sms), sms);
  return cycles_of_microsecond * (launch + double(full) * round(at_once) + round(rest));
}

}  // namespace

std::vector<ShortKPlan> short_k_plan_candidates(const GemmProblem& problem,
                                                const DeviceProperties& device) {
  std::vector<ShortKPlan> plans;
  for (const TimedTile& timed : timed_tiles) {
    const int blocks = blocks_per_sm(problem, timed.tile, device);
    if (blocks == 0) continue;
    plans.push_back({.tile = timed.tile,
                     .blocks_per_sm = blocks,
                     .cycles = expected_cycles(problem, timed, blocks, device)});
  }
  std::stable_sort(plans.begin(), plans.end(), [](const ShortKPlan& one, const ShortKPlan& other) {
    return one.cycles < other.cycles;
  });
  return plans;
}

KernelRequest short_k_request(const GemmProblem& problem, const ShortKPlan& plan,
                              const ChunkAccess& access) {
  KernelRequest request = embedded_request("gemm/short_k.cu");
  request.kernel = "gemm";
  request.defines = epilogue_constants(problem);
  const auto number = [&](std::string_view name, std::int64_t value) {
    request.defines.push_back(define(name, value));
  };
  const ShortKTile& tile = plan.tile;
  number("A_BY_COLUMNS", problem.a.order == Order::column_major);
  number("B_BY_COLUMNS", problem.b.order == Order::column_major);
  number("A_QUADS", access.a == RowsBy::chunks);
  number("B_QUADS", access.b == RowsBy::chunks);
  number("C_QUADS", access.c_quads);
  number("RM", tile.thread_m);
  number("RN", tile.thread_n);
  number("WARPS_DOWN", tile.warps_down);
  number("WARPS_ACROSS", tile.warps_across);
  number("SLICES", tile.slices);
  number("STAGES", tile.stages);
  number("DEPTH", tile.depth);
  number("BLOCKS_PER_SM", plan.blocks_per_sm);
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
  return block_refusal(tiles_of(problem, std::end(timed_tiles)[-1].tile));
}

std::unique_ptr<GemmRun> prepare_short_k(Device& device, const GemmProblem& problem) {
  return prepare_short_k(device, problem,
                         short_k_plan_candidates(problem, device.properties()).front());
}

std::unique_ptr<GemmRun> prepare_short_k(Device& device, const GemmProblem& problem,
                                         const ShortKPlan& plan) {
  return std::make_unique<ShortKRun>(device, problem, plan);
}

}  // namespace tilescope::operations
