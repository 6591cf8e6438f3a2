// One rank's part in a product of all ranks, on a GPU. C stays where it is computed. A rank gets
// its rows of A once and its columns of B in panels, all of k at a time, while it multiplies the
// panel before. The kernel and plan are those of one GPU for the whole product, and so are the
// bits.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "operations/gemm/product/device_product.hpp"
#include "operations/gemm/product/recorded_product.hpp"
#include "operations/numerics/host_array.hpp"
#include "ranks/panel_exchange.hpp"
#include "ranks/rank_grid.hpp"
#include "ranks/rank_member.hpp"

namespace tilescope::ranks {

class GpuRankProduct {
 public:
  /// `problem` is the whole, with a row-major C, and the same on all ranks, but its operands have
  /// no data on ranks that do not see the files. It has products. `bands`: the columns of C that
  /// are computed at a time. `exchange`: parts go from GPU to GPU where files would do.
  GpuRankProduct(const Group& all, std::shared_ptr<Device> device,
                 const operations::HostProblem& problem, const RankGrid& grid,
                 std::vector<Range> bands, const Member& mine, bool exchange);

  std::span<const Range> bands() const { return bands_; }
  /// The elements of C that a rank computes of a band.
  Part part(int rank, const Range& band) const;
  /// Computes this rank's part of the band in matrix `index` of the batch into `c`, which has the
  /// addend where beta is not 0. All ranks call it for the same bands in the same order.
  void multiply(std::int64_t index, const Range& band, const MatrixView& c);

  std::string variant() const { return std::string(whole_choice_.kernel.variant->name); }
  /// The way of most parts: that of B where the columns of the grid have several ranks, else A's.
  Carrier carrier() const;
  /// Why NCCL is not the carrier; empty if it is, or if nothing moves.
  std::string why_not_nccl() const { return nccl_why_not_; }
  /// A remark for the reader where the bits may differ from one GPU's.
  std::string note() const { return note_; }

 private:
  static constexpr std::size_t slot_count = 2;  // one computes, one arrives

  /// One panel of B with the C that it makes.
  struct Slot {
    Buffer b, c;
    Event arrived, computed;
  };
  /// A product that is ready to be queued for panels of one width.
  struct Prepared {
    operations::GemmProblem problem;
    std::unique_ptr<operations::RecordedProduct> product;
  };

  void allocate();
  std::vector<Range> panels(int rank, const Range& band) const;
  void bring(PanelExchange& exchange, const ConstMatrixView& whole, DeviceAddress to,
             const std::function<Part(int rank)>& part_of, bool is_a);
  void bring_a(std::int64_t index);
  void bring_b(std::int64_t index, const Range& band, std::size_t panel);
  void prepare(std::int64_t width);
  void compute(std::size_t panel, const Range& columns, const Range& band, const MatrixView& c);
  void store(std::size_t panel, const Range& columns, const Range& band, const MatrixView& c);

  const Group& all_;
  std::shared_ptr<Device> device_;
  operations::HostProblem problem_;
  RankGrid grid_;
  MatmulShape shape_;
  Group row_, column_;
  std::vector<Member> members_;
  std::vector<Range> rows_, bands_;
  operations::GemmProblem whole_;
  operations::DeviceChoice whole_choice_;
  std::int64_t least_ = 0;  ///< columns of a panel, on the rank that needs most
  std::string note_, nccl_why_not_;
  std::optional<PanelExchange> a_exchange_, b_exchange_;
  Stream up_, compute_, down_;
  Buffer a_, bias_;
  std::array<Slot, slot_count> slots_;
  std::map<std::int64_t, Prepared> prepared_;  ///< by width
  operations::HostArray received_;
  std::int64_t a_index_ = -1;  ///< of the batch, in a_
};

}  // namespace tilescope::ranks
