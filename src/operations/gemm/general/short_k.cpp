#include "operations/gemm/general/short_k.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "operations/gemm/general/short_k_network.hpp"
#include "operations/gemm/operands/access_kernels.hpp"
#include "operations/gemm/operands/split_reduction.hpp"
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
// of many instructions takes some more registers, and so do elements on their way.
int blocks_per_sm(const GemmProblem& problem, const ShortKTile& tile,
                  const DeviceProperties& device) {
  const int sums = tile.thread_m * tile.thread_n;
  const bool is_long = problem.activation == Activation::gelu;
  const bool is_narrow = size_of(problem.a.type) == 2;
  const bool has_more = is_long || problem.beta != 0.0 || problem.has_bias;
  const int threads = is_narrow    ? (sums == 32 || has_more ? 512 : 768)
                      : sums == 64 ? (is_long ? 384 : 512)
                      : sums == 32 ? (is_long ? 640 : 768)
                                   : (is_long ? 768 : 1024);
  const std::size_t bytes = shared_bytes(tile);
  if (bytes > device.shared_bytes_per_block_optin) return 0;
  return std::min(threads / tile.threads(),
                  static_cast<int>(device.shared_bytes_per_sm /
                                   (bytes + device.reserved_shared_bytes_per_block)));
}

// Whether its extents were measured, or it may be a part of a product whose extents were.
bool is_part_of_measured(GemmProblem problem) {
  problem.shape.m = std::max(problem.shape.m, least_measured);
  problem.shape.n = std::max(problem.shape.n, least_measured);
  return has_measured_extents(problem);
}

// The parts into which k may be cut: of several stages each, and no more than keep the SMs busy.
// Those of other products than in fp32, and of larger ones, were not measured.
std::int64_t most_short_k_parts(const GemmProblem& problem, const ShortKPlan& plan,
                                const DeviceProperties& device) {
  constexpr std::int64_t least_stages = 4, rounds = 2;
  const bool is_measured = problem.precision == Precision::fp32 && is_part_of_measured(problem);
  if (!is_measured || size_refusal(problem)) return 1;
  const std::int64_t slots = std::int64_t{device.sm_count} * plan.blocks_per_sm;
  const std::int64_t useful = rounds * slots / tiles_of(problem, plan.tile);
  const std::int64_t stages = groups_of(problem.shape.k, plan.tile.depth);
  return std::max<std::int64_t>(1, std::min(stages / least_stages, useful));
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
    launch_.grid.y = static_cast<std::uint32_t>(plan.splits);
    launch_.overlaps_previous = true;
    if (plan.splits > 1) {
      reduction_ = std::make_unique<SplitReduction>(device, problem, plan.splits);
    }
  }

  void run(const GemmAddresses& addresses, const Stream& stream) override {
    KernelArguments arguments = operand_arguments(problem_, addresses);
    push_parts(arguments, reduction_.get(), plan_.k_of_part);
    device_.launch(kernels_.of(addresses), launch_, arguments, stream);
    if (reduction_) reduction_->run(addresses, stream);
  }

  std::string note() const override {
    const ShortKTile& tile = plan_.tile;
    return fmt::format("{}x{}{}{}", tile.rows(), tile.columns(),
                       tile.slices > 1 ? fmt::format(" slices {}", tile.slices) : "",
                       plan_.splits > 1 ? fmt::format(" split {}", plan_.splits) : "");
  }

 private:
  Device& device_;
  GemmProblem problem_;
  ShortKPlan plan_;
  Launch launch_;
  AccessKernels kernels_;
  std::unique_ptr<SplitReduction> reduction_;
};

}  // namespace

