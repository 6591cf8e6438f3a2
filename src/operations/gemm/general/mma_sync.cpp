#include "operations/gemm/general/mma_sync.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "operations/gemm/general/mma_instruction.hpp"
#include "operations/gemm/operands/access_kernels.hpp"
#include "operations/gemm/operands/operand_conversion.hpp"
#include "operations/gemm/problem/gemm_constants.hpp"
#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

// Rates as measured on an H200 where that many blocks were on each SM.
constexpr MmaSyncTile copied_tiles[] = {{.rows = 128,
                                         .columns = 256,
                                         .warp_rows = 64,
                                         .warp_columns = 64,
                                         .blocks_per_sm = 1,
                                         .rates = {0.80}},
                                        {.rows = 256,
                                         .columns = 128,
                                         .warp_rows = 64,
                                         .warp_columns = 64,
                                         .blocks_per_sm = 1,
                                         .rates = {0.80}},
                                        {.rows = 128,
                                         .columns = 128,
                                         .warp_rows = 64,
                                         .warp_columns = 64,
                                         .blocks_per_sm = 2,
                                         .rates = {0.50, 0.73}},
                                        {.rows = 64,
                                         .columns = 64,
                                         .warp_rows = 32,
                                         .warp_columns = 32,
                                         .blocks_per_sm = 3,
                                         .rates = {0.25, 0.42, 0.50}}};

// Tiles with few elements for each thread, for copies that pass through registers.
constexpr MmaSyncTile held_tiles[] = {{.rows = 128,
                                       .columns = 128,
                                       .warp_rows = 64,
                                       .warp_columns = 32,
                                       .blocks_per_sm = 1,
                                       .rates = {0.5}},
                                      {.rows = 64,
                                       .columns = 64,
                                       .warp_rows = 32,
                                       .warp_columns = 32,
                                       .blocks_per_sm = 3,
                                       .rates = {0.2, 0.35, 0.45}}};

constexpr int most_parts = 32, chunk_bytes = 16;

std::int64_t depth_of(const GemmProblem& problem, const MmaSyncPlan& plan) {
  return plan.depth_bytes / static_cast<std::int64_t>(size_of(problem.a.type));
}

std::int64_t whole_tiles(const GemmProblem& problem, const MmaSyncPlan& plan) {
  return mma_tiles_of_c(problem, plan.tile) - plan.shared_tiles;
}

// Rounds of as many blocks as the SMs hold, then the rest, which share the SMs evenly: whole tiles
// first, then parts of tiles.
double expected_cycles(const GemmProblem& problem, const MmaSyncPlan& plan,
                       const DeviceProperties& device) {
  constexpr double begin_and_end = 4000.0;  // of a block: the first copies, the last stores
  constexpr double second_kernel = 5000.0, cached_bytes_per_cycle = 1500.0;
  // Shared tiles pay only well ahead: SMs without work leave the others power for a higher clock.
  constexpr double least_gain = 1.05;
  const MmaSyncTile& tile = plan.tile;
  // Proportional to the elements in 32 bytes of k.
  const double products_per_cycle = 2730.0 / double(size_of(problem.a.type));
  const std::int64_t sms = std::max(1, device.sm_count);
  const std::int64_t slots = sms * tile.blocks_per_sm;
  const auto cycles_of = [&](std::int64_t blocks, std::int64_t k) {
    const double work = double(tile.rows) * tile.columns * double(k);
    const auto round = [&](std::int64_t resident) {
      const double rate = products_per_cycle * tile.rates[static_cast<std::size_t>(resident - 1)];
      return begin_and_end / double(resident) + double(resident) * work / rate;
    };
    double cycles = double(blocks / slots) * round(tile.blocks_per_sm);
    if (blocks % slots > 0) cycles += round(groups_of(blocks % slots, sms));
    return cycles;
  };
  const std::int64_t parts = plan.shared_tiles * plan.parts;
  double cycles = cycles_of(mma_tiles_of_c(problem, tile) - plan.shared_tiles, problem.shape.k) +
                  cycles_of(parts, plan.k_of_part);
  if (parts > 0) {
    const double bytes = 8.0 * double(parts) * tile.rows * tile.columns;
    cycles = least_gain * (cycles + second_kernel + bytes / cached_bytes_per_cycle);
  }
  return cycles;
}

