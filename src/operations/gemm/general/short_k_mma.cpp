#include "operations/gemm/general/short_k_mma.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "operations/gemm/general/mma_instruction.hpp"
#include "operations/gemm/general/short_k_mma_network.hpp"
#include "operations/gemm/general/short_k_mma_time.hpp"
#include "operations/gemm/operands/access_kernels.hpp"
#include "operations/gemm/problem/gemm_constants.hpp"
#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

// Shared memory has room for rows that begin anywhere, wherever they begin.
constexpr ChunkAccess anywhere{RowsBy::elements, RowsBy::elements, false};

// The stages, or the kernel's BlockStore if that is more, and what C holds.
std::size_t shared_bytes(const GemmProblem& problem, const MmaSyncPlan& plan) {
  constexpr std::size_t sum_bytes = 4, pad = 8, chunk = 16;
  const auto rows = static_cast<std::size_t>(plan.tile.rows);
  const auto columns = static_cast<std::size_t>(plan.tile.columns);
  const std::size_t of_c = size_of(problem.c.type);
  const std::size_t biases = problem.has_bias && !problem.bias_per_row ? chunk / of_c : 1;
  const std::size_t stages = static_cast<std::size_t>(plan.stages) *
                             mma_stage_bytes(problem, anywhere, plan.tile, plan.depth_bytes);
  const std::size_t old = problem.beta != 0.0 ? rows * columns * of_c : 0;
  return std::max(stages, sum_bytes * (columns + pad) * (rows + biases)) + old;
}

class ShortKMmaRun final : public GemmRun {
 public:
  ShortKMmaRun(Device& device, const GemmProblem& problem, const MmaSyncPlan& plan)
      : device_(device),
        problem_(problem),
        plan_(plan),
        launch_(flat_launch(mma_tiles_of_c(problem, plan.tile), plan.tile.threads(),
                            shared_bytes(problem, plan))),
        kernels_(device, problem, [this](const ChunkAccess& access) {
          return short_k_mma_request(problem_, device_.properties(), plan_, access);
        }) {
    launch_.overlaps_previous = true;
  }

  void run(const GemmAddresses& addresses, const Stream& stream) override {
    KernelArguments arguments = operand_arguments(problem_, addresses);
    arguments.push(by_tiles_);
    arguments.push(by_tiles_across_);
    device_.launch(kernels_.of(addresses), launch_, arguments, stream);
  }

  std::string note() const override {
    return fmt::format("{}x{}, {} of {} bytes of k", plan_.tile.rows, plan_.tile.columns,
                       plan_.stages, plan_.depth_bytes);
  }

 private:
  Device& device_;
  GemmProblem problem_;
  MmaSyncPlan plan_;
  Divisor by_tiles_across_ = divisor_of(groups_of(problem_.shape.n, plan_.tile.columns));
  Divisor by_tiles_ = divisor_of(groups_of(problem_.shape.n, plan_.tile.columns) *
                                 groups_of(problem_.shape.m, plan_.tile.rows));
  Launch launch_;
  AccessKernels kernels_;
};

// As many blocks as an SM holds.
int blocks_per_sm(const GemmProblem& problem, const MmaSyncPlan& plan,
                  const DeviceProperties& device) {
  // By the registers of a thread: at most 80, or 128 where C is added or stages alternate.
  const int warps = problem.beta != 0.0 || plan.stages > 1 ? 16 : 24;
  const std::size_t bytes = shared_bytes(problem, plan);
  if (bytes > device.shared_bytes_per_block_optin) return 0;
  return std::min(warps * 32 / plan.tile.threads(),
                  static_cast<int>(device.shared_bytes_per_sm /
                                   (bytes + device.reserved_shared_bytes_per_block)));
}

}  // namespace

