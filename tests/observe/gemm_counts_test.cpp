// The counts of the GEMM rungs, those for Hopper among them, against what Nsight Compute measured
// on an H200, all launches of a run together (data/ncu/gemm_h200.csv, by bench/ncu_gemm.sh). A
// metric that is missing there was 0.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string_view>

#include "device/emulated/emulated_device.hpp"
#include "matmul_rungs.hpp"
#include "measure/counting.hpp"
#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"
#include "operations/registry.hpp"

namespace tilescope::observe {
namespace {

struct MeasuredGemm {
  std::string rung, precision;
  std::int64_t m = 0, n = 0, k = 0;
  std::map<std::string, std::uint64_t> metrics;

  std::uint64_t at(const std::string& metric) const {
    const auto found = metrics.find(metric + ".sum");
    return found == metrics.end() ? 0 : found->second;
  }
  std::string text() const { return fmt::format("{} {}, {} x {} x {}", rung, precision, m, n, k); }
};

std::vector<MeasuredGemm> measured_gemms() {
  std::vector<MeasuredGemm> result;
  for (const auto& cells : testing::table_rows(TILESCOPE_TEST_DATA "/ncu/gemm_h200.csv", 7)) {
    const MeasuredGemm of{
        cells[0], cells[1], std::stoll(cells[2]), std::stoll(cells[3]), std::stoll(cells[4]), {}};
    if (result.empty() || result.back().text() != of.text()) result.push_back(of);
    result.back().metrics[cells[5]] = std::stoull(cells[6]);
  }
  return result;
}

// The plan that was measured where the library may choose another since; empty for other rungs.
std::string measured_plan(const MeasuredGemm& chip) {
  const bool is_ragged = chip.m == 125;
  if (chip.rung == "tensor_tiles") {
    return chip.precision == "bf16" && !is_ragged
               ? "tile 64x48 consumers 1 stages 8 cluster 1 splits 1 group 8 boxes 2 transposed"
               : "tile 64x64 consumers 2 stages 8 cluster 1 splits 1 group 8 boxes 2 in turn";
  }
  if (chip.rung == "register_operand") {
    const std::string plan = "tile 16x64 products 1 consumers 1 stages 12 pair 0 splits 1 group 8";
    return is_ragged ? plan + " A by class" : plan;
  }
  if ((chip.rung == "ffma_tiles" || chip.rung == "as_fp32") && chip.m == 256) {
    return "tile 32x64 thread 8x8 lanes 4 slices 4 quads 2 by steps A transposed words B boxes "
           "splits 2";
  }
  if (chip.rung == "short_k_mma" && is_ragged) {
    return fmt::format("tile 32x32 warps 16x16 depth {} stages 1 blocks 6",
                       chip.precision == "tf32" ? 256 : 128);
  }
  if (chip.rung == "short_k_mma" && chip.precision == "bf16" && chip.m == 200) {
    return "tile 32x32 warps 16x16 depth 256 stages 1 blocks 6";
  }
  return {};
}

std::optional<Counts> count_plan(const MeasuredGemm& chip, Device& device) {
  const bool as_fp32 = chip.rung == "as_fp32";
  const Precision precision = as_fp32 ? Precision::fp32 : parse_precision(chip.precision);
  const operations::GemmProblem problem = operations::dense_problem(
      {chip.m, chip.n, chip.k}, precision, operations::operand_type(precision),
      operations::usual_result_type(precision));
  const auto run = operations::gemm_variant(as_fp32 ? "ffma_tiles" : chip.rung)
                       .prepare_plan(device, problem, measured_plan(chip));
  const auto zeros = [&](std::int64_t rows, std::int64_t columns, DataType type) {
    const std::size_t bytes = static_cast<std::size_t>(rows * columns) * size_of(type);
    Buffer buffer = device.allocate(bytes, "operand");
    device.fill(buffer.address(), 0, bytes);
    return buffer;
  };
  const Buffer a = zeros(chip.m, chip.k, problem.a.type), b = zeros(chip.k, chip.n, problem.b.type),
               c = zeros(chip.m, chip.n, problem.c.type);
  const measure::LaunchCounter counter(device);
  run->run({.a = a.address(), .b = b.address(), .c = c.address()});
  return counter.result();
}

std::optional<Counts> count(const MeasuredGemm& chip, const std::shared_ptr<Device>& device) {
  if (!measured_plan(chip).empty()) return count_plan(chip, *device);
  ProblemOptions options;
  options.precision = chip.precision;
  options.rows = chip.m, options.columns = chip.n, options.inner = chip.k;
  const auto operation = operations::make_operation("matmul", options);
  for (const operations::VariantInfo& info : operation->variants()) {
    if (info.name != chip.rung) continue;
    const auto prepared = operation->prepare(info, *device);
    const measure::LaunchCounter counter(*device);
    prepared->run(0);
    return counter.result();
  }
  ADD_FAILURE() << "no such rung";
  return std::nullopt;
}

// Whether the kernels write in global memory otherwise than when they were measured: rows of C that
// begin anywhere leave in whole chunks, not in four stores of each.
bool has_changed(const MeasuredGemm& chip) {
  static const std::set<std::string> of_tensor_tiles{"cluster", "persistent", "specialised",
                                                     "tensor_tiles", "wide_tiles"};
  return chip.rung == "short_k_mma" || (chip.n % 8 != 0 && of_tensor_tiles.contains(chip.rung));
}

// Loads from shared memory of the PTX that the machine code does not make, where rows of C begin
// anywhere: the elements before and behind a row's 16-byte chunks are read by lanes that part in
// the PTX, for which ptxas makes predicates.
std::uint64_t joined_shared_loads(const MeasuredGemm& chip) {
  static const std::map<std::pair<std::string, std::string>, std::uint64_t> of_ragged_rows{
      {{"cluster", "bf16"}, 63},     {{"specialised", "bf16"}, 63},   {{"persistent", "bf16"}, 63},
      {{"wide_tiles", "bf16"}, 63},  {{"tensor_tiles", "bf16"}, 126}, {{"cluster", "tf32"}, 62},
      {{"specialised", "tf32"}, 62}, {{"tensor_tiles", "tf32"}, 62},  {{"persistent", "tf32"}, 62},
      {{"wide_tiles", "tf32"}, 62}};
  if (chip.n % 8 == 0) return 0;
  const auto found = of_ragged_rows.find({chip.rung, chip.precision});
  return found == of_ragged_rows.end() ? 0 : found->second;
}

void expect_tensor_counts(const MeasuredGemm& chip, const OperationCounts& ours) {
  const std::uint64_t group = chip.at("sm__inst_executed_pipe_tensor_op_gmma");
  // The metric of all tensor instructions has HFMA2.MMA in it, which moves constants.
  const bool by_warps = chip.rung == "mma_sync" || chip.rung == "short_k_mma";
  EXPECT_EQ(ours.tensor, by_warps ? chip.at("sm__inst_executed_pipe_tensor_op_hmma") : group);
  EXPECT_EQ(ours.tensor_flops, chip.at("sm__ops_path_tensor"));
  EXPECT_EQ(ours.tensor_bytes, chip.at("sm__sass_data_bytes_mem_shared_op_gmma"));
  EXPECT_EQ(ours.tensor_bytes / 128, chip.at("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma"));
  EXPECT_EQ(chip.at("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_gmma"), 0u);
}

void expect_bulk_counts(const MeasuredGemm& chip, const Counts& ours) {
  EXPECT_EQ(ours.bulk_load.requests, chip.at("smsp__inst_executed_op_tma_ld"));
  EXPECT_EQ(ours.bulk_store.requests, chip.at("smsp__inst_executed_op_tma_st"));
  EXPECT_EQ(ours.bulk_store.sectors,
            chip.at("l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st"));
  const std::string loaded = "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld_dest_";
  EXPECT_EQ(ours.bulk_load.sectors, chip.at(loaded + "self") + chip.at(loaded + "multicast"));
}

void expect_global_counts(const MeasuredGemm& chip, const Counts& ours) {
  const auto requests = [&](const std::string& op) {
    return chip.at("l1tex__t_requests_pipe_lsu_mem_global_op_" + op);
  };
  const auto sectors = [&](const std::string& op) {
    return chip.at("l1tex__t_sectors_pipe_lsu_mem_global_op_" + op);
  };
  EXPECT_EQ(ours.global_load.requests, requests("ld"));
  if (!has_changed(chip)) {
    EXPECT_EQ(ours.global_load.sectors, sectors("ld"));
    EXPECT_EQ(ours.global_store.requests, requests("st"));
    EXPECT_EQ(ours.global_store.sectors, sectors("st"));
    return;
  }
  // In bf16 another kernel copies these rungs' operands.
  if (chip.rung != "short_k_mma" && chip.precision == "bf16") {
    EXPECT_LT(ours.global_load.sectors, sectors("ld"));
  } else {
    EXPECT_EQ(ours.global_load.sectors, sectors("ld"));
  }
  EXPECT_LT(ours.global_store.requests, requests("st"));
  EXPECT_LT(ours.global_store.sectors, sectors("st"));
}

void expect_shared_counts(const MeasuredGemm& chip, const Counts& ours) {
  const auto compare = [&](const std::string& op, const WavefrontCounts& counts,
                           std::uint64_t joined) {
    const std::uint64_t waves = chip.at("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_" + op);
    const std::uint64_t conflicts =
        chip.at("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_" + op);
    // ncu took the two in different replays of a cluster, whose blocks wait for each other.
    const std::uint64_t apart = chip.rung == "cluster" ? 16 : 0;
    EXPECT_LE(counts.ideal_wavefronts - joined, waves - conflicts) << op;
    EXPECT_GE(counts.ideal_wavefronts - joined + apart, waves - conflicts) << op;
    // Other data keep the path busy now and then, and accesses are repeated; bulk copies do so for
    // most of a small product.
    const std::uint64_t repeated = ours.bulk_load.requests == 0 ? waves / 50 : waves / 3;
    EXPECT_LE(counts.conflicts(), conflicts) << op;
    EXPECT_GE(counts.conflicts() + repeated, conflicts) << op;
  };
  compare("ld", ours.shared_load, joined_shared_loads(chip));
  compare("st", ours.shared_store, 0);
  EXPECT_EQ(ours.shared_atomic.wavefronts, 0u);  // mbarriers have a unit of their own
}

// Compares the products whose kernels have changed, or the others; how many these are.
int compare_products(bool changed) {
  const auto device = Device::open("emulated:h200");
  int compared = 0;
  for (const MeasuredGemm& chip : measured_gemms()) {
    if (has_changed(chip) != changed) continue;
    SCOPED_TRACE(chip.text());
    const std::optional<Counts> ours = count(chip, device);
    if (!ours) continue;
    EXPECT_EQ(ours->operations.ffma, chip.at("smsp__sass_thread_inst_executed_op_ffma_pred_on"));
    EXPECT_EQ(ours->operations.dfma, chip.at("smsp__sass_thread_inst_executed_op_dfma_pred_on"));
    expect_tensor_counts(chip, ours->operations);
    expect_bulk_counts(chip, *ours);
    expect_global_counts(chip, *ours);
    expect_shared_counts(chip, *ours);
    ++compared;
  }
  return compared;
}

TEST(GemmCounts, AgreeWithTheChip) {
  if (!testing::has_compiler()) GTEST_SKIP() << "no NVRTC";
  EXPECT_GT(compare_products(false), 0);
}

// All but their stores, of which there are fewer.
TEST(GemmCounts, OfKernelsThatHaveChangedAgreeWithTheChip) {
  if (!testing::has_compiler()) GTEST_SKIP() << "no NVRTC";
  if (const int changed = compare_products(true); changed > 0) {
    GTEST_SKIP() << "all but the stores of " << changed
                 << " products was compared; these are to be "
                 << "measured again on a GPU (bench/ncu_gemm.sh): the kernels have changed";
  }
}

}  // namespace
}  // namespace tilescope::observe