// Adds up the parts of shared tiles.
class TileReduction {
 public:
  TileReduction(Device& device, const GemmProblem& problem, const MmaSyncPlan& plan)
      : device_(device), problem_(problem), plan_(plan) {
    constexpr int threads = 256, rows_of_block = 8;
    const MmaSyncTile& tile = plan.tile;
    partial_ = device.allocate(
        static_cast<std::size_t>(plan.shared_tiles * plan.parts * tile.rows * tile.columns) *
            sizeof(float),
        "sums of parts of k");
    launch_ = flat_launch(plan.shared_tiles * (tile.rows / rows_of_block), threads);
    launch_.overlaps_previous = true;
    KernelRequest request = embedded_request("gemm/reduce_tiles.cu");
    request.kernel = "reduce_tiles";
    request.defines = epilogue_constants(problem);
    request.defines.emplace_back("SUM", name_of(sum_type(problem.precision)));
    request.defines.push_back(define("BM", tile.rows));
    request.defines.push_back(define("BN", tile.columns));
    kernel_ = device.load(request);
  }

  DeviceAddress partial() const { return partial_.address(); }

  void run(const GemmAddresses& addresses, const Stream& stream) const {
    const GemmProblem& p = problem_;
    KernelArguments arguments = KernelArguments::of(
        partial_.address(), addresses.c, addresses.bias, static_cast<std::int32_t>(p.shape.m),
        static_cast<std::int32_t>(p.shape.n), p.c.leading, p.c.batch_stride);
    push_factors(arguments, p);
    arguments.push(static_cast<std::int32_t>(whole_tiles(p, plan_)));
    arguments.push(static_cast<std::int32_t>(plan_.parts));
    device_.launch(kernel_, launch_, arguments, stream);
  }

 private:
  Device& device_;
  GemmProblem problem_;
  MmaSyncPlan plan_;
  Launch launch_;
  Kernel kernel_;
  Buffer partial_;
};

class MmaSyncRun final : public GemmRun {
 public:
  MmaSyncRun(Device& device, const GemmProblem& problem, const MmaSyncPlan& plan)
      : device_(device),
        problem_(problem),
        plan_(plan),
        kernels_(device, problem, [this](const ChunkAccess& access) {
          return mma_sync_request(problem_, device_.properties(), fitting(access), access);
        }) {
    launch_ = flat_launch(whole_tiles(problem, plan) + plan.shared_tiles * plan.parts,
                          plan.tile.threads());
    launch_.overlaps_previous = true;
    if (plan.shared_tiles > 0) reduction_.emplace(device, problem, plan);
  }

  void run(const GemmAddresses& addresses, const Stream& stream) override {
    const auto extent = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    KernelArguments arguments = operand_arguments(problem_, addresses);
    arguments.push(reduction_ ? reduction_->partial() : DeviceAddress{0});
    arguments.push(extent(whole_tiles(problem_, plan_)));
    arguments.push(extent(plan_.parts));
    arguments.push(extent(plan_.k_of_part));
    const ChunkAccess access = chunk_access(problem_, addresses);
    launch_.shared_bytes = mma_sync_shared_bytes(problem_, access, fitting(access));
    device_.launch(kernels_.of(addresses), launch_, arguments, stream);
    if (reduction_) reduction_->run(addresses, stream);
  }

  std::string note() const override {
    return reduction_ ? fmt::format("k in {} parts{}", plan_.parts,
                                    whole_tiles(problem_, plan_) > 0 ? " in the last round" : "")
                      : "";
  }

