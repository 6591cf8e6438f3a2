#include "emulator/compiled/store_emitter.hpp"

#include <cstddef>

#include "emulator/compiled/vector_cache.hpp"

namespace tilescope::emulator::compiled {
namespace {

constexpr int kHalf = 32;  // bytes of half a vector of 512 bits

/// The store of a strip that a mask may cut, of words or longs.
constexpr VectorCode vmovups_as(bool wide) {
  return wide ? VectorCode{1, 1, 0, 1, 0x11, 1} : vmovups_store;
}

}  // namespace

void StoreEmitter::emit() {
  for (const Item& item : segment_.items) {
    if (item.operation->act == Act::store && !item.early) {
      if (announcer_ != nullptr) announcer_->emit_store(item);
      store(item);
    }
    if (item.operation->act == Act::copy) copy(item);
  }
}

std::int64_t StoreEmitter::displacement(const Item& item, std::size_t i, int lane) const {
  const AccessGroup& group =
      segment_.groups[static_cast<std::size_t>(i == 0 ? item.group : item.source)];
  return item.operation->offset(i) - group.lowest +
         shapes_.difference(group.shape, lane, group.address_bytes);
}

/// Each group of `bytes` lies together; groups may overlap, and are stored in ascending order.
bool StoreEmitter::is_consecutive(const Item& item, int bytes) const {
  const int width = item.operation->width;
  if (width < 4 || item.operation->in.size() != 2) return false;
  const int lanes = bytes / width;
  for (int lane = 0; lane < 32; ++lane) {
    const int first = lane / lanes * lanes;
    if (displacement(item, 0, lane) != displacement(item, 0, first) + (lane - first) * width)
      return false;
  }
  return true;
}

void StoreEmitter::store(const Item& item) {
  const AccessGroup& group = segment_.groups[static_cast<std::size_t>(item.group)];
  a_.mov(rcx, slot_place(a_, group.pointer_slot), 8);
  if (group.shape == kUniform) {
    masked_ ? store_highest(item) : store_lane(item, 31);
  } else if (is_consecutive(item, kHalf)) {
    store_vectors(item);
  } else {
    for (int lane = 0; lane < 32; ++lane) store_lane(item, lane);
  }
}

void StoreEmitter::store_vectors(const Item& item) {
  const unsigned width = item.operation->width;
  const int slot = item.in_slots[1];
  const bool wide = width == 8;
  const int lanes = a_.strip_bytes() / (wide ? 8 : 4);
  const bool whole = is_consecutive(item, a_.strip_bytes());
  if (slot != kNoSlot) {
    a_.strip(wide ? vpbroadcastq : vpbroadcastd, kScratch, 0,
             number_place(a_, {slot, item.in_numbers[1]}, width));
  }
  for (int lane = 0; lane < 32; lane += lanes) {
    int data = kScratch2;
    if (slot == kNoSlot) {
      const std::int64_t offset = plan_.registers()[item.operation->in[1]].offset;
      a_.strip(vmovups, data, 0, at(kFrame, offset + lane * static_cast<int>(width)));
    } else if (item.in_shapes[1] == kUniform) {
      data = kScratch;
    } else {
      a_.strip(wide ? vpaddq : vpaddd, data, kScratch,
               differences(a_, shapes_[item.in_shapes[1]], width, lane));
    }
    const Place to = at(rcx, displacement(item, 0, lane));
    if (masked_) {  // FactRules::has_masked_code
      load_running(a_, lane);
      a_.strip(masked(vmovups_as(wide), kRunning), data, 0, to);
    } else if (whole) {
      a_.strip(vmovups_store, data, 0, to);
    } else {  // only with 512 bits
      a_.vector(vmovups_store, data, 0, to);
      a_.strip(vextracti128, data, 0, at(rcx, displacement(item, 0, lane + lanes / 2)), 1);
    }
  }
}

/// All lanes that run store to one place: the highest of them wins.
void StoreEmitter::store_highest(const Item& item) {
  const Operation& operation = *item.operation;
  const unsigned slot_bytes = operation.width == 8 ? 8 : 4;
  a_.highest_one(rdx, at(kState, offsetof(CompiledState, mask)), 4);
  for (std::size_t i = 1; i < operation.in.size(); ++i) {
    if (item.in_slots[i] != kNoSlot) {
      a_.mov(rax, number_place(a_, {item.in_slots[i], item.in_numbers[i]}, slot_bytes), slot_bytes);
    } else {
      a_.mov(rax, at(kFrame, plan_.registers()[operation.in[i]].offset, rdx, slot_bytes),
             slot_bytes);
    }
    const std::int64_t element = static_cast<std::int64_t>(i - 1) * operation.width;
    a_.store(at(rcx, displacement(item, 0, 0) + element), rax, operation.width);
  }
}

void StoreEmitter::store_lane(const Item& item, int lane) {
  const Operation& operation = *item.operation;
  const unsigned slot_bytes = operation.width == 8 ? 8 : 4;
  for (std::size_t i = 1; i < operation.in.size(); ++i) {
    if (item.in_slots[i] == kNoSlot) {
      const std::int64_t offset = plan_.registers()[operation.in[i]].offset;
      a_.mov(rax, at(kFrame, offset + lane * static_cast<int>(slot_bytes)), slot_bytes);
    } else {
      a_.mov(rax, number_place(a_, {item.in_slots[i], item.in_numbers[i]}, slot_bytes), slot_bytes);
      const auto more = shapes_.difference(item.in_shapes[i], lane, slot_bytes);
      a_.add_constant(rax, static_cast<std::uint64_t>(more), slot_bytes);
    }
    const std::int64_t element = static_cast<std::int64_t>(i - 1) * operation.width;
    a_.store(at(rcx, displacement(item, 0, lane) + element), rax, operation.width);
  }
}

/// Lanes follow each other, 32 bytes at once where they lie together on both sides.
void StoreEmitter::copy(const Item& item) {
  const auto bytes = static_cast<int>(item.operation->code->bytes);
  const auto pointer = [&](int group) {
    return slot_place(a_, segment_.groups[static_cast<std::size_t>(group)].pointer_slot);
  };
  a_.mov(rcx, pointer(item.group), 8);
  a_.mov(rdx, pointer(item.source), 8);
  for (int lane = 0; lane < 32;) {
    const std::int64_t to = displacement(item, 0, lane), from = displacement(item, 1, lane);
    int together = 1;
    while (together < 32 / bytes && lane + together < 32 &&
           displacement(item, 0, lane + together) == to + together * bytes &&
           displacement(item, 1, lane + together) == from + together * bytes) {
      ++together;
    }
    if (together == 32 / bytes) {
      a_.vector(vmovups, kScratch, 0, at(rdx, from));
      a_.vector(vmovups_store, kScratch, 0, at(rcx, to));
      lane += together;
    } else if (bytes == 16) {
      a_.vector(vmovups_half, kScratch, 0, at(rdx, from));
      a_.vector(vmovups_half_store, kScratch, 0, at(rcx, to));
      ++lane;
    } else {
      a_.mov(rax, at(rdx, from), static_cast<unsigned>(bytes));
      a_.store(at(rcx, to), rax, static_cast<unsigned>(bytes));
      ++lane;
    }
  }
}

}  // namespace tilescope::emulator::compiled
