#include "emulator/compiled/sum_emitter.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>

#include "emulator/compiled/runtime_calls.hpp"

namespace tilescope::emulator::compiled {
namespace {

// While entries are counted: where they are, and the place of this warp.
constexpr Gpr kEntries = rsi, kPlace = rdi;

// Marks that inlined code looks at: of so many runs of so many bytes.
constexpr std::size_t kMostRuns = 4;
constexpr std::int64_t kMostTested = 512;

constexpr std::uint64_t kHashFactor = 0x9e3779b97f4a7c15u;  // 2^64 by the golden ratio

AccessShape shape_of(const SummedAccess& access) {
  bool uniform = true, consecutive = true;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const std::int64_t d = access.differences[static_cast<std::size_t>(lane)];
    uniform = uniform && d == 0;
    consecutive = consecutive && d == std::int64_t{lane} * access.code->bytes;
  }
  return uniform       ? AccessShape::uniform
         : consecutive ? AccessShape::consecutive
                       : AccessShape::scattered;
}

/// The bytes of lanes at `offsets` plus the shape's differences.
std::vector<MarkGroup::Run> runs_of(const AccessGroup& group, const ShapeTable& shapes,
                                    const std::vector<std::int64_t>& offsets) {
  std::vector<std::int64_t> begins;
  for (const std::int64_t offset : offsets) {
    for (int lane = 0; lane < kWarpSize; ++lane) {
      begins.push_back(offset + shapes.difference(group.shape, lane, group.address_bytes));
    }
  }
  std::sort(begins.begin(), begins.end());
  std::vector<MarkGroup::Run> runs;
  for (const std::int64_t begin : begins) {
    const auto end = [](const MarkGroup::Run& run) {
      return run.offset + static_cast<std::int64_t>(run.bytes);
    };
    if (runs.empty() || begin > end(runs.back())) runs.push_back({begin, 0});
    const std::int64_t more = begin + group.bytes - end(runs.back());
    if (more > 0) runs.back().bytes += static_cast<std::uint64_t>(more);
  }
  return runs;
}

}  // namespace

/// The access through the item's address `i`.
SummedAccess SumEmitter::access_of(const Item& item, std::size_t i) const {
  const AccessGroup& group =
      segment_.groups[static_cast<std::size_t>(i == 0 ? item.group : item.source)];
  const bool copies = item.operation->act == Act::copy;
  SummedAccess access;
  access.code = item.operation->code;
  access.space = group.shared ? Space::shared : Space::global;
  access.kind = !copies  ? static_cast<AccessKind>(access.code->access)
                : i == 0 ? AccessKind::async_store
                         : AccessKind::async_load;
  access.offset = item.operation->offset(i);
  access.address_place = group.address_slot == kNoSlot ? kNoSlot : a_.dense(group.address_slot);
  access.address = group.address;
  access.address_bytes = group.address_bytes;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    access.differences[static_cast<std::size_t>(lane)] =
        shapes_.difference(group.shape, lane, group.address_bytes);
  }
  access.shape = shape_of(access);
  return access;
}

std::unique_ptr<SumGroup> SumEmitter::copy_of(const Item& item) const {
  auto copy = std::make_unique<SumGroup>();
  copy->copies = true;
  copy->accesses = {access_of(item, 1), access_of(item, 0)};
  copy->lowest = copy->accesses.front().offset;
  copy->step = item.operation->code->bytes;
  if (item.operation->past_l1) {
    copy->modulus = kCopyModulus;
    copy->halves = 2;
  }
  return copy;
}

/// Shared memory has no larger unit than a word; and lanes with one address meet one sector.
bool SumEmitter::has_one_entry(const AccessGroup& group) const {
  return group.shared ? group.bytes >= 4
                      : group.shape == kUniform || group.bytes >= unsigned{kSumModulus};
}

void SumEmitter::emit() {
  count_groups();
  for (std::size_t g = 0; g < segment_.groups.size(); ++g) {
    const AccessGroup& group = segment_.groups[g];
    if (group.shared || group.constant) continue;
    for (const bool write : {false, true}) {
      std::vector<std::int64_t> offsets;
      for (const Item& item : segment_.items) {
        const bool source = item.source == static_cast<int>(g);
        if (item.group != static_cast<int>(g) && !source) continue;
        if ((item.operation->act == Act::store) == write) {
          offsets.push_back(item.operation->offset(source ? 1 : 0) - group.lowest);
        }
      }
      if (!offsets.empty()) mark(group, offsets, write);
    }
  }
}

