// A product of matrices in files, computed by all ranks that a launcher started.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tilescope/device.hpp>
#include <tilescope/matmul.hpp>

#include "ranks/group.hpp"
#include "ranks/rank_grid.hpp"
#include "transfer/matmul_files.hpp"

namespace tilescope::ranks {

struct RankJob {
  std::string output;
  std::string device = "auto";  ///< as open_rank_device() takes it
  Order order = Order::row_major;
  MatmulOptions options;  ///< its bias is that of the files
  bool resume = false;    ///< finished bands stay, and the same call continues from them
  std::int64_t band = 0;  ///< columns that are computed at a time; 0: by the work
  std::optional<RankGrid> grid;
  bool exchange = false;  ///< ranks of one machine exchange panels too
  std::function<void(std::int64_t done, std::int64_t bands)> band_done;  ///< on rank 0
};

struct RankOutcome {
  /// compute_ms: of the slowest rank, with transfers and the making of C's file.
  MatmulReport report;
  RankGrid grid;
  int hosts = 1;
  std::int64_t bands = 0;
  DeviceKind device = DeviceKind::cpu;
  /// How parts of A and B go between ranks with GPUs: "nccl", "mpi" or "files", which all ranks
  /// read; empty on CPUs.
  std::string carrier;
  std::string why_not_nccl;
};

/// Computes the product on the devices of all ranks, which all call it. Each rank reads its share
/// of the files where it has them, and rank 0 sends it elsewhere; each writes its part of the
/// result where it sees the folder, and rank 0 does elsewhere. The bits are those of one CPU, or of
/// one GPU where report.note says nothing else.
///
/// All ranks throw the first rank's Error if any throws: usage for options that do not fit,
/// bad_input for files, also those that differ between machines.
RankOutcome multiply_with_ranks(const Session& session, const transfer::MatmulFiles& files,
                                const RankJob& job);

}  // namespace tilescope::ranks
