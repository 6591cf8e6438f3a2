#include "ranks/panel_exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <tilescope/error.hpp>
#include <utility>

#include "operations/numerics/conversion.hpp"

namespace tilescope::ranks {
namespace {

std::vector<Range> vector_shares(const ConstMatrixView& matrix, int ranks) {
  return distribute::equal_shares(matrix.vectors(), ranks, 1);
}

}  // namespace

std::string_view name_of(Carrier carrier) {
  constexpr std::array<std::string_view, 3> names{"files", "nccl", "mpi"};
  return names[static_cast<std::size_t>(carrier)];
}

ConstMatrixView region_of(const ConstMatrixView& matrix, const Part& of) {
  if (matrix.data != nullptr) {
    return operations::part(matrix, of.rows.first, of.rows.count, of.columns.first,
                            of.columns.count);
  }
  ConstMatrixView region = matrix;
  region.rows = of.rows.count;
  region.columns = of.columns.count;
  return region;
}

ConstMatrixView own_part(const ConstMatrixView& matrix, int rank, int ranks) {
  const Range share = vector_shares(matrix, ranks)[static_cast<std::size_t>(rank)];
  return matrix.order == Order::row_major ? region_of(matrix, {share, {0, matrix.columns}})
                                          : region_of(matrix, {{0, matrix.rows}, share});
}

PanelExchange::PanelExchange(Device& device, const Group& group, std::optional<device::Nccl> nccl,
                             bool by_files)
    : device_(device), group_(group), nccl_(std::move(nccl)), by_files_(by_files) {
  if (carrier() == Carrier::mpi) uploaded_ = device.create_event();
}

Carrier PanelExchange::carrier() const {
  if (nccl_) return Carrier::nccl;
  return by_files_ || group_.size() == 1 ? Carrier::files : Carrier::mpi;
}

void PanelExchange::upload(const ConstMatrixView& from, DeviceAddress to,
                           const operations::GemmOperand& as, const Stream& stream) {
  if (from.empty()) return;
  const auto bytes = [&](std::int64_t elements) {
    return static_cast<std::size_t>(elements) * size_of(from.type);
  };
  device_.copy_rows_to_device(to, bytes(as.leading), from.data, bytes(from.leading),
                              bytes(from.vector_length()), static_cast<std::size_t>(from.vectors()),
                              stream);
}

void PanelExchange::bring(const ConstMatrixView& matrix, const ConstMatrixView& own,
                          DeviceAddress to, const operations::GemmOperand& as,
                          const Stream& stream) {
  if (carrier() == Carrier::files) {
    // A rank alone in its group brings all of it, wherever it has that from.
    return upload(group_.size() == 1 ? own : matrix, to, as, stream);
  }
  const std::size_t pitch = static_cast<std::size_t>(as.leading) * size_of(matrix.type);
  std::vector<device::Nccl::Piece> pieces;
  for (const Range& share : vector_shares(matrix, group_.size())) {
    pieces.push_back({to + static_cast<std::size_t>(share.first) * pitch,
                      static_cast<std::size_t>(share.count) * pitch});
  }
  const device::Nccl::Piece& mine = pieces[static_cast<std::size_t>(group_.rank())];
  if (nccl_) {
    upload(own, mine.address, as, stream);
    return nccl_->spread(pieces, stream);
  }
  const std::size_t all = static_cast<std::size_t>(matrix.vectors()) * pitch;
  device_.synchronize(uploaded_);
  if (staging_.bytes() < all) staging_ = PinnedBuffer(device_, all);
  auto* const host = static_cast<std::byte*>(staging_.data());
  if (!own.empty()) {
    MatrixView staged(own);
    staged.data = host + (mine.address - to);
    staged.leading = as.leading;
    operations::convert_matrix(own, staged);
  }
  std::vector<Transfer> transfers;
  for (int rank = 0; rank < group_.size(); ++rank) {
    const device::Nccl::Piece& piece = pieces[static_cast<std::size_t>(rank)];
    transfers.push_back(group_.broadcast(host + (piece.address - to), piece.bytes, rank));
  }
  for (Transfer& transfer : transfers) transfer.wait();
  device_.copy_to_device(to, host, all, stream);
  device_.record(uploaded_, stream);
}

GridNccl::GridNccl(const Group& all, const Group& row_group, const Group& column_group,
                   Device& device) {
  using Reason = std::array<char, 300>;
  const auto agree = [&](std::string_view reason) {
    Reason mine{};
    std::copy_n(reason.begin(), std::min(reason.size(), mine.size() - 1), mine.begin());
    for (const Reason& one : all.gather(mine)) {
      if (why_not.empty()) why_not = one.data();
    }
    return why_not.empty();
  };
  if (!agree(device.kind() == DeviceKind::cuda ? device::Nccl::missing()
                                               : "not every rank has a GPU")) {
    return;
  }
  const auto attempt = [&](const auto& work) {
    std::string reason;
    try {
      work();
    } catch (const Error& error) {
      reason = error.what();
    }
    return agree(reason);
  };
  const auto join = [&](const Group& group, std::optional<device::Nccl>& nccl) {
    device::Nccl::Name name{};
    const bool is_alone = group.size() == 1;
    const bool has_name = attempt([&] {
      if (!is_alone && group.rank() == 0) name = device::Nccl::new_name();
    });
    if (!has_name) return false;
    group.broadcast(name.data(), name.size(), 0).wait();
    return attempt([&] {
      if (!is_alone) nccl.emplace(device, name, group.rank(), group.size());
    });
  };
  if (join(row_group, row) && join(column_group, column)) return;
  row.reset();
  column.reset();
}

}  // namespace tilescope::ranks