/// The accesses with one entry have one together. A copy has its own.
void SumEmitter::count_groups() {
  auto together = std::make_unique<SumGroup>();
  std::vector<std::unique_ptr<SumGroup>> others(segment_.groups.size());
  for (const Item& item : segment_.items) {
    if (item.group < 0) continue;
    const auto g = static_cast<std::size_t>(item.group);
    const AccessGroup& group = segment_.groups[g];
    if (group.constant) continue;
    if (item.operation->act == Act::copy) {
      others.push_back(copy_of(item));
      continue;
    }
    if (has_one_entry(group)) {
      together->accesses.push_back(access_of(item, 0));
      continue;
    }
    if (!others[g]) {
      others[g] = std::make_unique<SumGroup>();
      others[g]->step = group.bytes;
      others[g]->lowest = group.lowest;
    }
    others[g]->accesses.push_back(access_of(item, 0));
  }
  std::erase(others, nullptr);
  if (!together->accesses.empty()) others.push_back(std::move(together));
  if (others.empty()) return;
  a_.mov(kEntries, at(kState, offsetof(CompiledState, sums)), 8);
  a_.mov(kPlace, at(kState, offsetof(CompiledState, place)), 8);
  for (auto& group : others) count(std::move(group));
}

void SumEmitter::load_low_bits(Gpr to, const SummedAccess& access, std::int64_t offset) {
  if (access.address_place == kNoSlot) {
    a_.mov_constant(to, access.address);
  } else {
    a_.mov(to, dense_place(access.address_place), 4);
  }
  a_.add_constant(to, static_cast<std::uint64_t>(offset), 4);
}

/// rcx: where the entry for the present address is, if the first of the group lies at kEntries.
void SumEmitter::choose_entry(const SumGroup& group) {
  static_assert(sizeof(SumEntry) == 16 && kHalfSector == 16);
  load_low_bits(rcx, group.accesses.front(), group.lowest);
  a_.and_constant(rcx, static_cast<std::int32_t>(group.modulus - group.step), 4);
  const int shift = 4 + (group.halves == 2 ? 1 : 0) - std::countr_zero(group.step);
  if (shift > 0) a_.shift_left(rcx, static_cast<std::uint8_t>(shift), 4);
  if (group.halves == 2) {
    load_low_bits(r8, group.accesses.back(), group.accesses.back().offset);
    a_.and_constant(r8, static_cast<std::int32_t>(kHalfSector), 4);
    a_.add(rcx, r8, 8);
  }
  a_.add(rcx, kEntries, 8);
}

void SumEmitter::count(std::unique_ptr<SumGroup> group) {
  group->first_entry = numbers_.entries;
  numbers_.entries += group->entries();
  const std::int64_t offset = std::int64_t{group->first_entry} * std::int64_t{sizeof(SumEntry)};
  Gpr base = kEntries;
  if (group->entries() > 1) {
    choose_entry(*group);
    base = rcx;
  }
  a_.add_to(at(base, offset + std::int64_t{offsetof(SumEntry, times)}), 1);
  a_.compare(kPlace, at(base, offset + std::int64_t{offsetof(SumEntry, place)}), 8);
  const Label fresh = a_.label(), goes_on = a_.label();
  a_.jump(Condition::below, fresh);
  a_.bind(goes_on);
  calls_.push_back([this, fresh, goes_on, base, offset, kept = group.get()] {
    a_.bind(fresh);
    a_.address(rdx, at(base, offset));
    a_.mov_constant(rsi, reinterpret_cast<std::uint64_t>(kept));
    emit_call(a_, &announce_first);
    a_.mov(kEntries, at(kState, offsetof(CompiledState, sums)), 8);
    a_.mov(kPlace, at(kState, offsetof(CompiledState, place)), 8);
    a_.jump(goes_on);
  });
  sums_.groups.push_back(std::move(group));
}

/// rax: the address of lane 0 at an offset.
void SumEmitter::load_address(const AccessGroup& group, std::int64_t offset) {
  if (group.address_slot == kNoSlot) {
    a_.mov_constant(rax, group.address);
  } else {
    a_.mov(rax, slot_place(a_, group.address_slot), group.address_bytes);
  }
  a_.add_constant(rax, static_cast<std::uint64_t>(offset), group.address_bytes);
}

void SumEmitter::mark(const AccessGroup& group, const std::vector<std::int64_t>& offsets,
                      bool write) {
  const std::vector<MarkGroup::Run> runs = runs_of(group, shapes_, offsets);
  const bool few =
      runs.size() <= kMostRuns && std::all_of(runs.begin(), runs.end(), [](const auto& run) {
        return run.bytes <= std::uint64_t{kMostTested};
      });
  if (few) {
    for (const MarkGroup::Run& run : runs) mark_runs(group, {run}, write);
  } else {
    mark_runs(group, runs, write);
  }
}