 private:
  // The plan is made for addresses that are multiples of chunks. For others there may be room for a
  // stage less.
  MmaSyncPlan fitting(const ChunkAccess& access) const {
    MmaSyncPlan plan = plan_;
    const auto room = std::size_t{device_.properties().shared_bytes_per_block_optin};
    while (plan.stages > 2 && mma_sync_shared_bytes(problem_, access, plan) > room) --plan.stages;
    return plan;
  }

  Device& device_;
  GemmProblem problem_;
  MmaSyncPlan plan_;
  Launch launch_;
  AccessKernels kernels_;
  std::optional<TileReduction> reduction_;
};

// The problem with elements of 8 bits along k, as the kernel takes them.
GemmProblem along_k(const GemmProblem& problem) {
  GemmProblem taken = problem;
  if (size_of(problem.a.type) > 1) return taken;
  const auto turn = [&](GemmOperand& operand, Order order, std::int64_t rows,
                        std::int64_t columns) {
    if (operand.order == order) return;
    const bool is_repeated = problem.batch > 1 && operand.batch_stride == 0;
    operand = padded_operand({.operand = {.order = order}, .rows = rows, .columns = columns},
                             operand.type, is_repeated);
  };
  turn(taken.a, Order::row_major, problem.shape.m, problem.shape.k);
  turn(taken.b, Order::column_major, problem.shape.k, problem.shape.n);
  return taken;
}

// Operands that do not lie along k are copied first.
class TransposedRun final : public GemmRun {
 public:
  TransposedRun(Device& device, const GemmProblem& given, const GemmProblem& taken,
                const MmaSyncPlan& plan)
      : a_(device, {given.a, given.shape.m, given.shape.k}, {taken.a, taken.shape.m, taken.shape.k},
           given.batch, "A along k"),
        b_(device, {given.b, given.shape.k, given.shape.n}, {taken.b, taken.shape.k, taken.shape.n},
           given.batch, "B along k"),
        run_(device, taken, plan) {}

  void run(const GemmAddresses& addresses, const Stream& stream) override {
    a_.copy_in(addresses.a, stream);
    b_.copy_in(addresses.b, stream);
    GemmAddresses there = addresses;
    there.a = a_.address(addresses.a);
    there.b = b_.address(addresses.b);
    run_.run(there, stream);
  }
  std::string note() const override {
    const std::string own = run_.note();
    return own.empty() ? "operands copied along k" : own + ", operands copied along k";
  }

 private:
  StagedOperand a_, b_;
  MmaSyncRun run_;
};

}  // namespace

std::int64_t mma_tiles_of_c(const GemmProblem& problem, const MmaSyncTile& tile) {
  return groups_of(problem.shape.m, tile.rows) * groups_of(problem.shape.n, tile.columns) *
         problem.batch;
}

std::span<const MmaSyncTile> mma_sync_tiles(const DeviceProperties& device) {
  return has_async_copies(device) ? std::span<const MmaSyncTile>(copied_tiles)
                                  : std::span<const MmaSyncTile>(held_tiles);
}

bool mma_copies_share_rows(const GemmProblem& problem, const MmaSyncTile& tile, int depth_bytes) {
  const int element = static_cast<int>(size_of(problem.a.type));
  const auto share = [&](bool is_along_k, int side) {
    const int chunks = (is_along_k ? depth_bytes : side * element) / chunk_bytes;
    return tile.threads() / chunks >= (!is_along_k && element == 4 ? 4 : 8);
  };
  return share(problem.a.order == Order::row_major, tile.rows) &&
         share(problem.b.order == Order::column_major, tile.columns);
}

std::size_t mma_stage_bytes(const GemmProblem& problem, const ChunkAccess& access,
                            const MmaSyncTile& tile, int depth_bytes) {
  constexpr int bytes_of_warp = 512;  // what a warp copies of a row at once
  const int element = static_cast<int>(size_of(problem.a.type));
  const auto ends = [&](RowsBy rows_by, bool is_along_k, int side) {
    if (rows_by != RowsBy::elements) return 0;
    const int row_bytes = is_along_k ? depth_bytes : side * element;
    const int rows = is_along_k ? side : depth_bytes / element;
    return chunk_bytes * rows * std::max(1, row_bytes / bytes_of_warp);
  };
  return static_cast<std::size_t>(
      (tile.rows + tile.columns) * depth_bytes +
      ends(access.a, problem.a.order == Order::row_major, tile.rows) +
      ends(access.b, problem.b.order == Order::column_major, tile.columns));
}

