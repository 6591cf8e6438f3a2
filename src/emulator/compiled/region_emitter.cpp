#include "emulator/compiled/region_emitter.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>
#include <optional>

#include "emulator/compiled/announce_emitter.hpp"
#include "emulator/compiled/lane_access_emitter.hpp"
#include "emulator/compiled/runtime_calls.hpp"
#include "emulator/compiled/shuffle_emitter.hpp"
#include "emulator/compiled/store_emitter.hpp"
#include "emulator/compiled/strip_emitter.hpp"
#include "emulator/compiled/sum_emitter.hpp"
#include "emulator/compiled/vector_cache.hpp"
#include "emulator/lane_key.hpp"

namespace tilescope::emulator::compiled {
namespace {

/// TILESCOPE_LANES chooses less, as for the interpreter.
bool has_512_bits() {
  return &lane_kernels() == lane_kernels("v4");
}

}  // namespace

RegionEmitter::RegionEmitter(const FunctionPlan& plan, Region& region, AccessWatch watch,
                             ProgramNumbers& numbers)
    : plan_(plan),
      region_(region),
      rules_(plan, region.shapes, region.wanted, region.parameters),
      facts_(plan.registers().size()),
      a_(has_512_bits()),
      watch_(watch),
      program_numbers_(numbers),
      segments_(plan, rules_, numbers_) {
  numbers_.first_temporary = static_cast<int>(plan.registers().size());
  numbers_.bounds = numbers.bounds;
  code_.exits.push_back({});
  return_ = a_.label();
  trusted_ = a_.label();
  for (const std::uint32_t b : region.blocks) blocks_.emplace(b, a_.label());
}

RegionCode RegionEmitter::emit() {
  enter();
  const bool lasting = is_lasting();
  if (lasting) enter_trusted();
  for (const std::uint32_t b : region_.blocks) {
    if (region_.at_begin.contains(b)) block(b);
  }
  for (std::size_t i = 0; i < later_.size(); ++i) later_[i]();
  leave();
  code_.bytes = a_.finish();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    code_.exits[entries_[i].exit].entry = a_.offset(entries_[i].at);
  }
  if (lasting) code_.trusted_entry = a_.offset(trusted_);
  code_.slots = numbers_.first_temporary + numbers_.temporaries;
  program_numbers_.bounds = numbers_.bounds;
  return std::move(code_);
}

void RegionEmitter::block(std::uint32_t b) {
  const CodeBlock& block = plan_.function().blocks[b];
  a_.bind(blocks_.at(b));
  const std::int64_t counter = std::int64_t{block.counter} * std::int64_t{sizeof(BlockCounter)};
  a_.add_to(at(kCounters, counter + std::int64_t{offsetof(BlockCounter, executed)}), 1);
  a_.add_to(at(kCounters, counter + std::int64_t{offsetof(BlockCounter, active)}), 32);
  a_.subtract_from(at(kTurn), static_cast<std::int32_t>(block.size));
  facts_.assign(region_.at_begin.at(b));
  const std::vector<RegisterSet> live = plan_.live_in_block(b);
  for (std::uint32_t i = block.begin; i < block.body_end;) {
    const RegisterSet* here = &live[i - block.begin];
    Numbers stale = facts_.stale(*here);
    const Operation& operation = plan_.operation(i);
    const Numbers before = mentioned(operation);
    Segment next = segments_.next(facts_, i, block.body_end, here);
    i = next.end;
    if (next.is_call()) {
      if (watch_ == AccessWatch::nothing && LaneAccessEmitter::takes(plan_, operation)) {
        settle(before);
        const auto lanes =
            std::make_shared<LaneAccessEmitter>(a_, plan_, operation, numbers_.bounds++);
        lanes->emit();
        later([lanes] { lanes->emit_slow(); });
      } else {
        call(reinterpret_cast<std::uint64_t>(&run_operation), operation, before);
      }
    } else {
      segment(std::move(next), b, std::move(stale));
    }
  }
  end(b, live.back());
}

