// The counts of the GEMM rungs, those for Hopper among them, against what Nsight Compute measured
// on an H200, all launches of a run together (data/ncu/gemm_h200.csv, by bench/ncu_gemm.sh). A
// metric that is missing there was 0.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "device/emulated/emulated_device.hpp"
#include "matmul_rungs.hpp"
#include "measure/counting.hpp"
#include "operations/registry.hpp"

namespace tilescope::observe {
namespace {

struct Measured {
  std::string rung, precision;
  std::int64_t m = 0, n = 0, k = 0;
  std::map<std::string, std::uint64_t> metrics;

  std::uint64_t at(const std::string& metric) const {
    const auto found = metrics.find(metric + ".sum");
    return found == metrics.end() ? 0 : found->second;
  }
  std::string text() const { return fmt::format("{} {}, {} x {} x {}", rung, precision, m, n, k); }
};

std::vector<Measured> measured() {
  std::vector<Measured> result;
  for (const auto& cells : testing::table_rows(TILESCOPE_TEST_DATA "/ncu/gemm_h200.csv", 7)) {
    const Measured of{
        cells[0], cells[1], std::stoll(cells[2]), std::stoll(cells[3]), std::stoll(cells[4]), {}};
    if (result.empty() || result.back().text() != of.text()) result.push_back(of);
    result.back().metrics[cells[5]] = std::stoull(cells[6]);
  }
  return result;
}

std::optional<Counts> count(const Measured& chip, const std::shared_ptr<Device>& device) {
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

/// Rows of C that begin anywhere: the kernels store them in pieces, by branches of which ptxas
/// makes fewer.
bool stores_in_pieces(const Measured& chip) {
  static const std::set<std::string> in_pieces{"cluster", "persistent", "specialised",
                                               "tensor_tiles", "wide_tiles"};
  return chip.n % 8 != 0 && in_pieces.contains(chip.rung);
}

/// The copy engine brings what lies outside the tensor too, as zeros; a copy to several blocks
/// counts in each.
bool only_whole_boxes(const Measured& chip) {
  return chip.m == 256 && chip.rung != "cluster";
}

void expect_tensor_counts(const Measured& chip, const OperationCounts& ours) {
  const std::uint64_t group = chip.at("sm__inst_executed_pipe_tensor_op_gmma");
  // The metric of all tensor instructions has HFMA2.MMA in it, which moves constants.
  const bool by_warps = chip.rung == "mma_sync";
  EXPECT_EQ(ours.tensor, by_warps ? chip.at("sm__inst_executed_pipe_tensor_op_hmma") : group);
  EXPECT_EQ(ours.tensor_flops, chip.at("sm__ops_path_tensor"));
  EXPECT_EQ(ours.tensor_bytes, chip.at("sm__sass_data_bytes_mem_shared_op_gmma"));
  EXPECT_EQ(ours.tensor_bytes / 128, chip.at("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma"));
  EXPECT_EQ(chip.at("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_gmma"), 0u);
}

void expect_bulk_counts(const Measured& chip, const Counts& ours) {
  EXPECT_EQ(ours.bulk_load.requests, chip.at("smsp__inst_executed_op_tma_ld"));
  EXPECT_EQ(ours.bulk_store.requests, chip.at("smsp__inst_executed_op_tma_st"));
  EXPECT_EQ(ours.bulk_store.sectors,
            chip.at("l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st"));
  const std::string loaded = "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld_dest_";
  const std::uint64_t arrived = chip.at(loaded + "self") + chip.at(loaded + "multicast");
  if (only_whole_boxes(chip)) {
    EXPECT_EQ(ours.bulk_load.sectors, arrived);
  } else {
    EXPECT_LE(ours.bulk_load.sectors, arrived);
  }
}

void expect_global_counts(const Measured& chip, const Counts& ours) {
  const auto requests = [&](const std::string& op) {
    return chip.at("l1tex__t_requests_pipe_lsu_mem_global_op_" + op);
  };
  const auto sectors = [&](const std::string& op) {
    return chip.at("l1tex__t_sectors_pipe_lsu_mem_global_op_" + op);
  };
  EXPECT_EQ(ours.global_load.requests, requests("ld"));
  // The sectors of cp.async past the L1 cache differ where rows of a tile have 64 bytes.
  const bool differ = chip.rung == "mma_sync" && chip.precision != "tf32" && chip.m != 125;
  EXPECT_EQ(ours.global_load.sectors == sectors("ld"), !differ)
      << ours.global_load.sectors << ", chip " << sectors("ld");
  if (stores_in_pieces(chip)) {
    EXPECT_GT(ours.global_store.requests, requests("st"));
    EXPECT_LT(ours.global_store.requests, requests("st") * 4 / 3);
  } else {
    EXPECT_EQ(ours.global_store.requests, requests("st"));
    EXPECT_EQ(ours.global_store.sectors, sectors("st"));
  }
}

void expect_shared_counts(const Measured& chip, const Counts& ours) {
  const auto compare = [&](const std::string& op, const WavefrontCounts& counts) {
    const std::uint64_t waves = chip.at("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_" + op);
    const std::uint64_t conflicts =
        chip.at("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_" + op);
    if (chip.rung == "cluster") {  // arrivals at barriers of the other block are among its stores
      EXPECT_LE(counts.ideal_wavefronts, waves - conflicts) << op;
      EXPECT_GE(counts.ideal_wavefronts + 16, waves - conflicts) << op;
    } else {
      EXPECT_EQ(counts.ideal_wavefronts, waves - conflicts) << op;
    }
    // Bulk copies and other data keep the path busy now and then, and accesses are repeated.
    EXPECT_LE(counts.conflicts(), conflicts) << op;
  };
  if (!stores_in_pieces(chip)) compare("ld", ours.shared_load);
  if (!stores_in_pieces(chip)) compare("st", ours.shared_store);
  EXPECT_EQ(ours.shared_atomic.wavefronts, 0u);  // mbarriers have a unit of their own
}

TEST(GemmCounts, AgreeWithTheChip) {
  if (!testing::has_compiler()) GTEST_SKIP() << "no NVRTC";
  const auto device = Device::open("emulated:h200");
  for (const Measured& chip : measured()) {
    SCOPED_TRACE(chip.text());
    const std::optional<Counts> ours = count(chip, device);
    if (!ours) continue;
    EXPECT_EQ(ours->operations.ffma, chip.at("smsp__sass_thread_inst_executed_op_ffma_pred_on"));
    EXPECT_EQ(ours->operations.dfma, chip.at("smsp__sass_thread_inst_executed_op_dfma_pred_on"));
    expect_tensor_counts(chip, ours->operations);
    expect_bulk_counts(chip, *ours);
    expect_global_counts(chip, *ours);
    expect_shared_counts(chip, *ours);
  }
}

}  // namespace
}  // namespace tilescope::observe
