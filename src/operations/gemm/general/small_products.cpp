#include "operations/gemm/general/small_products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "operations/gemm/general/mma_instruction.hpp"
#include "operations/gemm/general/mma_sync.hpp"
#include "operations/gemm/operands/access_kernels.hpp"
#include "operations/gemm/problem/gemm_constants.hpp"
#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

constexpr int small_lanes = 32, small_chunk_bytes = 16, least_side = 16, most_side = 128;

// Rows x columns of a warp.
struct WarpShape {
  int rows, columns;
};
constexpr WarpShape by_tensor_cores[] = {{16, 16}, {16, 32}, {32, 16}, {32, 32}, {64, 32}};
constexpr WarpShape by_ffma[] = {{16, 16}, {16, 32}, {32, 32}, {32, 64}};

bool is_by_ffma(const GemmProblem& problem) {
  return problem.precision == Precision::fp32 || problem.precision == Precision::fp32_fast;
}

// The side of a tile for so many rows or columns: a power of two.
int side_for(std::int64_t extent) {
  return std::max(least_side, static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(extent))));
}

int element_bytes(const GemmProblem& problem) {
  return static_cast<int>(size_of(problem.a.type));
}

MmaSyncTile tile_of(const SmallPlan& plan) {
  return {.rows = plan.rows,
          .columns = plan.columns,
          .warp_rows = plan.warp_rows,
          .warp_columns = plan.warp_columns,
          .blocks_per_sm = plan.blocks_per_sm};
}

// The kernel's WarpStore: sums of 16 rows of each warp, and what C holds.
int store_bytes(const GemmProblem& problem, const SmallPlan& plan) {
  constexpr int height = 16, pad = 8, sum_bytes = 4;
  const int old = problem.beta != 0.0 ? plan.warp_columns * int(size_of(problem.c.type)) : 4;
  return plan.threads() / small_lanes * height * ((plan.warp_columns + pad) * sum_bytes + old);
}

// How the kernel copies the rows: where they begin anywhere, elements of 32 bits word by word,
// which takes less time here than to bring whole chunks and to move their elements afterwards.
ChunkAccess copied_by(const GemmProblem& problem, ChunkAccess access) {
  for (RowsBy* const rows : {&access.a, &access.b}) {
    if (*rows == RowsBy::elements && element_bytes(problem) == 4) *rows = RowsBy::words;
  }
  return access;
}

std::size_t shared_bytes(const GemmProblem& problem, const ChunkAccess& access,
                         const SmallPlan& plan) {
  const std::size_t stage =
      mma_stage_bytes(problem, copied_by(problem, access), tile_of(plan), plan.depth_bytes);
  return static_cast<std::size_t>(plan.stages) * stage +
         static_cast<std::size_t>(store_bytes(problem, plan));
}

// Registers of a thread: sums, operands of one step, and addresses. As the assembler reports them,
// or some more.
int registers_of(const GemmProblem& problem, const SmallPlan& plan,
                 const DeviceProperties& device) {
  constexpr int of_ffma = 56, of_tensor_cores = 64, of_chunk = 4;
  const int sums = plan.warp_rows * plan.warp_columns / small_lanes;
  const int copied = (plan.rows + plan.columns) * plan.depth_bytes / small_chunk_bytes;
  const int held = has_async_copies(device) ? 0 : of_chunk * copied / plan.threads();
  if (is_by_ffma(problem)) {
    return of_ffma + sums + held + 4 * (plan.warp_rows / 4 + plan.warp_columns / 8);
  }
  return of_tensor_cores + sums + held + (plan.warp_rows + plan.warp_columns) / 4;
}

// As many blocks as an SM holds; nothing if there is not one.
int blocks_per_sm(const GemmProblem& problem, const SmallPlan& plan,
                  const DeviceProperties& device) {
  constexpr int unit = 8;  // in which registers are given out
  const int registers = (registers_of(problem, plan, device) + unit - 1) / unit * unit;
  const std::size_t bytes = shared_bytes(problem, chunk_access(problem, {}), plan);
  if (bytes > device.shared_bytes_per_block_optin) return 0;
  const auto by_memory = static_cast<int>(device.shared_bytes_per_sm /
                                          (bytes + device.reserved_shared_bytes_per_block));
  return std::min({by_memory, device.registers_per_sm / (registers * plan.threads()),
                   device.max_threads_per_sm / plan.threads(), device.max_blocks_per_sm});
}