/// `stale`: before the segment.
void RegionEmitter::segment(Segment&& segment, std::uint32_t b, Numbers&& stale) {
  const Label give_up = a_.label(), parted = a_.label();
  // The emitter and the segment are used once more, behind the blocks.
  const auto kept = std::make_shared<const Segment>(std::move(segment));
  const auto numbers =
      std::make_shared<NumberEmitter>(a_, plan_, region_.shapes, *kept, give_up, parted);
  numbers->emit();
  std::shared_ptr<SumEmitter> sums;
  if (watch_ == AccessWatch::sums) {
    sums =
        std::make_shared<SumEmitter>(a_, region_.shapes, *kept, program_numbers_.sums, code_.sums);
    sums->emit();
  }
  std::optional<AnnounceEmitter> announcer;
  if (watch_ == AccessWatch::each) {
    announcer.emplace(a_, plan_, region_.shapes, *kept, program_numbers_.announced,
                      code_.announced);
    announcer->emit_loads();
  }
  StripEmitter(a_, plan_, region_.shapes, *kept).emit();
  StoreEmitter(a_, plan_, region_.shapes, *kept, announcer ? &*announcer : nullptr).emit();
  for (const Segment::Change& change : kept->changes) {
    const unsigned width = std::max<unsigned>(plan_.registers()[change.reg].width, 4);
    a_.mov(rax, slot_place(change.slot), width);
    a_.store(slot_place(static_cast<int>(change.reg)), rax, width);
  }
  later([this, kept, numbers, sums, give_up, parted, b, stale = std::move(stale)] {
    numbers->emit_misses();
    if (sums) sums->emit_calls();
    a_.bind(give_up);
    exit({ExitKind::failed, b, kept->begin, 0}, stale);
    a_.bind(parted);
    const auto parts = [](const Item& item) { return item.one_for_all; };
    if (std::none_of(kept->items.begin(), kept->items.end(), parts)) return;
    exit({ExitKind::inside, b, kept->begin, 0}, stale);
  });
}

/// Everything that the instruction mentions is in the frame while a function of the interpreter
/// runs it.
void RegionEmitter::call(std::uint64_t function, const Operation& operation,
                         const Numbers& mentioned) {
  const Label unwatched = a_.label();
  if (operation.only_orders) skip_if_unwatched(unwatched);
  settle(mentioned);
  a_.vzeroupper();
  a_.mov(rdi, kState, 8);
  a_.mov_constant(rsi, reinterpret_cast<std::uint64_t>(operation.code));
  a_.mov_constant(rax, function);
  a_.call(rax);
  a_.bind(unwatched);
}

/// Jumps where no observer follows the order of events.
void RegionEmitter::skip_if_unwatched(Label unwatched) {
  a_.mov(rcx, at(kState, offsetof(CompiledState, context)), 8);
  a_.mov(rax, at(rcx, offsetof(Context, events)), 4);
  a_.and_constant(rax, kOrder, 4);
  a_.jump(Condition::equal, unwatched);
}

/// The registers that the instruction mentions and of which the frame has an older value.
RegionEmitter::Numbers RegionEmitter::mentioned(const Operation& operation) const {
  Numbers result;
  for (const auto* list : {&operation.in, &operation.out}) {
    for (const std::uint32_t reg : *list) {
      const RegisterFact& fact = facts_[reg];
      if (fact.shape != kNoShape && fact.stale) result.push_back({reg, fact.shape});
    }
  }
  return result;
}

/// Writes the lanes of registers to the frame.
void RegionEmitter::settle(const Numbers& numbers) {
  for (const auto& [reg, shape] : numbers) {
    write_lanes(a_, plan_.registers()[reg], static_cast<int>(reg),
                shape == kUniform ? nullptr : &region_.shapes[shape]);
  }
}

void RegionEmitter::exit(const RegionExit& how, const Numbers& stale) {
  settle(stale);
  a_.mov_constant(rax, code_.exits.size());
  code_.exits.push_back(how);
  a_.jump(return_);
}