std::vector<ShortKPlan> short_k_plan_candidates(const GemmProblem& problem,
                                                const DeviceProperties& device) {
  std::vector<ShortKPlan> plans;
  for (const ShortKTile& tile : short_k_tiles(problem.precision)) {
    ShortKPlan plan{.tile = tile, .blocks_per_sm = blocks_per_sm(problem, tile, device)};
    if (plan.blocks_per_sm == 0) continue;
    const std::int64_t stages = groups_of(problem.shape.k, tile.depth);
    const std::int64_t most = most_short_k_parts(problem, plan, device);
    // Large numbers of parts differ little from their neighbours.
    for (std::int64_t splits = 1; splits <= most; splits += 1 + splits / 4) {
      plan.k_of_part = groups_of(stages, splits) * tile.depth;
      plan.splits = static_cast<int>(groups_of(problem.shape.k, plan.k_of_part));
      if (plan.splits != splits) continue;  // fewer parts are as long
      plan.cycles = expected_time(problem, plan, device.sm_count).cycles;
      plans.push_back(plan);
    }
  }
  std::stable_sort(plans.begin(), plans.end(), [](const ShortKPlan& one, const ShortKPlan& other) {
    return one.cycles < other.cycles;
  });
  if (!has_measured_extents(problem)) {
    // Fewer rows or columns than were measured take parts of k as a part of a larger product, for
    // the same bits; a whole product takes none.
    std::stable_partition(plans.begin(), plans.end(),
                          [](const ShortKPlan& plan) { return plan.splits == 1; });
    return plans;
  }
  if (device.compute_major != 9 || problem.precision != Precision::fp32) return plans;
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
  const bool is_split = plan.splits > 1;
  GemmProblem alone = problem;  // the sums of a part: C's epilogue is the second kernel's
  if (is_split) {
    alone.beta = 0.0;
    alone.has_bias = false;
    alone.activation = Activation::none;
  }
  request.defines = epilogue_constants(alone);
  const auto number = [&](std::string_view name, std::int64_t value) {
    request.defines.push_back(define(name, value));
  };
  request.defines.emplace_back("ELEMENT", name_of(problem.a.type));
  request.defines.emplace_back("OPERAND", operand_kind(problem.precision));
  const ShortKTile& tile = plan.tile;
  number("A_BY_COLUMNS", problem.a.order == Order::column_major);
  number("B_BY_COLUMNS", problem.b.order == Order::column_major);
  number("A_QUADS", access.a == RowsBy::chunks);
  number("B_QUADS", access.b == RowsBy::chunks);
  const bool has_words = size_of(problem.c.type) == sizeof(float);
  number("C_QUADS", (access.c_quads && has_words) || is_split);  // rows of sums are whole chunks
  number("RM", tile.thread_m);
  number("RN", tile.thread_n);
  number("WARPS_DOWN", tile.warps_down);
  number("WARPS_ACROSS", tile.warps_across);
  number("SLICES", tile.slices);
  number("STAGES", tile.stages);
  number("DEPTH", tile.depth);
  number("BLOCKS_PER_SM", plan.blocks_per_sm);
  number("SPLIT", is_split);
  return request;
}

std::optional<std::string> short_k_refusal(const GemmProblem& problem, const DeviceProperties&) {
  switch (problem.precision) {
    case Precision::fp32:
    case Precision::tf32:
    case Precision::bf16:
    case Precision::fp16:
      break;
    default:
      return fmt::format("short_k does not compute {}", name_of(problem.precision));
  }
  if (auto why = type_refusal(problem)) return why;
  if (!is_floating(problem.c.type) || size_of(problem.c.type) > sizeof(float)) {
    return fmt::format("C is {}", name_of(problem.c.type));
  }
  const bool has_words = operand_type(problem.precision) == DataType::float32;
  if (has_words && problem.c.type != DataType::float32) return "all matrices must be float32";
  constexpr std::int64_t most_apart = std::int64_t{1} << 24;  // the kernel's offsets of rows
  if (std::max({problem.a.leading, problem.b.leading, problem.c.leading}) > most_apart) {
    return fmt::format("rows more than {} elements apart", most_apart);
  }
  if (auto why = extent_refusal(problem)) return why;
  return block_refusal(tiles_of(problem, short_k_tiles(problem.precision).back()));
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