// Up to four stages, with fewer barriers where there is room for three long ones. Without
// asynchronous copies two are enough: chunks wait in registers.
std::optional<MmaSyncPlan> mma_sync_stages(const GemmProblem& problem, const ChunkAccess& access,
                                           const MmaSyncTile& tile,
                                           const DeviceProperties& device) {
  constexpr int long_depth = 128, short_depth = 64, most_stages = 4;
  const auto blocks = static_cast<std::size_t>(tile.blocks_per_sm);
  const std::size_t of_block = device.shared_bytes_per_sm / blocks;
  const std::size_t room = std::min<std::size_t>(
      device.shared_bytes_per_block_optin,
      of_block - std::min<std::size_t>(of_block, device.reserved_shared_bytes_per_block));
  const auto stages_of = [&](int depth_bytes) {
    return static_cast<int>(room / mma_stage_bytes(problem, access, tile, depth_bytes));
  };
  const bool is_copied = has_async_copies(device);
  MmaSyncPlan plan{.tile = tile};
  plan.depth_bytes = is_copied && stages_of(long_depth) >= 3 ? long_depth : short_depth;
  plan.stages = std::min(is_copied ? most_stages : 2, stages_of(plan.depth_bytes));
  return plan.stages >= 2 ? std::optional(plan) : std::nullopt;
}

// The stages, or what the sums take on their way to C, if that is more: WarpStore in the kernel.
std::size_t mma_sync_shared_bytes(const GemmProblem& problem, const ChunkAccess& access,
                                  const MmaSyncPlan& plan) {
  constexpr int height = 16, pad = 8, warp = 32;
  const int columns = plan.tile.warp_columns, warps = plan.tile.threads() / warp;
  const std::size_t old = problem.beta != 0.0 ? columns * size_of(problem.c.type) : 0;
  const std::size_t stores = height * warps * ((columns + pad) * sizeof(float) + old);
  return std::max(static_cast<std::size_t>(plan.stages) *
                      mma_stage_bytes(problem, access, plan.tile, plan.depth_bytes),
                  stores);
}

Defines mma_sync_constants(const GemmProblem& problem, const DeviceProperties& device,
                           const MmaSyncPlan& plan) {
  Defines constants = epilogue_constants(problem);
  const auto number = [&](std::string_view name, std::int64_t value) {
    constants.push_back(define(name, value));
  };
  const bool is_short = !has_async_copies(device);
  constants.emplace_back("ELEMENT", name_of(problem.a.type));
  constants.emplace_back("SUM", name_of(sum_type(problem.precision)));
  constants.emplace_back("INSTRUCTION", mma_instruction(problem.precision, is_short));
  number("SHORT_PRODUCTS", is_short);
  number("PROMOTES_SUMS", has_float8_operands(problem.precision));
  number("BM", plan.tile.rows);
  number("BN", plan.tile.columns);
  number("WM", plan.tile.warp_rows);
  number("WN", plan.tile.warp_columns);
  number("BLOCKS_PER_SM", plan.tile.blocks_per_sm);
  number("DEPTH", depth_of(problem, plan));
  number("STAGES", plan.stages);
  return constants;
}