/// One run by its marks, several together by the address of the first.
void SumEmitter::mark_runs(const AccessGroup& group, std::vector<MarkGroup::Run> runs, bool write) {
  const std::int64_t first = runs.front().offset;
  const std::uint64_t bytes = runs.front().bytes;
  const bool by_marks = runs.size() == 1 && bytes <= std::uint64_t{kMostTested};
  for (MarkGroup::Run& run : runs) run.offset -= first;
  load_address(group, group.lowest + first);
  const Label enter = a_.label(), goes_on = a_.label();
  if (by_marks) {
    a_.mov(rcx, rax, 8);
    a_.shift_right(rcx, 3, 8);
    a_.add(rcx,
           at(kBounds, std::int64_t{group.bounds} * std::int64_t{sizeof(AccessBounds)} +
                           static_cast<std::int64_t>(write ? offsetof(AccessBounds, written)
                                                           : offsetof(AccessBounds, read))),
           8);
    if (bytes <= 56) {
      mark_few(group, bytes, enter);
    } else {
      mark_many(group, bytes, enter);
    }
  } else {
    mark_recent(enter);
  }
  a_.bind(goes_on);
  auto marks = std::make_unique<MarkGroup>();
  marks->write = write;
  marks->bounds = group.bounds;
  marks->runs = std::move(runs);
  const std::uint64_t whole_words = by_marks && bytes % 64 == 0 ? bytes / 64 : 0;
  calls_.push_back([this, enter, goes_on, whole_words, kept = marks.get()] {
    a_.bind(enter);
    if (whole_words != 0) store_words(whole_words, goes_on);
    a_.mov(rdx, rax, 8);
    a_.mov_constant(rsi, reinterpret_cast<std::uint64_t>(kept));
    emit_call(a_, &mark_touched);
    a_.jump(goes_on);
  });
  sums_.marks.push_back(std::move(marks));
}

/// Sets marks that fill whole words, where there is nothing to keep, and jumps. rax: the address;
/// rcx: the byte with its mark.
void SumEmitter::store_words(std::uint64_t words, Label goes_on) {
  const Label apart = a_.label();
  a_.test_low_byte(rax, 63);
  a_.jump(Condition::not_equal, apart);
  a_.mov_constant(rdx, ~std::uint64_t{0});
  for (std::uint64_t i = 0; i < words; ++i) {
    a_.store(at(rcx, static_cast<std::int64_t>(i) * 8), rdx, 8);
  }
  a_.jump(goes_on);
  a_.bind(apart);
}

/// Jumps to `enter` unless the marks are there. rax: the address; rcx: the byte with its mark.
void SumEmitter::mark_few(const AccessGroup& group, std::uint64_t bytes, Label enter) {
  a_.mov(rdx, at(rcx), 8);
  if (group.bytes < 8) {
    a_.mov(rcx, rax, 4);
    a_.and_constant(rcx, 7, 4);
    a_.shift_by_cl(rdx, 5, 8);
  }
  a_.complement(rdx, 8);
  a_.mov_constant(rcx, (std::uint64_t{1} << bytes) - 1);
  a_.test(rdx, rcx, 8);
  a_.jump(Condition::not_equal, enter);
}

/// As mark_few; may look at a few marks more, and jump for their sake.
void SumEmitter::mark_many(const AccessGroup& group, std::uint64_t bytes, Label enter) {
  const auto whole = static_cast<std::int64_t>((bytes + 7) / 8);
  if (group.bytes >= 8) return test_bytes(whole, enter);
  const Label apart = a_.label(), goes_on = a_.label();
  a_.test_low_byte(rax, 7);
  a_.jump(Condition::not_equal, apart);
  test_bytes(whole, enter);
  a_.bind(goes_on);
  calls_.push_back([this, apart, goes_on, bytes, enter] {
    a_.bind(apart);
    test_bytes(static_cast<std::int64_t>((bytes + 7 + 7) / 8), enter);
    a_.jump(goes_on);
  });
}

/// Marks in so many bytes, at least eight.
void SumEmitter::test_bytes(std::int64_t bytes, Label enter) {
  a_.mov(rdx, at(rcx), 8);
  for (std::int64_t i = 8; i < bytes; i += 8) a_.bit_and(rdx, at(rcx, std::min(i, bytes - 8)), 8);
  a_.compare_constant(rdx, -1, 8);
  a_.jump(Condition::not_equal, enter);
}

/// Jumps to `enter` unless this address is among those that have been marked recently.
void SumEmitter::mark_recent(Label enter) {
  const std::int64_t table =
      std::int64_t{numbers_.recent++} * std::int64_t{kRecentAddresses} * std::int64_t{8};
  // By the highest bits of a product: addresses are often rows apart.
  a_.mov_constant(rcx, kHashFactor);
  a_.multiply(rcx, rax, 8);
  a_.shift_right(rcx, static_cast<std::uint8_t>(64 - std::countr_zero(kRecentAddresses)), 8);
  a_.shift_left(rcx, 3, 4);
  a_.add(rcx, at(kState, offsetof(CompiledState, recent)), 8);
  const Label known = a_.label();
  a_.compare(rax, at(rcx, table), 8);
  a_.jump(Condition::equal, known);
  a_.store(at(rcx, table), rax, 8);
  a_.jump(enter);
  a_.bind(known);
}

void SumEmitter::emit_calls() {
  for (std::size_t i = 0; i < calls_.size(); ++i) calls_[i]();
}

}  // namespace tilescope::emulator::compiled
