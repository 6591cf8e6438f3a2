// The rungs of distributed products on the CPUs of ranks, beside what the model of the network
// predicts from the rates of its links and of single blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "ranks/group.hpp"
#include "ranks/ladder/network_model.hpp"

namespace tilescope::ranks {

struct MeasuredRung {
  DistributedRung rung = DistributedRung::broadcast_all;
  Layout layout;
  bool is_right = false;
  double time_s = 0.0;  ///< median of the samples, each of the slowest rank
  double fastest_s = 0.0, slowest_s = 0.0;
  double compute_s = 0.0;  ///< products, the mean of the ranks, in the median sample
  NetworkModel model;      ///< measured links; the rate of this rung's blocks
  PlayedRung predicted;
};

/// Climbs `rungs` on all ranks, which all call it. Every element of every result is verified before
/// and after the timing; a rung with a wrong one has no times.
std::vector<MeasuredRung> measure_rungs(const Session& session, const MatmulShape& shape,
                                        const std::vector<DistributedRung>& rungs, int samples,
                                        std::uint64_t seed);

}  // namespace tilescope::ranks
