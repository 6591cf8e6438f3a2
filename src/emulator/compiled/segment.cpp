#include "emulator/compiled/segment.hpp"

#include <algorithm>

namespace tilescope::emulator::compiled {

SegmentBuilder::SegmentBuilder(const FunctionPlan& plan, const FactRules& rules,
                               SegmentNumbers& numbers)
    : plan_(plan), rules_(rules), numbers_(numbers) {}

/// Loads stay behind stores, and a store needs its data until the end. Lanes that part leave before
/// the segment, so nothing else that takes time is in it.
bool SegmentBuilder::ends_before(const Operation& operation, Way way, const Facts& facts) const {
  if (way == Way::call || (works_ && rules_.is_one_for_all(operation, facts))) return true;
  if (stores_ && operation.act == Act::load) return true;
  return std::any_of(operation.out.begin(), operation.out.end(),
                     [&](std::uint32_t reg) { return stored_at_[reg] != kNever; });
}

/// The group of the item's address `i`.
int SegmentBuilder::group_of(Segment& segment, const Item& item, std::size_t i) {
  const Operation& operation = *item.operation;
  const Code& code = *operation.code;
  const std::int64_t offset = operation.offset(i);
  const RegisterInfo& address = plan_.registers()[operation.in[i]];
  AccessGroup wanted;
  wanted.shared = operation.space(i) == Space::shared;
  wanted.constant = operation.space(i) == Space::constant;
  wanted.stored = operation.act == Act::store;
  const std::optional<std::uint64_t> known = item.in_numbers[i];
  wanted.address_slot = known ? kNoSlot : item.in_slots[i];
  wanted.address = known.value_or(0);
  wanted.address_bytes = address.width;
  wanted.shape = item.in_shapes[i];
  wanted.bytes = code.bytes;
  wanted.lowest = wanted.highest = offset;
  wanted.lanes = segment.lanes;
  for (std::size_t g = 0; g < segment.groups.size(); ++g) {
    AccessGroup& group = segment.groups[g];
    if (group.shared != wanted.shared || group.constant != wanted.constant ||
        group.address_slot != wanted.address_slot || group.address != wanted.address ||
        group.address_bytes != wanted.address_bytes || group.shape != wanted.shape ||
        group.bytes != wanted.bytes || (offset - group.lowest) % group.bytes != 0) {
      continue;
    }
    group.lowest = std::min(group.lowest, offset);
    group.highest = std::max(group.highest, offset);
    group.stored = group.stored || wanted.stored;
    return static_cast<int>(g);
  }
  wanted.pointer_slot = temporary();
  wanted.bounds = numbers_.bounds++;
  segment.groups.push_back(wanted);
  return static_cast<int>(segment.groups.size() - 1);
}

void SegmentBuilder::add(Segment& segment, const Operation& operation, Way way, Facts& facts) {
  Item item;
  item.operation = &operation;
  item.way = way;
  for (const std::uint32_t reg : operation.in) {
    const ShapeNumber shape = rules_.shape(facts, reg);
    const bool has_slot =
        shape != kNoShape && plan_.registers()[reg].kind != RegisterKind::constant;
    item.in_shapes.push_back(shape);
    item.in_values.push_back(rules_.value(facts, reg));
    item.in_numbers.push_back(rules_.number(facts, reg));
    item.in_slots.push_back(!has_slot                ? kNoSlot
                            : slots_[reg] != kNoSlot ? slots_[reg]
                                                     : static_cast<int>(reg));
  }
  if (way == Way::access) {
    item.group = group_of(segment, item, 0);
    if (operation.act == Act::copy) item.source = group_of(segment, item, 1);
  }
  item.neighbours = rules_.stores_neighbours(operation, facts);
  works_ = works_ || way != Way::scalar;
  item.spreads_sign = rules_.spreads_sign(operation, facts);
  item.one_for_all = rules_.is_one_for_all(operation, facts);
  rules_.apply(operation, facts);
  if (way == Way::scalar && facts[operation.out[0]].known) {
    item.known = facts[operation.out[0]].value;
  }
  for (const std::uint32_t reg : operation.out) {
    const bool has_slot = facts[reg].shape != kNoShape;
    slots_.set(reg, has_slot ? temporary() : kNoSlot);
    item.out_slots.push_back(slots_[reg]);
  }
  if (operation.writes_memory()) stores_ = true;
  if (operation.act == Act::store) {
    const auto at = static_cast<int>(segment.items.size());
    for (std::size_t i = 1; i < operation.in.size(); ++i) {
      if (stored_at_[operation.in[i]] == kNever) stored_at_.set(operation.in[i], at);
    }
  }
  segment.items.push_back(std::move(item));
}

void SegmentBuilder::cut(Segment& segment, Facts& facts, std::uint32_t limit) {
  for (; segment.end < limit && segment.items.size() < kMostItems; ++segment.end) {
    const Operation& operation = plan_.operation(segment.end);
    const Way way = rules_.way(operation, facts);
    if (!segment.items.empty() && ends_before(operation, way, facts)) break;
    add(segment, operation, way, facts);
    if (way == Way::call) {
      ++segment.end;
      break;
    }
  }
  numbers_.temporaries = std::max(numbers_.temporaries, temporaries_);
}

/// The only store, where what it writes is nothing that the segment loads.
void SegmentBuilder::find_early_store(Segment& segment) {
  Item* store = nullptr;
  for (Item& item : segment.items) {
    if (!item.operation->writes_memory()) continue;
    if (store != nullptr || !item.neighbours || item.in_slots[1] != kNoSlot) return;
    store = &item;
  }
  if (store == nullptr) return;
  const auto shared = [&](const Item& item) {
    return segment.groups[static_cast<std::size_t>(item.group)].shared;
  };
  bool computed = false;
  for (const Item& item : segment.items) {
    if (&item == store) break;
    if (item.way == Way::access && shared(item) == shared(*store)) return;
    const auto& out = item.operation->out;
    computed = computed || std::find(out.begin(), out.end(), store->operation->in[1]) != out.end();
  }
  store->early = computed;
}

/// From the last item to the first: which vectors are used, and when next. Behind a store its data
/// stay until the end.
void SegmentBuilder::find_uses(Segment& segment, const Facts& facts, const RegisterSet& live) {
  const std::uint32_t count = plan_.registers().size();
  // Vectors by register; materialised numbers by slot, behind them.
  const auto key = [&](const Item& item, std::size_t i) {
    return item.in_slots[i] == kNoSlot ? item.operation->in[i]
                                       : count + static_cast<std::uint32_t>(item.in_slots[i]);
  };
  const auto next_use = [&](std::uint32_t place) {
    if (next_[place] != kNotLooked) return next_[place];
    return place < count && live.has(place) && facts[place].shape == kNoShape ? kAtEnd : kNever;
  };
  for (auto at = static_cast<int>(segment.items.size()); at-- > 0;) {
    Item& item = segment.items[static_cast<std::size_t>(at)];
    const Operation& operation = *item.operation;
    bool needed = operation.writes_memory();
    for (std::size_t i = 0; i < operation.out.size(); ++i) {
      item.out_next.push_back(next_use(operation.out[i]));
      needed = needed || item.out_slots[i] != kNoSlot || item.out_next[i] != kNever;
      next_.set(operation.out[i], kNever);
    }
    item.in_next.assign(operation.in.size(), kNever);
    item.dead = !needed;
    if (item.dead || item.way == Way::scalar) continue;
    for (std::size_t i = 0; i < operation.in.size(); ++i) {
      item.in_next[i] = next_use(key(item, i));
      const bool held = item.in_slots[i] == kNoSlot && at > stored_at_[operation.in[i]];
      if (held) item.in_next[i] = std::min(item.in_next[i], kAtEnd);
    }
    // Addresses are no vectors.
    for (std::size_t i = operation.addresses(); i < operation.in.size(); ++i) {
      // Stores read the frame when all vectors are computed, behind uses that follow them here.
      const std::uint32_t place = key(item, i);
      const bool at_end = operation.act == Act::store && !item.early;
      next_.set(place, at_end ? std::min(next_use(place), kAtEnd) : at);
    }
  }
}

/// The last slot of each register that has a number at the end and is still read.
void SegmentBuilder::find_changes(Segment& segment, const Facts& facts, const RegisterSet& live) {
  for (auto item = segment.items.rbegin(); item != segment.items.rend(); ++item) {
    for (std::size_t i = 0; i < item->out_slots.size(); ++i) {
      const std::uint32_t reg = item->operation->out[i];
      if (changed_[reg] != 0 || facts[reg].shape == kNoShape || facts[reg].known ||
          item->out_slots[i] == kNoSlot || !live.has(reg)) {
        continue;
      }
      changed_.set(reg, 1);
      segment.changes.push_back({reg, item->out_slots[i]});
    }
  }
}

/// A register's number that nobody may ask for when a check fails is written to the register's slot
/// at once.
void SegmentBuilder::place_results(Segment& segment, const RegisterSet& live_before) {
  std::erase_if(segment.changes, [&](const Segment::Change& change) {
    if (live_before.has(change.reg)) return false;
    places_.set(static_cast<std::size_t>(change.slot), static_cast<int>(change.reg));
    return true;
  });
  const auto place = [&](int& slot) {
    if (slot == kNoSlot) return;
    const int other = places_[static_cast<std::size_t>(slot)];
    if (other != kNoSlot) slot = other;
  };
  for (Item& item : segment.items) {
    for (int& slot : item.in_slots) place(slot);
    for (int& slot : item.out_slots) place(slot);
  }
  for (AccessGroup& group : segment.groups) place(group.address_slot);
}

Segment SegmentBuilder::next(Facts& facts, std::uint32_t begin, std::uint32_t limit,
                             const RegisterSet* live, bool may_store_early, LaneMask lanes) {
  Segment segment;
  segment.begin = segment.end = begin;
  segment.lanes = lanes;
  stores_ = works_ = false;
  temporaries_ = 0;
  cut(segment, facts, limit);
  if (!segment.is_call()) {
    order_.apply(segment.items);
    if (may_store_early) find_early_store(segment);
    find_uses(segment, facts, live[segment.end - begin]);
    find_changes(segment, facts, live[segment.end - begin]);
    place_results(segment, live[0]);
  }
  for (ResettableNumbers* numbers : {&slots_, &stored_at_, &next_, &changed_, &places_}) {
    numbers->reset();
  }
  return segment;
}

}  // namespace tilescope::emulator::compiled
