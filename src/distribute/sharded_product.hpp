// A product over several devices: each computes its rows of C, and panels of B go round.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tilescope/device.hpp>
#include <tilescope/sharded.hpp>
#include <utility>
#include <vector>

#include "device/peer_link.hpp"
#include "distribute/panels.hpp"
#include "distribute/sharded_problem.hpp"
#include "distribute/shares.hpp"
#include "operations/gemm/product/device_product.hpp"
#include "operations/gemm/product/recorded_product.hpp"

namespace tilescope::distribute {

/// Whether a device's rows of A are there when the product begins, or arrive while it runs.
enum class Rows { there, arriving };

/// A problem ready to run. Each device holds up to three panels of B, the bias, and what the
/// kernels need. A single device takes its B as the one panel. Where the kernel can wait for
/// columns that arrive while it runs, there is one panel too, all of B.
class ShardedProduct {
 public:
  /// Chooses how to compute; the shards need no addresses yet. `variant`: a kernel of the GEMM
  /// table; empty: that of one device for the whole product. `memory_of_b`: that of its shards, as
  /// links between devices need it.
  ShardedProduct(const ShardedProblem& problem, const std::string& variant, Rows rows,
                 Reach memory_of_b, const PanelPlan& plan = {});

  // Both take milliseconds. Each device may have a thread of its own.

  /// Allocates a device's panels, and connects it with the others.
  void connect(std::size_t device);
  /// Then allocates and loads what its products need, for shards at these addresses.
  void prepare(std::size_t device, const operations::GemmAddresses& at);
  /// Both for all devices, for shards that lie where the problem says.
  void prepare();
  /// Whether one launch computes all of a device's C while B arrives.
  bool awaits_columns() const { return !arriving_.empty(); }
  /// Complete when all devices are prepared.
  ShardedReport report() const;

  /// Queues the product on a stream of each device.
  void launch(std::span<const Stream> streams);

  // The parts of launch(), for callers that bring A and B piece by piece: each device may have a
  // thread of its own.

  /// The panels of B and C in the order in which they are multiplied.
  std::span<const Range> panels() const { return panels_; }
  /// Into how many parts each device's rows are divided.
  std::int64_t parts() const { return parts_; }
  /// The pieces in the order in which they are multiplied.
  std::span<const Piece> pieces() const { return pieces_; }
  /// The rows of a piece, of those of the device.
  Range rows_of(std::size_t device, const Piece& piece) const;
  /// Queues a piece's product on a device that has rows, and with the first piece of a panel the
  /// panel's copies, after `sent`: for each device an event that is recorded behind all it has of
  /// the piece.
  void multiply(std::size_t device, std::size_t piece, std::span<const Event> sent);
  /// Lets a stream of the device wait for its products of a panel.
  void wait_for_panel(std::size_t device, std::size_t panel, const Stream& stream) const;
  /// Milliseconds from `begin`, an event of the device, to the begin of the first product and to
  /// the end of the last.
  std::pair<double, double> computed_ms(std::size_t device, const Event& begin) const;
  /// Frees a device's memory, which no device uses any more.
  void release(std::size_t device);

 private:
  static constexpr std::size_t most_slots = 3;     // one computes, one arrives, one is handed over
  static constexpr std::size_t compute_count = 2;  // the next panel's blocks fill idle SMs

  /// Memory for one panel of B on one device.
  struct Slot {
    Buffer memory;
    std::vector<Event> arrived;  ///< the rows on each way
  };
  /// Rows of B that come to a device by a stream of their own.
  struct Way {
    std::size_t sender = 0;
    Range rows;  ///< of the sender's
    Stream copies;
    Event received;  ///< all panels
  };
  /// One device with what it needs to take part.
  struct Member {
    Shard shard;
    std::size_t index = 0;
    std::vector<device::PeerLink> links;  ///< from each device
    std::vector<Way> ways;
    std::array<Stream, compute_count> computes;
    std::array<Buffer, compute_count> workspaces;
    std::vector<Slot> slots;
    Buffer arrived;  ///< a word for each piece of B, where the kernel waits for them
    Event reset;     ///< these are 0
    Buffer bias;
    std::vector<Range> parts;  ///< of its rows
    operations::CommonKernels kernels;
    std::vector<std::unique_ptr<operations::RecordedProduct>> products;  ///< one for each piece
    std::vector<Event> done;                                             ///< the same
    Event started;                                                       ///< the first product
    bool is_alike = true;  ///< whether its kernel is that of one device for the whole product
    Event ready;           ///< what the caller queued before
    std::array<Event, compute_count> computed;  ///< all products of each stream
  };

  void divide(Rows rows);
  void await_columns_if_possible();
  /// The fastest kernel for a part that adds as the whole's and can wait for B; nothing if none
  /// can.
  std::optional<operations::DeviceChoice> choose_awaiting(const Member& member,
                                                          const operations::GemmProblem& part,
                                                          const operations::Arrival& arrival) const;
  operations::Arrival arrival_at(const Member& member, std::int64_t columns,
                                 std::int64_t rows) const;
  operations::GemmProblem part(const Shard& shard, std::int64_t rows, const Range& panel) const;
  operations::GemmAddresses addresses(const Member& member, const Piece& piece) const;
  void prepare_pieces(Member& member);
  void fetch(Member& member, std::size_t panel);
  void fetch(Member& member, const Way& way, const Range& rows, const Range& columns,
             const Slot& slot, std::int64_t begin = 0);
  void fetch_while_computing(Member& member);
  void compute(Member& member, std::size_t piece);
  void finish(Member& member, const Stream& stream);

  bool moves_panels() const { return members_.size() > 1; }
  std::int64_t pieces_of_a_panel() const {
    return (whole_.shape.k + arriving_rows_ - 1) / arriving_rows_;
  }

  operations::GemmProblem whole_;
  Reach memory_of_b_;
  PanelPlan plan_;
  Precision precision_ = Precision::fp32;  ///< that was asked for
  operations::DeviceChoice choice_;        ///< for the whole
  bool adds_as_one_ = true;                ///< in the order of one device, whose B is not in panels
  std::span<const float> bias_;            ///< in host memory
  std::vector<Range> panels_;
  std::vector<Range> arriving_;     ///< columns of the one panel, where the kernel waits for them
  std::int64_t arriving_rows_ = 0;  ///< of a piece of these
  std::int64_t parts_ = 1;
  std::vector<Piece> pieces_;
  std::vector<Range> rows_;    ///< of C, of each device
  std::vector<Range> depths_;  ///< the rows of B of each device
  std::vector<Member> members_;
};

}  // namespace tilescope::distribute