// The work of an SM's parts for one product of a plan, in cycles of each part.
struct SmallWork {
  double memory = 0.0;     // of the SM's share of its bandwidth
  double latency = 0.0;    // of stages on their way, as many at once as blocks keep there
  double pipeline = 0.0;   // of the load-store pipeline and of tensor cores
  double issue = 0.0;      // of the scheduler with the most warps
  double dependent = 0.0;  // of instructions that wait for the one before, if each warp were alone
};

// Warps stay with one of an SM's schedulers, so six warps take as long as eight; and one alone
// leaves its scheduler idle between dependent instructions.
SmallWork work_of(const GemmProblem& problem, const SmallPlan& plan) {
  // Fitted to all plans of six batches each in bf16, fp32 and tf32 on an H200.
  constexpr double bytes_per_cycle = 15.6, latency_of_stage = 1700.0, wait_of_stage = 600.0;
  constexpr double cycles_of_access = 11.0, instructions_of_access = 26.0;
  constexpr double apart_by_ffma = 2.3, apart_by_tensor_cores = 2.8;  // dependent instructions
  constexpr double schedulers = 4.0;
  const MatmulShape& s = problem.shape;
  const double element = element_bytes(problem), blocks = plan.blocks_per_sm;
  const double uses_of_c = problem.beta != 0.0 ? 2.0 : 1.0;
  const double operands = element * double(s.k) * double(s.m + s.n);
  const double bytes = operands + uses_of_c * double(size_of(problem.c.type)) * double(s.m * s.n);
  const double stages = double(groups_of(s.k * element_bytes(problem), plan.depth_bytes));

  const double warps = plan.threads() / small_lanes;
  const double elements = double(plan.rows) * plan.columns;
  const ChunkAccess access = copied_by(problem, chunk_access(problem, {}));
  // Lanes copy neighbouring chunks: word by word, each access meets as many lines. Where elements
  // are moved afterwards, that takes about as long as another copy.
  const auto accesses_of = [&](RowsBy rows, int side) {
    const double of_chunk = rows == RowsBy::words      ? small_chunk_bytes / element
                            : rows == RowsBy::elements ? 2.0
                                                       : 1.0;
    return of_chunk * side * plan.depth_bytes / small_chunk_bytes / small_lanes;
  };
  const double accesses =
      stages * (accesses_of(access.a, plan.rows) + accesses_of(access.b, plan.columns));
  const double stored = elements / small_lanes * (access.c_quads ? 4.0 : 8.0) + 60.0 * warps;
  const double steps = stages * plan.depth_bytes / element;
  double multiplied = 0.0, busy = 0.0;
  if (is_by_ffma(problem)) {
    const double loads = double(plan.warp_rows / 4 + plan.warp_columns / 8) / 4.0;
    multiplied = elements * steps / small_lanes + warps * steps * loads;
    busy = 2.0 * warps * steps * loads;  // of shared memory
  } else {
    const double of_k = 32.0 / element;  // steps of an instruction
    const double products = elements / (16.0 * 8.0) * steps / of_k;
    const double fragments = warps * (plan.warp_rows + plan.warp_columns) / 16.0 * steps / of_k;
    multiplied = products + 3.0 * fragments;
    busy = std::max(2.0 * products, 4.0 * fragments);
  }
  const double of_warp = (instructions_of_access * accesses + stored + multiplied) / warps;
  const double apart = is_by_ffma(problem) ? apart_by_ffma : apart_by_tensor_cores;
  return {.memory = bytes / bytes_per_cycle,
          .latency = stages * latency_of_stage / ((plan.stages - 1) * blocks),
          .pipeline = busy + cycles_of_access * accesses,
          .issue = of_warp * std::ceil(blocks * warps / schedulers) / blocks,
          .dependent = (apart * of_warp + wait_of_stage * stages) / blocks};
}

