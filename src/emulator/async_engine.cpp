#include "emulator/async_engine.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "emulator/atomic_update.hpp"
#include "emulator/mbarrier_word.hpp"

namespace tilescope::emulator {
namespace {

std::uint8_t* host(std::uintptr_t base, std::uint64_t address) {
  return reinterpret_cast<std::uint8_t*>(base + address);
}

std::uint32_t bytes_of(const BulkOperation& operation) {
  std::uint32_t bytes = 0;
  for (const BulkPiece& piece : operation.pieces) bytes += piece.bytes;
  return bytes;
}

std::size_t thread_of(std::uint32_t warp, int lane) {
  return std::size_t{warp} * kWarpSize + static_cast<std::size_t>(lane);
}

/// Combines whole elements with what is there.
void combine(const BulkOperation& operation, std::uint8_t* to, const std::uint8_t* from,
             std::uint32_t bytes) {
  const AtomicUpdate update{operation.reduce, operation.type, operation.flushes, true};
  const unsigned element = ptx::byte_size(operation.type);
  std::uint64_t changes = 0;
  for (std::uint32_t i = 0; i + element <= bytes; i += element) {
    std::uint64_t value = 0;
    std::memcpy(&value, from + i, element);
    update.apply(to + i, element, changes, value);
  }
}

/// To nearest, ties to even; NaN to the one that the chip makes.
void round_to_tf32(std::uint8_t* at, std::uint32_t bytes) {
  constexpr std::uint32_t kExponent = 0x7f800000, kLost = 0x1fff, kNan = 0x7fffe000;
  constexpr unsigned kLostBits = 13;
  for (std::uint32_t i = 0; i + 4 <= bytes; i += 4) {
    std::uint32_t word;
    std::memcpy(&word, at + i, sizeof word);
    const bool is_nan = (word & kExponent) == kExponent && (word & ~kExponent) << 1 != 0;
    word = is_nan ? kNan : (word + kLost / 2 + (word >> kLostBits & 1)) & ~kLost;
    std::memcpy(at + i, &word, sizeof word);
  }
}

}  // namespace

void AsyncEngine::clear() {
  queue_.clear();
  committed_.clear();
}

void AsyncEngine::emit(const BlockObserverSlots& observers, const BulkOperation& operation,
                       bool done) {
  for (const auto& slot : observers) {
    if ((slot.events & kBulk) == 0) continue;
    const BulkEvent event{
        operation.origin, operation.kind,      operation.reduce != ptx::ReduceOp::none,
        operation.pieces, bytes_of(operation), operation.barrier,
        operation.serial, operation.copies,    operation.target,
        operation.map};
    if (done) {
      slot.observer->bulk_done(event);
    } else {
      slot.observer->bulk_issued(event);
    }
  }
}

void AsyncEngine::tell(const BulkOperation& operation, MbarrierAction action, MbarrierWord before,
                       MbarrierWord after, std::uint32_t bytes) const {
  for (const auto& slot : observers_) {
    if ((slot.events & kProtocol) == 0) continue;
    slot.observer->mbarrier({.origin = operation.origin,
                             .action = action,
                             .offset = operation.barrier,
                             .before = before,
                             .after = after,
                             .bytes = bytes});
  }
}

void AsyncEngine::tell_tile(const BulkOperation& operation) const {
  if (operation.kind != BulkKind::load || operation.pieces.empty()) return;
  TileUse tile{operation.origin, true, ~std::uint64_t{0}, 0, operation.span, 0};
  for (const BulkPiece& piece : operation.pieces) {
    tile.begin = std::min(tile.begin, piece.to);
    tile.end = std::max(tile.end, piece.to + piece.bytes);
  }
  for (const auto& slot : observers_) {
    if ((slot.events & kProtocol) != 0) slot.observer->tile(tile);
  }
}

void AsyncEngine::issue(const BlockObserverSlots& issuers, BulkOperation&& operation) {
  operation.serial = serial_++;
  if (operation.barrier == kNoBarrier && !committed_.empty()) {
    operation.group = committed_[thread_of(operation.origin.warp, operation.origin.lane)];
  }
  emit(issuers, operation, false);
  if (operation.barrier != kNoBarrier) {
    const MbarrierWord word = MbarrierWord::read(shared_ + operation.barrier);
    tell(operation, MbarrierAction::announce, word, word, operation.barrier_bytes);
    tell_tile(operation);
  }
  queue_.push_back(std::move(operation));
  if (schedule_ && schedule_->completes_at_issue()) finish_one(queue_.size() - 1);
}

bool AsyncEngine::finish_one(std::size_t index) {
  if (queue_[index].barrier_bytes == kAllBytes) return false;  // expected when it is waited for
  BulkOperation operation = std::move(queue_[index]);
  queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(index));
  perform(operation);
  return true;
}

