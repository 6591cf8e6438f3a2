// The checks of a segment's accesses, and loads through addresses that all lanes share.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "emulator/compiled/number_emitter.hpp"
#include "emulator/compiled/runtime_calls.hpp"

namespace tilescope::emulator::compiled {
namespace {

constexpr std::int64_t kCacheLine = 64;
constexpr std::int64_t kMostPrefetched = 512;  // bytes: 16 of each lane
constexpr std::size_t kMostFetchedAhead = 8;   // cache lines, or a few more

}  // namespace

GroupExtent extent_of(const AccessGroup& group, const ShapeTable& shapes) {
  const ShapeExtent extent = shapes.extent(group.shape, group.address_bytes, group.lanes);
  return {extent.low, group.highest - group.lowest + extent.high + group.bytes};
}

/// rax: the address of lane 0 with the lowest offset.
void NumberEmitter::load_address(const AccessGroup& group) {
  if (group.address_slot == kNoSlot) {
    held_ = kNoSlot;
    a_.mov_constant(rax, group.address);
  } else {
    load_slot(rax, group.address_slot, group.address_bytes);
  }
  a_.add_constant(rax, static_cast<std::uint64_t>(group.lowest), group.address_bytes);
}

/// One comparison where the addresses in shared memory are known. False: they are not, or not all
/// can lie there.
bool NumberEmitter::check_known_shared(const AccessGroup& group) {
  constexpr std::int64_t kMost = 1 << 30;
  if (!group.shared || group.address_slot != kNoSlot ||
      group.address >= static_cast<std::uint64_t>(kMost)) {
    return false;
  }
  const GroupExtent extent = extent_of(group, shapes_);
  const std::int64_t begin = static_cast<std::int64_t>(group.address) + group.lowest;
  if (begin % group.bytes != 0 || begin + extent.low < 0 || begin + extent.end >= kMost) {
    return false;
  }
  a_.compare_constant(at(kState, offsetof(CompiledState, shared_bytes)),
                      static_cast<std::int32_t>(begin + extent.end), 8);
  a_.jump(Condition::below, give_up_);
  held_ = kNoSlot;
  a_.mov(rax, at(kState, offsetof(CompiledState, shared)), 8);
  a_.add_constant(rax, static_cast<std::uint64_t>(begin), 8);
  store_result(group.pointer_slot, 8);
  return true;
}

void NumberEmitter::check_group(const AccessGroup& group) {
  if (check_known_shared(group)) return;
  const GroupExtent extent = extent_of(group, shapes_);
  const Label retry = a_.label();
  load_address(group);
  if (group.bytes > 1) {
    a_.test_low_byte(rax, static_cast<std::uint8_t>(group.bytes - 1));
    a_.jump(Condition::not_equal, give_up_);
  }
  if (group.shared) {
    // Lowest and highest byte, without wrapping around.
    a_.address(rcx, at(rax, extent.end));
    a_.address(rdx, at(rax, extent.low));
    a_.mov(rsi, at(kState, offsetof(CompiledState, shared_bytes)), 8);
    a_.compare(rcx, rsi, 8);
    a_.jump(Condition::above, give_up_);
    a_.compare(rdx, rsi, 8);
    a_.jump(Condition::above, give_up_);
    a_.add(rax, at(kState, offsetof(CompiledState, shared)), 8);
  } else {
    const Label miss = a_.label();
    a_.bind(retry);
    a_.address(rcx, at(rax, extent.low));
    a_.subtract(rcx, bound(group, offsetof(AccessBounds, begin)), 8);
    a_.compare(rcx, bound(group, offsetof(AccessBounds, limit)), 8);
    a_.jump(Condition::above_equal, miss);
    a_.add(rax, bound(group, offsetof(AccessBounds, to_host)), 8);
    misses_.push_back({&group, miss, retry});
  }
  store_result(group.pointer_slot, 8);
  if (group.shared) return;
  if (fetches_ahead_ && group.shape != kUniform) {
    fetch_ahead(group);
  } else {
    fetch(group);
  }
}

/// A member of the group's AccessBounds.
Place NumberEmitter::bound(const AccessGroup& group, std::size_t offset) const {
  return at(kBounds, std::int64_t{group.bounds} * std::int64_t{sizeof(AccessBounds)} +
                         static_cast<std::int64_t>(offset));
}

/// Stores wait for their cache lines one after the other; the lines come while loads wait for
/// theirs.
void NumberEmitter::fetch(const AccessGroup& group) {
  const GroupExtent extent = extent_of(group, shapes_);
  if (!group.stored || extent.end - extent.low > kMostPrefetched) return;
  for (std::int64_t line = extent.low; line < extent.end; line += kCacheLine) {
    a_.prefetch_written(at(rax, line));
  }
}

/// A warp of the next block, or in the next round, mostly accesses what lies as far from this
/// access as this one from its last: a neighbouring piece of rows, where the CPU sees no stream.
void NumberEmitter::fetch_ahead(const AccessGroup& group) {
  // Only the end of each line is asked for, as pieces follow each other upwards.
  std::vector<std::int64_t> ends;
  const std::int64_t span = group.highest - group.lowest + group.bytes;
  std::vector<std::int64_t> lanes;
  for (int lane = 0; lane < 32; ++lane) {
    if ((group.lanes >> lane & 1) == 0) continue;
    lanes.push_back(shapes_.difference(group.shape, lane, group.address_bytes));
  }
  std::sort(lanes.begin(), lanes.end());
  for (std::size_t i = 0; i < lanes.size() && ends.size() < kMostFetchedAhead;) {
    const std::int64_t begin = lanes[i];
    std::int64_t end = begin + span;
    for (; i < lanes.size() && lanes[i] <= end; ++i) end = std::max(end, lanes[i] + span);
    for (std::int64_t at = begin + kCacheLine; at < end; at += kCacheLine) ends.push_back(at - 1);
    ends.push_back(end - 1);
  }
  const Place last = dense_place(a_.fresh_dense());
  a_.mov(rcx, rax, 8);
  a_.subtract(rcx, last, 8);
  a_.store(last, rax, 8);
  for (const std::int64_t end : ends) {
    const Place line = at(rax, end, rcx, 1);
    group.stored ? a_.prefetch_written(line) : a_.prefetch(line);
  }
}

/// rax: the address of lane 0. Registers that keep numbers stay as they are.
void NumberEmitter::emit_misses() {
  constexpr Gpr kSaved[] = {rax, r8, r9, r10, r11, rcx};  // as many as keep the stack aligned
  for (const Miss& miss : misses_) {
    a_.bind(miss.enter);
    for (const Gpr reg : kSaved) a_.push(reg);
    const GroupExtent extent = extent_of(*miss.group, shapes_);
    a_.address(rdx, at(rax, extent.low));
    a_.mov_constant(rsi, miss.group->bounds);
    a_.mov_constant(rcx, static_cast<std::uint64_t>(extent.end - extent.low));
    a_.mov_constant(r8, miss.group->constant ? 1 : 0);
    emit_call(a_, &find_bounds);
    a_.test(rax, rax, 4);
    for (auto reg = std::rbegin(kSaved); reg != std::rend(kSaved); ++reg) a_.pop(*reg);
    a_.jump(Condition::equal, give_up_);
    a_.jump(miss.retry);
  }
}

/// A load through an address that all lanes share.
void NumberEmitter::load_memory(const Item& item) {
  const AccessGroup& group = segment_.groups[static_cast<std::size_t>(item.group)];
  const Operation& operation = *item.operation;
  load_slot(rcx, group.pointer_slot, 8);
  for (std::size_t i = 0; i < operation.out.size(); ++i) {
    const std::int64_t offset =
        operation.code->offset - group.lowest + static_cast<std::int64_t>(i) * operation.width;
    a_.mov(rax, at(rcx, offset), operation.width);
    store_result(item.out_slots[i], operation.width);
  }
}

}  // namespace tilescope::emulator::compiled
