// Numbers in the CPU's registers: those that items of a segment compute and others read again need
// not go through memory.
#include <algorithm>
#include <cstddef>

#include "emulator/compiled/number_emitter.hpp"

namespace tilescope::emulator::compiled {
namespace {

constexpr int kParameters = -2;  ///< in the place of a slot: the address of the parameters

}  // namespace

void NumberEmitter::load_slot(Gpr to, int slot, unsigned bytes) {
  const bool again = --reads_[slot] > 0;
  if (holds(slot, bytes)) {
    if (to != rax) a_.mov(to, rax, bytes);
  } else if (const auto kept = kept_number(slot, bytes)) {
    a_.mov(to, *kept, bytes);
  } else {
    a_.mov(to, slot_place(a_, slot), bytes);
    read_memory_.insert(slot);
    if (again) keep(to, slot, bytes);
  }
  if (to == rax) held_ = kNoSlot;  // it is about to change
}

/// The register that keeps the slot's number, which is about to be read there.
std::optional<Gpr> NumberEmitter::kept_number(int slot, unsigned bytes) {
  for (Kept& kept : kept_) {
    if (kept.slot != slot || kept.bytes != bytes) continue;
    kept.is_read = true;
    return kept.reg;
  }
  return std::nullopt;
}

/// In the place of one that is not read any more, or was kept first.
void NumberEmitter::keep(Gpr from, int slot, unsigned bytes) {
  auto chosen = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& x) {
    return x.slot == kNoSlot || (x.slot != kParameters && reads_[x.slot] <= 0);
  });
  if (chosen == kept_.end()) chosen = kept_.begin() + static_cast<int>(next_kept_++ % kept_.size());
  drop(*chosen);
  const std::size_t begin = a_.size();
  a_.mov(chosen->reg, from, bytes);
  *chosen = {chosen->reg, slot, bytes, false, begin, a_.size()};
}

/// The register keeps its number no longer. If nobody has read it there, it never had to.
void NumberEmitter::drop(Kept& kept) {
  if (!kept.is_read) a_.leave_out(kept.begin, kept.end);
  kept = {kept.reg};
}

/// The register that has the address of the kernel's parameters.
Gpr NumberEmitter::load_parameters() {
  if (const auto kept = kept_number(kParameters, 8)) return *kept;
  a_.mov(rcx, at(kState, offsetof(CompiledState, parameters)), 8);
  keep(rcx, kParameters, 8);
  return rcx;
}

/// How often items read each slot, and which slots are read by other code.
void NumberEmitter::count_reads() {
  const auto of_memory = [&](int slot) {
    if (slot != kNoSlot) read_memory_.insert(slot);
  };
  for (const Item& item : segment_.items) {
    const std::size_t first = item.way == Way::access ? item.operation->addresses() : 0;
    for (std::size_t i = first; i < item.in_slots.size(); ++i) {
      item.way == Way::scalar ? void(++reads_[item.in_slots[i]]) : of_memory(item.in_slots[i]);
    }
    if (item.way != Way::access) continue;
    const AccessGroup& group = segment_.groups[static_cast<std::size_t>(item.group)];
    const bool one_number = !item.out_slots.empty() && item.out_slots[0] != kNoSlot;
    one_number ? void(++reads_[group.pointer_slot]) : of_memory(group.pointer_slot);
    if (item.source >= 0) {
      of_memory(segment_.groups[static_cast<std::size_t>(item.source)].pointer_slot);
    }
  }
  for (const AccessGroup& group : segment_.groups) {
    ++reads_[group.address_slot];
    if (watched_) of_memory(group.address_slot);
    if (watched_) of_memory(group.pointer_slot);
  }
  for (const Segment::Change& change : segment_.changes) of_memory(change.slot);
}

/// Numbers that have stayed in registers as long as anybody read them need not be in memory, unless
/// they are those of registers: code behind the segment reads those.
void NumberEmitter::leave_out_stores() {
  const auto registers = static_cast<int>(plan_.registers().size());
  for (const SlotStore& store : stores_) {
    if (store.slot >= registers && !read_memory_.contains(store.slot)) {
      a_.leave_out(store.begin, store.end);
    }
  }
}

/// The slot's number is rax, from now on.
void NumberEmitter::store_result(int slot, unsigned bytes) {
  const std::size_t begin = a_.size();
  a_.store(slot_place(a_, slot), rax, bytes);
  stores_.push_back({slot, begin, a_.size()});
  for (Kept& kept : kept_) {
    if (kept.slot == slot) drop(kept);
  }
  if (reads_[slot] > 0) keep(rax, slot, bytes);
  held_ = slot;
  held_bytes_ = bytes;
}

}  // namespace tilescope::emulator::compiled