// Cycles of an SM for one product: the parts work at the same time, and those that take nearly as
// long as the longest get in its way.
double cycles_of_product(const GemmProblem& problem, const SmallPlan& plan) {
  constexpr double sharpness = 3.6;
  const SmallWork work = work_of(problem, plan);
  double sum = 0.0;
  for (const double cycles :
       {work.memory, work.latency, work.pipeline, work.issue, work.dependent}) {
    sum += std::pow(cycles, sharpness);
  }
  return std::pow(sum, 1.0 / sharpness);
}

// Blocks that the device runs at once.
std::int64_t resident_blocks(const SmallPlan& plan, const DeviceProperties& device) {
  return std::int64_t{std::max(1, device.sm_count)} * plan.blocks_per_sm;
}

double expected_cycles(const GemmProblem& problem, const SmallPlan& plan,
                       const DeviceProperties& device) {
  constexpr double launch = 6000.0;
  const std::int64_t rounds = groups_of(problem.batch, resident_blocks(plan, device));
  return launch + double(rounds) * plan.blocks_per_sm * cycles_of_product(problem, plan);
}

class SmallProductsRun final : public GemmRun {
 public:
  SmallProductsRun(Device& device, const GemmProblem& problem, const SmallPlan& plan)
      : device_(device),
        problem_(problem),
        plan_(plan),
        kernels_(device, problem, [this](const ChunkAccess& access) {
          return small_products_request(problem_, device_.properties(), fitting(access), access);
        }) {
    launch_ = flat_launch(std::min(problem.batch, resident_blocks(plan, device.properties())),
                          plan.threads());
    launch_.overlaps_previous = true;
  }

  void run(const GemmAddresses& addresses, const Stream& stream) override {
    KernelArguments arguments = operand_arguments(problem_, addresses);
    arguments.push(static_cast<std::int32_t>(problem_.batch));
    const ChunkAccess access = chunk_access(problem_, addresses);
    launch_.shared_bytes = shared_bytes(problem_, access, fitting(access));
    device_.launch(kernels_.of(addresses), launch_, arguments, stream);
  }

  std::string note() const override {
    const std::string tile =
        fmt::format("{}x{} by {} warps, {} blocks an SM", plan_.rows, plan_.columns,
                    plan_.threads() / small_lanes, plan_.blocks_per_sm);
    return problem_.precision == Precision::fp32_fast ? "computed as fp32, " + tile : tile;
  }

 private:
  // The plan is made for addresses that are multiples of chunks. For others there may be room for
  // fewer stages.
  SmallPlan fitting(const ChunkAccess& access) const {
    SmallPlan plan = plan_;
    const auto room = std::size_t{device_.properties().shared_bytes_per_block_optin};
    while (plan.stages > 2 && shared_bytes(problem_, access, plan) > room) --plan.stages;
    return plan;
  }

  Device& device_;
  GemmProblem problem_;
  SmallPlan plan_;
  Launch launch_;
  AccessKernels kernels_;
};

// The precision whose types and device the kernel asks for.
std::optional<std::string> type_refusal_of(const GemmProblem& problem,
                                           const DeviceProperties& device) {
  if (!is_by_ffma(problem)) return mma_sync_type_refusal(problem, device);
  if (problem.a.type != DataType::float32 || problem.b.type != DataType::float32) {
    return "A and B must be float32";
  }
  return is_floating(problem.c.type)
             ? std::nullopt
             : std::optional(fmt::format("C is {}", name_of(problem.c.type)));
}

}  // namespace