bool AsyncEngine::finish_some() {
  return !queue_.empty() && schedule_->completes_now() &&
         finish_one(schedule_->below(queue_.size()));
}

void AsyncEngine::read_sources(BulkOperation& operation) const {
  if (std::exchange(operation.is_staged, true)) return;
  operation.staged.resize(bytes_of(operation));
  std::uint8_t* to = operation.staged.data();
  for (const BulkPiece& piece : operation.pieces) {
    if (piece.filled) {
      for (std::uint32_t i = 0; i < piece.bytes; ++i) {
        to[i] = operation.fill[i % operation.fill.size()];
      }
    } else {
      std::memcpy(to, host(operation.from_base, piece.from), piece.bytes);
      if (operation.rounds_to_tf32) round_to_tf32(to, piece.bytes);
    }
    to += piece.bytes;
  }
}

void AsyncEngine::perform(BulkOperation& operation) {
  read_sources(operation);
  const std::uint8_t* from = operation.staged.data();
  for (const BulkPiece& piece : operation.pieces) {
    std::uint8_t* const to = host(operation.to_base, piece.to);
    if (operation.reduce == ptx::ReduceOp::none) {
      std::memcpy(to, from, piece.bytes);
    } else {
      combine(operation, to, from, piece.bytes);
    }
    from += piece.bytes;
  }
  emit(observers_, operation, true);
  if (operation.barrier == kNoBarrier) return;
  std::uint8_t* const at = shared_ + operation.barrier;
  MbarrierWord word = MbarrierWord::read(at);
  const std::uint64_t expected =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, word.transactions()));
  const MbarrierWord before = word;
  const std::uint64_t bytes =
      operation.barrier_bytes == kAllBytes ? expected : operation.barrier_bytes;
  word.complete(bytes);
  word.write(at);
  tell(operation, MbarrierAction::complete, before, word, static_cast<std::uint32_t>(bytes));
}

bool AsyncEngine::finish_barrier(std::uint32_t offset) {
  if (queue_.empty() || (schedule_ && schedule_->holds_up())) return false;
  const auto parity = [&] { return MbarrierWord::read(shared_ + offset).parity(); };
  const std::uint64_t phase = parity();
  std::vector<BulkOperation> kept;
  const std::size_t before = queue_.size();
  for (BulkOperation& operation : queue_) {
    if (operation.barrier == offset && parity() == phase) {
      perform(operation);
    } else {
      kept.push_back(std::move(operation));
    }
  }
  queue_ = std::move(kept);
  return queue_.size() != before;
}

void AsyncEngine::commit_groups(std::uint32_t warp, LaneMask lanes) {
  if (committed_.empty()) committed_.resize(threads_);
  for (LaneMask m = lanes; m != 0; m &= m - 1) ++committed_[thread_of(warp, std::countr_zero(m))];
}

void AsyncEngine::wait_groups(std::uint32_t warp, LaneMask lanes, std::uint64_t pending,
                              bool read) {
  if (committed_.empty()) return;
  const auto is_due = [&](const BulkOperation& operation) {
    const BulkOrigin& origin = operation.origin;
    return operation.barrier == kNoBarrier && origin.warp == warp &&
           (lanes >> origin.lane & 1) != 0 &&
           operation.group + pending < committed_[thread_of(warp, origin.lane)];
  };
  std::vector<BulkOperation> kept;
  for (BulkOperation& operation : queue_) {
    const bool due = is_due(operation);
    if (due && !read) {
      perform(operation);
      continue;
    }
    if (due) read_sources(operation);
    kept.push_back(std::move(operation));
  }
  queue_ = std::move(kept);
}

void AsyncEngine::finish_all() {
  for (BulkOperation& operation : queue_) perform(operation);
  queue_.clear();
}

}  // namespace tilescope::emulator
