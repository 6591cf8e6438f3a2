#include "operations/gemm/general/fp64_tiles.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "operations/gemm/operands/access_kernels.hpp"
#include "operations/gemm/operands/split_reduction.hpp"
#include "operations/gemm/problem/gemm_constants.hpp"
#include "operations/gemm/problem/time_model.hpp"
#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {
namespace {

// Rows and columns of a tile, of a warp; slices; depth and stages; blocks on an SM; rates as fitted
// to an H200's times where that many blocks were on each SM.
constexpr Fp64Tile fp64_candidates[] = {
    {128, 128, 64, 32, 1, 16, 4, 1, {0.951}},
    {128, 128, 64, 32, 1, 32, 3, 1, {0.945}},
    {64, 128, 32, 32, 1, 16, 4, 2, {0.953, 0.954}},
    {128, 64, 32, 32, 1, 16, 4, 2, {0.953, 0.954}},
    {64, 64, 32, 32, 1, 16, 4, 3, {0.834, 0.953, 0.949}},
    {64, 64, 32, 32, 2, 32, 3, 2, {0.874, 0.942}},
    {64, 32, 32, 32, 2, 32, 3, 3, {0.641, 0.923, 0.955}},
    {32, 64, 32, 32, 2, 32, 3, 3, {0.646, 0.922, 0.959}},
    {32, 32, 32, 32, 4, 64, 3, 2, {0.76, 0.86}},
    {32, 32, 32, 32, 2, 32, 3, 3, {0.451, 0.688, 0.92}},
};

constexpr std::int64_t most_fp64_splits = 32;

std::int64_t fp64_tiles_of(const GemmProblem& problem, const Fp64Tile& tile) {
  return groups_of(problem.shape.m, tile.rows) * groups_of(problem.shape.n, tile.columns) *
         problem.batch;
}

std::size_t fp64_shared_bytes(const Fp64Tile& tile) {
  const int elements = tile.stages * tile.depth * (tile.rows + tile.columns);
  return static_cast<std::size_t>(elements) * sizeof(double);
}

// The share of the products' time that copies of single elements of an operand take.
double element_copies(const GemmProblem& problem, const Fp64Tile& tile) {
  constexpr double of_copies = 11.0;
  const ChunkAccess access = chunk_access(problem, {});
  const int extent = (access.a == RowsBy::chunks ? 0 : tile.rows) +
                     (access.b == RowsBy::chunks ? 0 : tile.columns);
  return of_copies * extent / (double(tile.rows) * tile.columns);
}

// Rows that do not begin with sectors of 32 bytes are read in more pieces: times the bytes.
double pieces_of(const GemmOperand& operand) {
  constexpr std::int64_t sector_bytes = 32, chunk_bytes = 16;
  constexpr double of_chunks = 1.95, of_elements = 2.12;
  const std::int64_t pitch = operand.leading * static_cast<std::int64_t>(sizeof(double));
  if (pitch % sector_bytes == 0) return 1.0;
  return pitch % chunk_bytes == 0 ? of_chunks : of_elements;
}

// Rounds of as many blocks as the SMs hold, then the rest, which share the SMs evenly. Fitted to
// thousands of plans of products drawn at random (docs/results/products_random_h200.md).
double expected_cycles(const GemmProblem& problem, const Fp64Plan& plan,
                       const DeviceProperties& device) {
  constexpr double launch = 10290.0, second_kernel = 2050.0;
  constexpr double begin = 1350.0, end_of_element = 0.194;  // of a block
  constexpr double of_neighbour = 0.035;  // of these, for each other block on the SM
  constexpr double bytes_per_cycle = 1950.0, cached_bytes_per_cycle = 3400.0;
  constexpr double tile_bytes_per_cycle = 57.5;  // from the L2 cache into one SM
  constexpr double not_overlapped = 0.21;        // of the shorter of memory's time and the blocks'
  const Fp64Tile& tile = plan.tile;
  const MatmulShape& s = problem.shape;
  const double products_per_cycle = device.compute_major >= 9 ? 128.0 : 64.0;
  const double elements = double(tile.rows) * tile.columns;
  const double work = elements * double(plan.k_of_part) * (1.0 + element_copies(problem, tile));
  const double uses_of_c = problem.beta != 0.0 ? 2.0 : 1.0;
  const double ends = begin + end_of_element * elements * (plan.splits > 1 ? 1.0 : uses_of_c);
  const double read = tile.rows * pieces_of(problem.a) + tile.columns * pieces_of(problem.b);
  const double loads =
      double(sizeof(double)) * double(plan.k_of_part) * read / tile_bytes_per_cycle;
  const std::int64_t sms = std::max(1, device.sm_count);
  const std::int64_t blocks = fp64_tiles_of(problem, tile) * plan.splits;
  const std::int64_t slots = sms * tile.blocks_per_sm;
  const auto round = [&](std::int64_t resident) {
    const double rate = products_per_cycle * tile.rates[static_cast<std::size_t>(resident - 1)];
    return ends * (1.0 + of_neighbour * double(resident - 1)) +
           double(resident) * overlapped(work / rate, loads, 4.0);
  };
  double busy = double(blocks / slots) * round(tile.blocks_per_sm);
  if (blocks % slots > 0) busy += round(groups_of(blocks % slots, sms));
  const double c_elements = double(problem.batch) * double(s.m) * double(s.n);
  const double operands = double(problem.batch) * double(s.k) * double(s.m + s.n);
  const double memory = 8.0 * (operands + uses_of_c * c_elements) / bytes_per_cycle;
  double cycles = launch + std::max(busy, memory) + not_overlapped * std::min(busy, memory);
  if (plan.splits > 1) {
    cycles += second_kernel + 16.0 * plan.splits * c_elements / cached_bytes_per_cycle;
  }
  return cycles;
}

class Fp64TilesRun final : public GemmRun {
 public:
  Fp64TilesRun(Device& device, const GemmProblem& problem, const Fp64Plan& plan)
      : device_(device),
        problem_(problem),
        plan_(plan),
        kernels_(device, problem, [this](const ChunkAccess& access) {
          return fp64_tiles_request(problem_, device_.properties(), plan_, access);
        }) {
    launch_ = flat_launch(fp64_tiles_of(problem, plan.tile), plan.tile.threads(),
                          fp64_shared_bytes(plan.tile));
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
    return plan_.splits > 1 ? fmt::format("k in {} parts", plan_.splits) : "";
  }

