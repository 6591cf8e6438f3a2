// A product over several devices: each computes its rows of C, and panels of B go round.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <tilescope/device.hpp>
#include <tilescope/sharded.hpp>
#include <vector>

#include "device/peer_link.hpp"
#include "distribute/sharded_problem.hpp"
#include "distribute/shares.hpp"
#include "operations/gemm/product/device_product.hpp"
#include "operations/gemm/product/recorded_product.hpp"

namespace tilescope::distribute {

/// A problem ready to run. Each device holds three panels of B, the bias, and what the kernels
/// need. A single device takes its B as the one panel.
class ShardedProduct {
 public:
  /// `variant`: a kernel of the GEMM table; empty: that of one device for the whole product.
  ShardedProduct(const ShardedProblem& problem, const std::string& variant);

  /// Queues the product on a stream of each device.
  void launch(std::span<const Stream> streams);

  /// The panels of B and C in the order in which they are multiplied.
  std::span<const Range> panels() const { return panels_; }
  /// The parts of launch(), for callers that bring B panel by panel: each device may have a thread
  /// of its own. The products of a device come after `ready`, its own event.
  void begin(std::size_t device, const Event& ready);
  /// Queues a panel's copies and its product on a device that has rows, after `sent`: for each
  /// device an event that is recorded behind its rows of the panel. Records `done` behind the
  /// product.
  void multiply(std::size_t device, std::size_t panel, std::span<const Event> sent,
                const Event& done);

  const ShardedReport& report() const { return report_; }

 private:
  static constexpr std::size_t most_slots = 3;     // one computes, one arrives, one is handed over
  static constexpr std::size_t compute_count = 2;  // the next panel's blocks fill idle SMs

  /// Memory for one panel of B on one device.
  struct Slot {
    Buffer memory;
    std::vector<Event> arrived;  ///< the rows from each device
    Event used;                  ///< the panel's product
  };
  /// One device with what it needs to take part.
  struct Member {
    Shard shard;
    std::size_t index = 0;
    std::vector<device::PeerLink> links;  ///< from each device
    std::vector<Stream> copies;           ///< one for each link
    std::array<Stream, compute_count> computes;
    std::array<Buffer, compute_count> workspaces;
    std::vector<Slot> slots;
    Buffer bias;
    std::vector<std::unique_ptr<operations::RecordedProduct>> products;  ///< one for each panel
    bool is_alike = true;  ///< whether its kernel is that of one device for the whole product
    Event ready;           ///< what the caller queued before
    std::vector<Event> received;                ///< all rows from each device
    std::array<Event, compute_count> computed;  ///< all products of each stream
  };

  std::int64_t least_columns(const operations::DeviceChoice& whole) const;
  void connect(Member& member);
  operations::GemmProblem part(const Shard& shard, const Range& panel) const;
  operations::GemmAddresses addresses(const Member& member, std::size_t panel) const;
  void prepare(Member& member, const operations::DeviceChoice& whole);
  void fetch(Member& member, std::size_t panel);
  void compute(Member& member, std::size_t panel);
  void finish(Member& member, const Stream& stream);
  void complete_report();

  bool moves_panels() const { return members_.size() > 1; }

  operations::GemmProblem whole_;
  std::vector<Range> panels_;
  std::vector<Range> rows_;    ///< of C, of each device
  std::vector<Range> depths_;  ///< the rows of B of each device
  std::vector<Member> members_;
  ShardedReport report_;
};

}  // namespace tilescope::distribute
