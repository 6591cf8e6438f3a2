// The checks of a block's asynchronous copies: until a cp.async was waited for, its target and its
// source are not its threads'; a bulk copy brings and takes what is defined.
#include <algorithm>
#include <bit>

#include "observe/check/check_block.hpp"

namespace tilescope::observe {

namespace {

using emulator::Access;
using emulator::LaneMask;

}  // namespace

void CheckBlock::begin_copies(const Access& target) {
  WarpCopies& copies = copies_[target.warp];
  for (LaneMask m = target.mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(m));
    const auto [source, source_bytes] = copy_sources_[lane];
    copies.pending.push_back(
        {target.addresses[lane],
         source,
         target.bytes,
         source_bytes,
         copies.committed[lane],
         static_cast<std::uint8_t>(lane),
         {order_.time(), AccessTag::of(target.instruction, target.warp, static_cast<int>(lane),
                                       Strength::plain)}});
  }
  has_copied_ = copies_pending_ = true;
  copy_sources_ = {};
}

/// Until a copy was waited for, it may still read its source.
void CheckBlock::check_copy_sources(const Access& access) {
  copies_pending_ = false;
  for (const WarpCopies& copies : copies_) {
    for (const Copy& copy : copies.pending) {
      copies_pending_ = true;
      for (LaneMask m = access.mask; m != 0; m &= m - 1) {
        const int lane = std::countr_zero(m);
        const std::uint64_t first = std::max(copy.source, access.addresses[lane]);
        if (first < copy.source + copy.source_bytes &&
            first < access.addresses[lane] + access.bytes) {
          races_.overwrite_source(copy.start, access, lane, first);
        }
      }
    }
  }
}

void CheckBlock::async_group(const emulator::AsyncGroup& group) {
  WarpCopies& copies = copies_[group.warp];
  has_copied_ = true;
  if (group.pending < 0) {
    for (LaneMask m = group.mask; m != 0; m &= m - 1) {
      ++copies.committed[static_cast<std::size_t>(std::countr_zero(m))];
    }
    return;
  }
  const auto done = [&](const Copy& copy) {
    if ((group.mask >> copy.lane & 1) == 0) return false;
    return group.ungrouped ||
           copy.group + static_cast<std::uint32_t>(group.pending) < copies.committed[copy.lane];
  };
  for (const Copy& copy : copies.pending) {
    if (done(copy)) {
      races_.finish_copy(copy.address, copy.bytes, group.warp, copy.lane, shared_);
    }
  }
  std::erase_if(copies.pending, done);
}

/// Whether threads of this block, or of blocks that it may know of, have written the byte.
bool CheckBlock::has_written(std::uint64_t address) const {
  bool written = launch_.grid_order && launch_.grid_order->written(address);
  global_.visit(address, 1, [&](const Cell& cell, std::uint64_t) {
    const std::uint32_t start = order_.block_start();
    written = written || cell.write.time >= start || cell.atomic.time >= start;
  });
  return written;
}

/// Marks the bytes that a bulk load brings as defined where its source is.
void CheckBlock::bulk_load(const emulator::BulkPiece& piece) {
  const emulator::Allocation* in =
      piece.filled || launch_.all_initialised ? nullptr : launch_.info.memory.find(piece.from);
  if (in == nullptr || in->fully_initialised()) {
    shared_contents_.set(piece.to, piece.bytes);
    return;
  }
  for (std::uint32_t i = 0; i < piece.bytes; ++i) {
    const std::uint64_t from = piece.from + i;
    const bool defined = in->initialised(from - in->address(), 1) ||
                         launch_.bulk_writes.contains(from) || has_written(from);
    if (defined) {
      shared_contents_.set(piece.to + i, 1);
    } else {
      shared_contents_.clear(piece.to + i, 1);
    }
  }
}

/// Bytes that are not defined stay so.
void CheckBlock::bulk_store(const emulator::BulkPiece& piece) {
  if (shared_contents_.all(piece.from, piece.bytes)) {
    launch_.bulk_writes.add(piece.to, piece.bytes);
    return;
  }
  for (std::uint32_t i = 0; i < piece.bytes; ++i) {
    if (shared_contents_.all(piece.from + i, 1)) launch_.bulk_writes.add(piece.to + i, 1);
  }
}

void CheckBlock::bulk_issued(const emulator::BulkEvent& issued) {
  if (protocols_.grid.watches()) protocols_.grid.issue(issued);
  if (async_) async_->issued(rank_, issued);
}

void CheckBlock::bulk_group(const emulator::BulkGroup& group) {
  if (async_) async_->bulk_group(rank_, group);
}

void CheckBlock::matrix_product(const emulator::MatrixIssue& issue) {
  if (async_) async_->product(rank_, issue);
}

void CheckBlock::matrix_order(const emulator::MatrixOrder& order) {
  if (async_) async_->matrix_order(rank_, order);
}

void CheckBlock::mbarrier(const emulator::MbarrierUse& use) {
  if (use.action == emulator::MbarrierAction::test &&
      launch_.roles[use.origin.instruction].ignored) {
    protocols_.mbarriers.ignored_test(use);
  }
  protocols_.use(use);
  if (async_) async_->mbarrier(rank_, use);
}

void CheckBlock::proxy_fence(const emulator::ProxyFence& fence) {
  protocols_.mbarriers.fence(fence);
  if (async_) async_->proxy_fence(rank_, fence);
}

void CheckBlock::bulk_done(const emulator::BulkEvent& done) {
  if (async_) async_->done(rank_, done);
  for (const emulator::BulkPiece& piece : done.pieces) {
    switch (done.kind) {
      case emulator::BulkKind::load:
        bulk_load(piece);
        break;
      case emulator::BulkKind::store:
        bulk_store(piece);
        break;
      case emulator::BulkKind::exchange:  // the neighbour's contents are not known here
      case emulator::BulkKind::registers:
        shared_contents_.set(piece.to, piece.bytes);
        break;
      case emulator::BulkKind::prefetch:
        break;
    }
  }
}

}  // namespace tilescope::observe