 private:
  Device& device_;
  GemmProblem problem_;
  Fp64Plan plan_;
  Launch launch_;
  AccessKernels kernels_;
  std::unique_ptr<SplitReduction> reduction_;
};

}  // namespace

std::vector<Fp64Plan> fp64_plan_candidates(const GemmProblem& problem,
                                           const DeviceProperties& device) {
  std::vector<Fp64Plan> plans;
  for (const Fp64Tile& tile : fp64_candidates) {
    if (fp64_shared_bytes(tile) > device.shared_bytes_per_block_optin) continue;
    const std::int64_t stages = groups_of(problem.shape.k, tile.depth);
    const std::int64_t most = size_refusal(problem) ? 1 : std::min(stages, most_fp64_splits);
    for (std::int64_t splits = 1; splits <= most; ++splits) {
      Fp64Plan plan{.tile = tile, .k_of_part = groups_of(stages, splits) * tile.depth};
      plan.splits = static_cast<int>(groups_of(problem.shape.k, plan.k_of_part));
      if (plan.splits != splits) continue;  // fewer parts are as long
      plan.cycles = expected_cycles(problem, plan, device);
      plans.push_back(plan);
    }
  }
  std::stable_sort(plans.begin(), plans.end(), [](const Fp64Plan& one, const Fp64Plan& other) {
    return one.cycles < other.cycles;
  });
  return plans;
}

KernelRequest fp64_tiles_request(const GemmProblem& problem, const DeviceProperties& device,
                                 const Fp64Plan& plan, const ChunkAccess& access) {
  KernelRequest request = embedded_request("gemm/fp64_tiles.cu");
  request.kernel = "gemm";
  request.defines = epilogue_constants(problem);
  const auto number = [&](std::string_view name, std::int64_t value) {
    request.defines.push_back(define(name, value));
  };
  number("A_BY_COLUMNS", problem.a.order == Order::column_major);
  number("B_BY_COLUMNS", problem.b.order == Order::column_major);
  number("A_BY_CHUNKS", access.a == RowsBy::chunks);
  number("B_BY_CHUNKS", access.b == RowsBy::chunks);
  number("C_PAIRS", access.c_quads);
  number("WIDE_PRODUCTS", device.compute_major >= 9);
  number("BM", plan.tile.rows);
  number("BN", plan.tile.columns);
  number("WM", plan.tile.warp_rows);
  number("WN", plan.tile.warp_columns);
  number("BLOCKS_PER_SM", plan.tile.blocks_per_sm);
  number("DEPTH", plan.tile.depth);
  number("STAGES", plan.tile.stages);
  number("SLICES", plan.tile.slices);
  number("SPLIT", plan.splits > 1);
  return request;
}

std::optional<std::string> fp64_tiles_refusal(const GemmProblem& problem,
                                              const DeviceProperties& device) {
  if (problem.precision != Precision::fp64) {
    return fmt::format("computes fp64, not {}", name_of(problem.precision));
  }
  for (const DataType type : {problem.a.type, problem.b.type}) {
    if (type != DataType::float64) {
      return fmt::format("an operand is {}; fp64 on tensor cores takes float64", name_of(type));
    }
  }
  if (!is_floating(problem.c.type)) return fmt::format("C is {}", name_of(problem.c.type));
  if (device.compute_major < 8) {
    return fmt::format("needs compute capability 8.0, the device has {}.{}", device.compute_major,
                       device.compute_minor);
  }
  if (auto why = extent_refusal(problem)) return why;
  return block_refusal(fp64_tiles_of(problem, std::end(fp64_candidates)[-1]));
}

bool fp64_tiles_pay(const GemmProblem&, const DeviceProperties& device) {
  return (device.compute_major == 8 || device.compute_major == 9) && device.compute_minor == 0;
}

std::unique_ptr<GemmRun> prepare_fp64_tiles(Device& device, const GemmProblem& problem) {
  return prepare_fp64_tiles(device, problem,
                            fp64_plan_candidates(problem, device.properties()).front());
}

std::unique_ptr<GemmRun> prepare_fp64_tiles(Device& device, const GemmProblem& problem,
                                            const Fp64Plan& plan) {
  return std::make_unique<Fp64TilesRun>(device, problem, plan);
}

}  // namespace tilescope::operations
