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
  if (chip.rung == "tensor_tiles" && !is_ragged) {
    return chip.precision == "bf16"
               ? "tile 64x48 consumers 1 stages 8 cluster 1 splits 1 group 8 boxes 2 transposed"
               : "tile 64x64 consumers 2 stages 8 cluster 1 splits 1 group 8 boxes 2 in turn";
  }
  if (chip.rung == "register_operand" && !is_ragged) {
    return "tile 16x64 products 1 consumers 1 stages 12 pair 0 splits 1 group 8";
  }
  if ((chip.rung == "ffma_tiles" || chip.rung == "as_fp32") && chip.m == 256) {
    return "tile 32x64 thread 8x8 lanes 4 slices 4 quads 2 by steps A transposed words B boxes "
           "splits 2";
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

// Accesses that the PTX makes twice and the machine code once, where rows of C begin anywhere:
// lanes with an element before a row's 16-byte chunks and lanes with one behind them part in the
// PTX, and ptxas makes predicates for both. docs/parity.md has the counts of each instruction.
struct Joined {
  std::uint64_t shared_loads = 0, stores = 0, store_sectors = 0;
};
Joined joined_accesses(const MeasuredGemm& chip) {
  if (chip.n % 8 == 0) return {};
  const bool is_tf32 = chip.precision == "tf32";
  const Joined of_rungs = is_tf32 ? Joined{.shared_loads = 64, .stores = 62}
                                  : Joined{.shared_loads = 64, .stores = 63, .store_sectors = 62};
  if (chip.rung == "tensor_tiles") {
    return is_tf32 ? of_rungs : Joined{.shared_loads = 128, .stores = 126};
  }
  static const std::set<std::string> of_tensor_tiles{"cluster", "persistent", "specialised",
                                                     "wide_tiles"};
  return of_tensor_tiles.contains(chip.rung) ? of_rungs : Joined{};
}

// Products of short_k_mma that the chip counts though a predicate turns them off: of the stage's
// last steps of k, where a part of a fragment follows.
std::uint64_t predicated_products(const MeasuredGemm& chip) {
  return chip.rung == "short_k_mma" && chip.k == 61 ? 128 : 0;
}

void expect_tensor_counts(const MeasuredGemm& chip, const OperationCounts& ours) {
  const std::uint64_t group = chip.at("sm__inst_executed_pipe_tensor_op_gmma");
  // The metric of all tensor instructions has HFMA2.MMA in it, which moves constants.
  const bool by_warps = chip.rung == "mma_sync" || chip.rung == "short_k_mma";
  const std::uint64_t off = predicated_products(chip);
  EXPECT_EQ(ours.tensor + off, by_warps ? chip.at("sm__inst_executed_pipe_tensor_op_hmma") : group);
  EXPECT_EQ(ours.tensor_flops + (off > 0 ? off * (ours.tensor_flops / ours.tensor) : 0),
            chip.at("sm__ops_path_tensor"));
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
  EXPECT_EQ(ours.global_load.sectors, sectors("ld"));
  const Joined joined = joined_accesses(chip);
  EXPECT_EQ(ours.global_store.requests - joined.stores, requests("st"));
  EXPECT_EQ(ours.global_store.sectors - joined.store_sectors, sectors("st"));
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
  compare("ld", ours.shared_load, joined_accesses(chip).shared_loads);
  compare("st", ours.shared_store, 0);
  EXPECT_EQ(ours.shared_atomic.wavefronts, 0u);  // mbarriers have a unit of their own
}

TEST(GemmCounts, AgreeWithTheChip) {
  if (!testing::has_compiler()) GTEST_SKIP() << "no NVRTC";
  const auto device = Device::open("emulated:h200");
  int compared = 0;
  for (const MeasuredGemm& chip : measured_gemms()) {
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
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace tilescope::observe
