// The programs of all ranks on a model of a network: when each computes, waits and sends.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ranks/ladder/rank_program.hpp"

namespace tilescope::ranks {

/// Every rank has one link into the network and one out of it, each busy with one message at a
/// time. A message takes latency + bytes / rate, and begins when its block is there, its receiver
/// has room for it and both links are free. The network between the links is never full.
struct NetworkModel {
  double latency_s = 0.0;
  double bytes_per_second = 1.0;  ///< of a link, each way
  double flops_per_second = 1.0;  ///< of a rank's products
  std::int64_t element_bytes = 4;
  /// Whether a rank's core moves its messages, as MPI does: none begins while one of both ranks
  /// multiplies, and one under way makes a product take longer. Copy engines and network cards do
  /// not need the core.
  bool core_moves = false;
};

/// A rung on a number of ranks.
struct PlayedRung {
  double time_s = 0.0;              ///< until the last rank is done
  double compute_s = 0.0;           ///< products, the mean of the ranks
  double most_compute_s = 0.0;      ///< and the most of any
  double link_s = 0.0;              ///< the busiest link
  std::int64_t sent_bytes = 0;      ///< by the rank that sends most
  std::int64_t received_bytes = 0;  ///< by the rank that receives most
  std::int64_t messages = 0;        ///< of all ranks
  std::int64_t held_bytes = 0;  ///< the most that a rank holds: its share of A, B, C, and panels

  /// Products over the whole time, of all ranks.
  double efficiency() const { return time_s > 0.0 ? compute_s / time_s : 1.0; }
  /// The part of the busiest link's time that products hide.
  double overlap() const;
  /// Bytes over what a link could have moved in the time.
  double link_share(const NetworkModel& model) const;
};

/// Seconds of one block's product; without it, by the model's rate.
using BlockTime = std::function<double(const BlockExtents& a, const BlockExtents& b)>;

PlayedRung play_rung(DistributedRung rung, const Layout& layout, const NetworkModel& model,
                     const BlockTime& block_time = {});

}  // namespace tilescope::ranks