std::vector<MmaSyncPlan> short_k_mma_plan_candidates(const GemmProblem& problem,
                                                     const DeviceProperties& device) {
  constexpr int least_depth = 64, depth_of_two = 128;
  const std::int64_t k_bytes = problem.shape.k * std::int64_t(size_of(problem.a.type));
  std::vector<MmaSyncPlan> plans;
  for (const ShortKMmaTile& tile : short_k_mma_tiles()) {
    int depth_bytes = least_depth;
    while (depth_bytes < k_bytes && depth_bytes < tile.longest_bytes) depth_bytes *= 2;
    const bool is_whole = depth_bytes >= k_bytes;
    MmaSyncPlan plan{.tile = {.rows = tile.rows,
                              .columns = tile.columns,
                              .warp_rows = tile.warp_rows,
                              .warp_columns = tile.warp_columns},
                     .depth_bytes = is_whole ? depth_bytes : depth_of_two,
                     .stages = is_whole ? 1 : 2};
    if (!mma_copies_share_rows(problem, plan.tile, plan.depth_bytes)) continue;
    plan.tile.blocks_per_sm = blocks_per_sm(problem, plan, device);
    if (plan.tile.blocks_per_sm == 0) continue;
    plan.cycles = expected_time(problem, plan, device.sm_count).cycles;
    plans.push_back(plan);
  }
  std::stable_sort(
      plans.begin(), plans.end(),
      [](const MmaSyncPlan& one, const MmaSyncPlan& other) { return one.cycles < other.cycles; });
  const ShortKMmaNetwork* network = short_k_mma_network_for(problem);
  if (device.compute_major == 9 && network != nullptr) {
    rank_first_again(plans, 0.0, [&](const MmaSyncPlan& plan) {
      return network->measured_over_expected(
          timed_features(problem, plan, device.sm_count).features);
    });
  }
  // The kernel has fewer instructions than when model and network were fitted: 120 products lose
  // least beside other kernels with this share of the time until an SM's first tile is stored
  // (docs/results/products_random_h200.md).
  constexpr double of_fitted = 0.93;
  for (MmaSyncPlan& plan : plans) {
    const ShortKMmaTime time = expected_time(problem, plan, device.sm_count);
    plan.cycles *= 1.0 - (1.0 - of_fitted) * time.first / time.cycles;
  }
  return plans;
}

KernelRequest short_k_mma_request(const GemmProblem& problem, const DeviceProperties& device,
                                  const MmaSyncPlan& plan, const ChunkAccess& access) {
  KernelRequest request = embedded_request("gemm/short_k_mma.cu");
  request.kernel = "gemm";
  request.defines = mma_sync_constants(problem, device, plan);
  const auto number = [&](std::string_view name, std::int64_t value) {
    request.defines.push_back(define(name, value));
  };
  number("A_BY_COLUMNS", problem.a.order == Order::column_major);
  number("B_BY_COLUMNS", problem.b.order == Order::column_major);
  number("A_ROWS_BY", static_cast<int>(access.a));
  number("B_ROWS_BY", static_cast<int>(access.b));
  return request;
}

std::optional<std::string> short_k_mma_refusal(const GemmProblem& problem,
                                               const DeviceProperties& device) {
  if (auto why = mma_sync_refusal(problem, device)) return why;
  if (size_of(problem.a.type) == 1) return "operands of 8 bits";
  if (short_k_mma_plan_candidates(problem, device).empty())
    return "no tile fits into shared memory";
  return std::nullopt;
}

bool short_k_mma_may_pay(const GemmProblem& problem, const DeviceProperties& device) {
  const ChunkAccess access = chunk_access(problem, {});
  return device.compute_major == 9 &&
         (access.a == RowsBy::elements || access.b == RowsBy::elements);
}

bool short_k_mma_pays(const GemmProblem& problem, const DeviceProperties& device) {
  if (!short_k_mma_may_pay(problem, device)) return false;
  const MatmulShape& s = problem.shape;
  // Up to these steps it was faster than tensor_tiles and register_operand on an H200, which copy
  // operands first whose rows begin anywhere (docs/results/products_random_h200.md).
  // register_operand does not where all three matrices lie alike.
  const bool adds = problem.beta != 0.0, is_tf32 = problem.precision == Precision::tf32;
  const bool lie_alike = problem.a.order == problem.b.order && problem.b.order == problem.c.order;
  const double elements = double(problem.batch) * double(s.m) * double(s.n);
  // About one tile for each SM.
  constexpr double small_c = 0.35e6;
  if (elements < small_c) {
    return s.k <= (is_tf32 ? (lie_alike ? 40 : 80) : adds ? 224 : 128);
  }
  constexpr double large_c = 3e6, large_added_to = 2e6;
  if (!is_tf32) {
    return adds ? s.k <= 144 && elements < large_added_to : s.k <= 72 && elements < large_c;
  }
  constexpr double most_alike = 1e6, rather_large_c = 1.5e6;
  if (lie_alike && elements < most_alike) return false;
  if (adds) return s.k <= 56;
  return s.k <= (lie_alike || elements > rather_large_c ? 24 : 44) && elements <= large_c;
}

std::unique_ptr<GemmRun> prepare_short_k_mma(Device& device, const GemmProblem& problem) {
  return prepare_short_k_mma(device, problem,
                             short_k_mma_plan_candidates(problem, device.properties()).front());
}

std::unique_ptr<GemmRun> prepare_short_k_mma(Device& device, const GemmProblem& problem,
                                             const MmaSyncPlan& plan) {
  return std::make_unique<ShortKMmaRun>(device, problem, plan);
}

}  // namespace tilescope::operations