std::vector<MmaSyncPlan> mma_sync_plan_candidates(const GemmProblem& problem,
                                                  const DeviceProperties& device) {
  std::vector<MmaSyncPlan> plans;
  const ChunkAccess access = chunk_access(problem, {});
  for (const MmaSyncTile& tile : mma_sync_tiles(device)) {
    const auto staged = mma_sync_stages(problem, access, tile, device);
    if (!staged) continue;
    MmaSyncPlan plan = *staged;
    const std::int64_t depth = depth_of(problem, plan), steps = groups_of(problem.shape.k, depth);
    const std::int64_t tiles_of_all = mma_tiles_of_c(problem, tile);
    const std::int64_t slots = std::int64_t{std::max(1, device.sm_count)} * tile.blocks_per_sm;
    for (int parts = 1; parts <= std::min<std::int64_t>(steps, most_parts); ++parts) {
      plan.k_of_part = groups_of(steps, parts) * depth;
      plan.parts = static_cast<int>(groups_of(problem.shape.k, plan.k_of_part));
      if (plan.parts != parts) continue;  // fewer parts are as long
      plan.shared_tiles = parts > 1 ? tiles_of_all % slots : 0;
      if (parts > 1 && plan.shared_tiles == 0) break;
      plan.cycles = expected_cycles(problem, plan, device);
      plans.push_back(plan);
    }
  }
  std::stable_sort(
      plans.begin(), plans.end(),
      [](const MmaSyncPlan& one, const MmaSyncPlan& other) { return one.cycles < other.cycles; });
  return plans;
}

KernelRequest mma_sync_request(const GemmProblem& problem, const DeviceProperties& device,
                               const MmaSyncPlan& plan, const ChunkAccess& access) {
  KernelRequest request = embedded_request("gemm/mma_sync.cu");
  request.kernel = "gemm";
  request.defines = mma_sync_constants(problem, device, plan);
  const auto number = [&](std::string_view name, std::int64_t value) {
    request.defines.push_back(define(name, value));
  };
  number("A_BY_COLUMNS", problem.a.order == Order::column_major);
  number("B_BY_COLUMNS", problem.b.order == Order::column_major);
  number("A_ROWS_BY", static_cast<int>(access.a));
  number("B_ROWS_BY", static_cast<int>(access.b));
  number("C_QUADS", access.c_quads);
  number("PARTS", plan.shared_tiles > 0);
  return request;
}

std::optional<std::string> mma_sync_refusal(const GemmProblem& problem,
                                            const DeviceProperties& device) {
  if (auto why = mma_sync_type_refusal(problem, device)) return why;
  constexpr std::int64_t most_apart = std::int64_t{1} << 24;  // the kernel's offsets of rows
  const GemmProblem taken = along_k(problem);
  if (std::max({problem.a.leading, problem.b.leading, taken.a.leading, taken.b.leading}) >
      most_apart) {
    return fmt::format("rows more than {} elements apart", most_apart);
  }
  const bool copies_operands = taken.a.order != problem.a.order || taken.b.order != problem.b.order;
  if (auto why = copies_operands ? size_refusal(problem) : extent_refusal(problem)) return why;
  return block_refusal(mma_tiles_of_c(problem, std::end(copied_tiles)[-1]));
}

std::string mma_sync_order(const GemmProblem& problem, const DeviceProperties& device) {
  const MmaSyncPlan plan = mma_sync_plan_candidates(along_k(problem), device).front();
  if (plan.shared_tiles == 0) return "";
  // Which elements lie in the last tiles depends on the shape.
  return fmt::format("{} parts of {} x {}", plan.parts, problem.shape.m, problem.shape.n);
}

std::unique_ptr<GemmRun> prepare_mma_sync(Device& device, const GemmProblem& problem) {
  const GemmProblem taken = along_k(problem);
  const MmaSyncPlan plan = mma_sync_plan_candidates(taken, device.properties()).front();
  if (taken.a.order == problem.a.order && taken.b.order == problem.b.order) {
    return prepare_mma_sync(device, problem, plan);
  }
  return std::make_unique<TransposedRun>(device, problem, taken, plan);
}

std::unique_ptr<GemmRun> prepare_mma_sync(Device& device, const GemmProblem& problem,
                                          const MmaSyncPlan& plan) {
  return std::make_unique<MmaSyncRun>(device, problem, plan);
}

}  // namespace tilescope::operations
