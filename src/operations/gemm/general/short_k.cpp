#include "operations/gemm/general/short_k.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "operations/gemm/general/short_k_network.hpp"
#include "operations/gemm/operands/access_kernels.hpp"
#include "operations/gemm/problem/gemm_constants.hpp"
#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

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

}  // namespace

std::vector<ShortKPlan> short_k_plan_candidates(const GemmProblem& problem,
                                                const DeviceProperties& device) {
  std::vector<ShortKPlan> plans;
  for (const ShortKTile& tile : short_k_tiles()) {
    ShortKPlan plan{.tile = tile, .blocks_per_sm = blocks_per_sm(problem, tile, device)};
    if (plan.blocks_per_sm == 0) continue;
    plan.cycles = expected_time(problem, plan, device.sm_count).cycles;
    plans.push_back(plan);
  }
  std::stable_sort(plans.begin(), plans.end(), [](const ShortKPlan& one, const ShortKPlan& other) {
    return one.cycles < other.cycles;
  });
  if (device.compute_major != 9 || !has_measured_extents(problem)) return plans;
  rank_first_again(plans, 0.0, [&](const ShortKPlan& plan) {
    return short_k_network.measured_over_expected(
        timed_features(problem, plan, device.sm_count).features);
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
  return block_refusal(tiles_of(problem, short_k_tiles().back()));
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