std::vector<SmallPlan> small_plan_candidates(const GemmProblem& problem,
                                             const DeviceProperties& device) {
  constexpr int most_warps = 8;
  const bool ffma = is_by_ffma(problem);
  const int element = element_bytes(problem);
  const std::int64_t k_bytes = problem.shape.k * element;
  // Copies that pass through registers run one stage ahead.
  const int most_stages = has_async_copies(device) ? 4 : 2;
  SmallPlan plan{.rows = side_for(problem.shape.m), .columns = side_for(problem.shape.n)};
  std::vector<SmallPlan> plans;
  const auto consider = [&](const WarpShape& warp, int depth_bytes) {
    plan.warp_rows = warp.rows;
    plan.warp_columns = warp.columns;
    plan.depth_bytes = depth_bytes;
    if (warp.rows > plan.rows || warp.columns > plan.columns) return;
    if (plan.threads() > small_lanes * most_warps) return;
    if (!mma_copies_share_rows(problem, tile_of(plan), depth_bytes)) return;
    for (plan.stages = 2; plan.stages <= most_stages; ++plan.stages) {
      plan.blocks_per_sm = blocks_per_sm(problem, plan, device);
      if (plan.blocks_per_sm == 0) continue;
      plan.cycles = expected_cycles(problem, plan, device);
      plans.push_back(plan);
    }
  };
  const auto shapes = ffma ? std::span<const WarpShape>(by_ffma) : by_tensor_cores;
  for (const WarpShape& warp : shapes) {
    for (const int depth_bytes : {32, 64, 128}) {
      const bool is_longer = depth_bytes / 2 >= k_bytes && depth_bytes > 32;
      const bool is_least = depth_bytes == (ffma ? 64 : 32);
      if (ffma && depth_bytes < 64) continue;  // operands along m or n: at least 16 steps
      if (!is_longer || is_least) consider(warp, depth_bytes);
    }
  }
  std::stable_sort(plans.begin(), plans.end(), [](const SmallPlan& one, const SmallPlan& other) {
    return one.cycles < other.cycles;
  });
  return plans;
}

KernelRequest small_products_request(const GemmProblem& problem, const DeviceProperties& device,
                                     const SmallPlan& plan, const ChunkAccess& access) {
  KernelRequest request = embedded_request("gemm/small_products.cu");
  request.kernel = "gemm";
  request.defines = mma_sync_constants(
      problem, device,
      {.tile = tile_of(plan), .depth_bytes = plan.depth_bytes, .stages = plan.stages});
  const auto number = [&](std::string_view name, std::int64_t value) {
    request.defines.push_back(define(name, value));
  };
  number("BY_FFMA", is_by_ffma(problem));
  number("A_BY_COLUMNS", problem.a.order == Order::column_major);
  number("B_BY_COLUMNS", problem.b.order == Order::column_major);
  const ChunkAccess copied = copied_by(problem, access);
  number("A_ROWS_BY", static_cast<int>(copied.a));
  number("B_ROWS_BY", static_cast<int>(copied.b));
  number("C_QUADS", access.c_quads);
  return request;
}

std::optional<std::string> small_products_refusal(const GemmProblem& problem,
                                                  const DeviceProperties& device) {
  if (auto why = type_refusal_of(problem, device)) return why;
  if (auto why = extent_refusal(problem)) return why;
  if (problem.batch < 2) return "one product is one block's work: small_products takes lists";
  if (std::max(problem.shape.m, problem.shape.n) > most_side) {
    return fmt::format("C has more than {} rows or columns", most_side);
  }
  if (size_of(problem.a.type) == 1 &&
      (problem.a.order != Order::row_major || problem.b.order != Order::column_major)) {
    return "operands of 8 bits must lie along k";
  }
  constexpr std::int64_t most_apart = std::int64_t{1} << 24;  // the kernel's offsets of rows
  if (std::max(problem.a.leading, problem.b.leading) > most_apart) {
    return fmt::format("rows more than {} elements apart", most_apart);
  }
  if (small_plan_candidates(problem, device).empty()) return "no tile fits into shared memory";
  return std::nullopt;
}

bool small_products_pay(const GemmProblem& problem, const DeviceProperties& device) {
  constexpr std::int64_t most_k = 256, products_of_sm = 2;
  if (problem.shape.k > most_k ||
      problem.batch < products_of_sm * std::int64_t{std::max(1, device.sm_count)}) {
    return false;
  }
  // While the only block of an SM stores its sums, nobody multiplies: larger kernels are faster
  // then. For FFMAs there are such kernels on Hopper only.
  const bool has_others = !is_by_ffma(problem) || device.compute_major == 9;
  return !has_others || small_plan_candidates(problem, device).front().blocks_per_sm > 1;
}

std::unique_ptr<GemmRun> prepare_small_products(Device& device, const GemmProblem& problem) {
  return prepare_small_products(device, problem,
                                small_plan_candidates(problem, device.properties()).front());
}

std::unique_ptr<GemmRun> prepare_small_products(Device& device, const GemmProblem& problem,
                                                const SmallPlan& plan) {
  return std::make_unique<SmallProductsRun>(device, problem, plan);
}

}  // namespace tilescope::operations