void RegionEmitter::end(std::uint32_t b, const RegisterSet& live) {
  const CodeBlock& block = plan_.function().blocks[b];
  const bool goes_on = continues_inside(plan_, b);
  if (goes_on && block.end == BlockEnd::fall_through) {
    go(b, passage(block.next), false);
  } else if (goes_on && block.end == BlockEnd::branch) {
    branch(b, live);
  } else if (goes_on && block.end == BlockEnd::collective) {
    together(b, live);
    rules_.apply(plan_.operation(block.body_end), facts_);
    go(b, passage(block.next), false);
  } else if (goes_on && region_.contains(block.next)) {
    wait(b);
  } else {
    const ExitKind kind = plan_.ends_warp(b) ? ExitKind::ends : ExitKind::inside;
    exit({kind, b, block.body_end, 0}, facts_.stale(live));
  }
}

/// The warp instruction that ends the block.
void RegionEmitter::together(std::uint32_t b, const RegisterSet& live) {
  const std::uint32_t end = plan_.function().blocks[b].body_end;
  const Code& code = plan_.function().code[end];
  const Operation& operation = plan_.operation(end);
  if (code.c != kNone) check_members(b, live);
  std::optional<std::uint64_t> by, control;
  if (static_cast<WarpOperation>(code.access) == WarpOperation::shuffle) {
    by = rules_.value(facts_, plan_.registers().find(code.list[0]));
    control = rules_.value(facts_, plan_.registers().find(code.list[1]));
  }
  const Numbers before = mentioned(operation);
  if (!by || !control) {
    call(reinterpret_cast<std::uint64_t>(&run_together), operation, before);
    return;
  }
  const Label unwatched = a_.label();
  settle(before);
  skip_if_unwatched(unwatched);
  call(reinterpret_cast<std::uint64_t>(&announce_together), operation, {});
  a_.bind(unwatched);
  ShuffleEmitter(a_, code, static_cast<std::uint32_t>(*by), static_cast<std::uint32_t>(*control))
      .emit();
}

/// Leaves the region unless the instruction names all lanes.
void RegionEmitter::check_members(std::uint32_t b, const RegisterSet& live) {
  const std::uint32_t end = plan_.function().blocks[b].body_end;
  const std::uint32_t named = plan_.registers().find(plan_.function().code[end].c);
  const std::optional<std::uint64_t> known = rules_.value(facts_, named);
  if (known == kAllLanes) return;
  const Label others = a_.label();
  if (facts_[named].shape == kUniform) {
    a_.compare_constant(slot_place(static_cast<int>(named)), -1, 4);
    a_.jump(Condition::not_equal, others);
  } else if (known || facts_[named].shape != kNoShape) {
    a_.jump(others);
  } else {
    const std::int64_t offset = plan_.registers()[named].offset;
    a_.vector(vmovups, 0, 0, at(kFrame, offset));
    for (int strip = 1; strip < 4; ++strip) {
      a_.vector(vpand, 0, 0, at(kFrame, offset + strip * 32));
    }
    a_.vector(vpcmpeqd, 1, 1, Source::ymm(1));
    a_.vector(vpcmpeqd, 0, 0, Source::ymm(1));
    a_.vector(vmovmskps, rax, 0, Source::ymm(0));
    a_.compare_constant(rax, 0xff, 4);
    a_.jump(Condition::not_equal, others);
  }
  later([this, others, b, end, stale = facts_.stale(live)] {
    a_.bind(others);
    exit({ExitKind::inside, b, end, 0}, stale);
  });
}

/// The warp leaves at a barrier, and is to go on behind it.
void RegionEmitter::wait(std::uint32_t b) {
  const CodeBlock& block = plan_.function().blocks[b];
  settle(passage(block.next).unknown_inside);
  const Label entry = a_.label();
  entries_.push_back({code_.exits.size(), entry});
  a_.mov_constant(rax, code_.exits.size());
  code_.exits.push_back({ExitKind::waits, b, block.body_end, 0});
  a_.jump(return_);
  a_.bind(entry);
  begin();
  a_.jump(blocks_.at(block.next));
}

/// rax: the predicate. In parts, as strips have stored it: the CPU hands a load only what one store
/// has written.
void RegionEmitter::load_predicate(std::uint32_t offset) {
  const int bytes = strip_lanes(a_) / 8;
  const auto part = [&](Gpr to, std::int64_t at_byte) {
    a_.load_narrow(to, at(kFrame, offset + at_byte), static_cast<unsigned>(bytes), false);
  };
  part(rax, 4 - bytes);
  for (int at_byte = 4 - 2 * bytes; at_byte >= 0; at_byte -= bytes) {
    a_.shift_left(rax, static_cast<std::uint8_t>(bytes * 8), 4);
    part(rcx, at_byte);
    a_.bit_or(rax, rcx, 4);
  }
}

void RegionEmitter::branch(std::uint32_t b, const RegisterSet& live) {
  const CodeBlock& block = plan_.function().blocks[b];
  const Code& code = plan_.function().code[block.body_end];
  if (code.guard == kNone) return go(b, passage(block.target), true);
  const std::uint32_t guard = plan_.registers().find(code.guard);
  const Label taken = a_.label();
  const bool uniform = facts_[guard].shape != kNoShape;
  if (uniform) {
    a_.mov(rax, slot_place(static_cast<int>(guard)), 4);
  } else {
    load_predicate(code.guard);
  }
  if (code.guard_flip != 0) a_.complement(rax, 4);
  if (uniform && !block.spin) {
    a_.test(rax, rax, 4);
    a_.jump(Condition::not_equal, taken);
  } else {
    if (!block.spin) {  // else the interpreter takes the branch: the warp's turn ends
      a_.compare_constant(rax, -1, 4);
      a_.jump(Condition::equal, taken);
    }
    const Label divergent = a_.label();
    a_.test(rax, rax, 4);
    a_.jump(Condition::not_equal, divergent);
    later([this, divergent, b, stale = facts_.stale(live), &block] {
      a_.bind(divergent);
      exit({ExitKind::inside, b, block.body_end, 0}, stale);
    });
  }
  if (block.spin) return go(b, passage(block.next), false);
  later([this, taken, b, to = passage(block.target), &code] {
    a_.bind(taken);
    a_.mov(rcx, at(kState, offsetof(CompiledState, lanes_on)), 8);
    a_.add_to(at(rcx, std::int64_t{code.id} * 8), 32);
    go(b, to, true);
  });
  go(b, passage(block.next), false);
}

RegionEmitter::Passage RegionEmitter::passage(std::uint32_t to) const {
  Passage result{to, facts_.stale(plan_.live_at_begin(to)), {}};
  if (!region_.contains(to)) return result;
  const std::vector<KnownFacts::Entry>& known = region_.at_begin.at(to).entries;
  auto place = known.begin();
  for (const KeptNumber& number : result.stale) {
    while (place != known.end() && place->reg < number.reg) ++place;
    if (place == known.end() || place->reg != number.reg) result.unknown_inside.push_back(number);
  }
  return result;
}

void RegionEmitter::go(std::uint32_t from, const Passage& way, bool taken) {
  if (taken && plan_.function().blocks[from].backward) {
    const Label goes_on = a_.label();
    a_.compare_constant(at(kTurn), 0, 8);
    a_.jump(Condition::greater_equal, goes_on);
    exit({ExitKind::yield, way.to, 0, 0}, way.stale);
    a_.bind(goes_on);
  }
  if (!region_.contains(way.to)) {
    exit({ExitKind::block, way.to, 0, 0}, way.stale);
    return;
  }
  settle(way.unknown_inside);
  a_.jump(blocks_.at(way.to));
}

}  // namespace tilescope::emulator::compiled
