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
namespace {}  // namespace

bool has_512_bits() {
  return &lane_kernels() == lane_kernels("v4");
}

RegionEmitter::RegionEmitter(const FunctionPlan& plan, Region& region, AccessWatch watch,
                             ProgramNumbers& numbers, const BlockCounter* counters)
    : plan_(plan),
      region_(region),
      rules_(plan, region.shapes, region.wanted, region.parameters),
      facts_(plan.registers().size()),
      a_(has_512_bits()),
      watch_(watch),
      program_numbers_(numbers),
      segments_(plan, rules_, numbers_),
      ways_(plan.blocks().size(), counters) {
  numbers_.first_temporary = static_cast<int>(plan.registers().size());
  numbers_.bounds = numbers.bounds;
  code_.exits.push_back({});
  return_ = a_.label();
  trusted_ = a_.label();
  trusted_inner_ = a_.label();
  rounds_ = a_.label();
  round_is_over_ = a_.label();
  for (const std::uint32_t b : region.blocks) blocks_.emplace(b, a_.label());
}

RegionCode RegionEmitter::emit() {
  has_rounds_ = may_have_rounds();
  ways_.enters(region_.head);
  enter();
  const bool lasting = is_lasting();
  if (lasting) enter_trusted();
  for (const std::uint32_t b : region_.blocks) {
    if (region_.at_begin.contains(b)) block(b);
  }
  behind_blocks_ = true;
  for (std::size_t i = 0; i < later_.size(); ++i) {
    const Later later = std::move(later_[i]);  // it may add others
    current_ = later.block;
    later.what();
  }
  code_.ways = ways_.finish(a_, blocks_, numbers_.bounds);
  for (const WayBuilder::Exit& exit : ways_.exits()) {
    code_.exits[exit.number].taken_back = ways_.rest(exit);
  }
  if (has_rounds_) enter_rounds();
  leave();
  code_.bytes = a_.finish();
  for (const Entry& entry : entries_) {
    code_.exits[entry.exit].entry = a_.offset(entry.at);
    code_.exits[entry.exit].inner = a_.offset(entry.inner);
    code_.exits[entry.exit].settle = a_.offset(entry.settle);
  }
  if (has_rounds_) code_.rounds_entry = a_.offset(rounds_);
  if (lasting) {
    code_.trusted_entry = a_.offset(trusted_);
    code_.trusted_inner = a_.offset(trusted_inner_);
  }
  code_.slots = a_.dense_numbers();
  program_numbers_.bounds = numbers_.bounds;
  return std::move(code_);
}

void RegionEmitter::block(std::uint32_t b) {
  a_.bind(blocks_.at(b));
  current_ = b;
  begin_block(plan_.blocks()[b]);
  facts_.assign(region_.at_begin.at(b));
  body(b, plan_.blocks()[b].begin);
  end(b, plan_.live_in_block(b).back());
}

/// Counts the block.
void RegionEmitter::begin_block(const CodeBlock& block) {
  if (masked_ == nullptr) {
    ways_.count(a_, current_, block.counter);
  } else {
    const std::int64_t counter = std::int64_t{block.counter} * std::int64_t{sizeof(BlockCounter)};
    a_.add_to(at(kCounters, counter + std::int64_t{offsetof(BlockCounter, executed)}), 1);
    a_.mov(rax, at(kState, offsetof(CompiledState, mask)), 4);
    a_.complement(rax, 4);
    a_.count_ones(rax, rax, 4);
    a_.add_to(at(kCounters, counter + std::int64_t{offsetof(BlockCounter, absent)}), rax, 8);
  }
  a_.add_constant(kTurn, ~std::uint64_t{block.size} + 1, 8);
}

/// The instructions of the block from number `from` on.
void RegionEmitter::body(std::uint32_t b, std::uint32_t from) {
  const CodeBlock& block = plan_.blocks()[b];
  const std::vector<RegisterSet> live = plan_.live_in_block(b);
  for (std::uint32_t i = from; i < block.body_end;) {
    const RegisterSet* here = &live[i - block.begin];
    Numbers stale = facts_.stale(*here);
    const Operation& operation = plan_.operation(i);
    const Numbers before = mentioned(operation);
    const bool neighbours = names_neighbours(operation);
    KnownFacts known;
    if (part_behind(b) != nullptr) known = facts_.known(*here);
    Segment next = segments_.next(facts_, i, block.body_end, here,
                                  masked_ == nullptr && watch_ != AccessWatch::each,
                                  masked_ != nullptr ? masked_->lanes : kAllLanes);
    i = next.end;
    if (next.is_call()) {
      if (watch_ == AccessWatch::nothing && LaneAccessEmitter::takes(plan_, operation)) {
        settle(before);
        const auto lanes = std::make_shared<LaneAccessEmitter>(
            a_, plan_, operation, numbers_.bounds++, masked_ != nullptr, neighbours);
        lanes->emit();
        later([lanes] { lanes->emit_slow(); });
      } else {
        const auto run = masked_ != nullptr ? &run_masked_operation : &run_operation;
        call(reinterpret_cast<std::uint64_t>(run), operation, before);
      }
    } else {
      segment(std::move(next), b, std::move(known), std::move(stale));
    }
  }
}

/// The block lies in a loop in which each round ends the warp's turn.
bool RegionEmitter::may_wait_in_loop(std::uint32_t b) const {
  return std::any_of(region_.blocks.begin(), region_.blocks.end(), [&](std::uint32_t latch) {
    const CodeBlock& block = plan_.blocks()[latch];
    return block.spin && block.target <= b && b <= latch;
  });
}

/// `before`, `stale`: before the segment; the first only where the block has a masked part.
void RegionEmitter::segment(Segment&& segment, std::uint32_t b, KnownFacts&& before,
                            Numbers&& stale) {
  const Label give_up = a_.label(), parted = a_.label();
  // The emitter and the segment are used once more, behind the blocks.
  const auto kept = std::make_shared<const Segment>(std::move(segment));
  const auto numbers = std::make_shared<NumberEmitter>(
      a_, plan_, region_.shapes, region_.of_warp || may_wait_in_loop(b),
      watch_ != AccessWatch::nothing, *kept, give_up, parted);
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
  StripEmitter(a_, plan_, region_.shapes, *kept, masked_ != nullptr ? &masked_->part.kept : nullptr)
      .emit();
  StoreEmitter(a_, plan_, region_.shapes, *kept, announcer ? &*announcer : nullptr,
               masked_ != nullptr)
      .emit();
  for (const Segment::Change& change : kept->changes) {
    const unsigned width = std::max<unsigned>(plan_.registers()[change.reg].width, 4);
    a_.mov(rax, slot_place(a_, change.slot), width);
    a_.store(slot_place(a_, static_cast<int>(change.reg)), rax, width);
  }
  later([this, kept, numbers, sums, give_up, parted, b, part = masked_, before = std::move(before),
         stale = std::move(stale)] {
    begin_masked(part);
    numbers->emit_misses();
    if (sums) sums->emit_calls();
    a_.bind(give_up);
    // Where only some lanes run, the others may be what does not fit.
    exit({part != nullptr ? ExitKind::inside : ExitKind::failed, b, kept->begin}, stale);
    a_.bind(parted);
    const auto parts = [](const Item& item) { return item.one_for_all; };
    if (std::any_of(kept->items.begin(), kept->items.end(), parts)) {
      this->parted(b, kept->begin, before, stale);
    }
    begin_masked(nullptr);
  });
}

/// Everything that the instruction mentions is in the frame while a function of the interpreter
/// runs it.
void RegionEmitter::call(std::uint64_t function, const Operation& operation,
                         const Numbers& mentioned) {
  const Label unwatched = a_.label();
  if (operation.only_orders) skip_if_unwatched(unwatched);
  settle(mentioned);
  a_.mov_constant(rsi, reinterpret_cast<std::uint64_t>(operation.code));
  emit_call(a_, function);
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
      if (fact.shape != kNoShape && fact.stale) result.push_back(kept_number(reg, fact));
    }
  }
  return result;
}

/// The words of an atomic sum follow each other.
bool RegionEmitter::names_neighbours(const Operation& operation) const {
  if (operation.act != Act::atomic_add) return false;
  const std::uint32_t address = operation.in[0];
  const ShapeNumber shape = facts_[address].shape;
  if (shape == kNoShape) return false;
  for (int lane = 1; lane < 32; ++lane) {
    const std::int64_t difference =
        region_.shapes.difference(shape, lane, plan_.registers()[address].width);
    if (difference != lane * std::int64_t{operation.width}) return false;
  }
  return true;
}

/// Writes the lanes of registers to the frame.
void RegionEmitter::settle(const Numbers& numbers) {
  for (const auto& [reg, shape, known] : numbers) {
    write_lanes(a_, plan_.registers()[reg], {static_cast<int>(reg), known},
                shape == kUniform ? nullptr : &region_.shapes[shape], is_kept(reg));
  }
}

/// Writes numbers that are known here to their slots.
void RegionEmitter::keep(const Numbers& numbers) {
  for (const KeptNumber& number : numbers) {
    const unsigned width = std::max<unsigned>(plan_.registers()[number.reg].width, 4);
    a_.store_constant(slot_place(a_, static_cast<int>(number.reg)), *number.known, width);
  }
}

void RegionEmitter::exit(const RegionExit& how, const Numbers& stale) {
  settle(stale);
  if (how.kind == ExitKind::ends) {
    end_way();
    if (has_rounds_) end_in_round();
  } else {
    ways_.add_exit(code_.exits.size(), current_, after_branch_);
  }
  a_.mov_constant(rax, code_.exits.size());
  code_.exits.push_back(how);
  code_.exits.back().block = plan_.origin(how.block);
  if (masked_ != nullptr && how.kind != ExitKind::ends) {
    std::size_t depth = masked_->outer != nullptr ? 1 : 0;
    for (const MaskedCode* code = masked_; code != nullptr; code = code->outer) {
      code_.exits.back().parted_at[depth--] = plan_.origin(code->part.branch);
    }
  }
  a_.jump(return_);
}

/// The warp ends here, and the next one may go on at once.
void RegionEmitter::end_way() {
  if (!behind_blocks_) return ways_.stops(current_);
  const Label back = a_.label();
  WayBuilder::Edge edge{current_, kNone, false, a_.label(), back};
  a_.jump(*edge.side);
  a_.bind(back);
  ways_.add_edge(edge);
}

void RegionEmitter::end(std::uint32_t b, const RegisterSet& live) {
  const CodeBlock& block = plan_.blocks()[b];
  const bool goes_on = continues_inside(plan_, b);
  if (goes_on && block.end == BlockEnd::fall_through) {
    go(b, passage(block.next), false);
  } else if (goes_on && block.end == BlockEnd::branch) {
    branch(b, live);
  } else if (goes_on && block.end == BlockEnd::collective) {
    together(b, live);
    rules_.apply(plan_.operation(block.body_end), facts_);
    go(b, passage(block.next), false);
  } else if (goes_on && region_.at_begin.contains(block.next)) {
    wait(b);
  } else {
    const ExitKind kind = plan_.ends_warp(b) ? ExitKind::ends : ExitKind::inside;
    exit({kind, b, block.body_end}, facts_.stale(live));
  }
}

/// The warp instruction that ends the block.
void RegionEmitter::together(std::uint32_t b, const RegisterSet& live) {
  const std::uint32_t end = plan_.blocks()[b].body_end;
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
  const std::uint32_t end = plan_.blocks()[b].body_end;
  const std::uint32_t named = plan_.registers().find(plan_.function().code[end].c);
  const std::optional<std::uint64_t> known = rules_.value(facts_, named);
  if (known == kAllLanes) return;
  const Label others = a_.label();
  if (known) {
    a_.jump(others);
  } else if (facts_[named].shape == kUniform) {
    a_.compare_constant(slot_place(a_, static_cast<int>(named)), -1, 4);
    a_.jump(Condition::not_equal, others);
  } else if (facts_[named].shape != kNoShape) {
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
    exit({ExitKind::inside, b, end}, stale);
  });
}

/// The warp leaves at a barrier, and is to go on behind it.
void RegionEmitter::wait(std::uint32_t b) {
  const CodeBlock& block = plan_.blocks()[b];
  const Passage way = passage(block.next);
  settle(way.unknown_inside);
  keep(way.only_here);
  RegionExit how{ExitKind::waits, b, block.body_end};
  how.barrier = full_barrier(plan_, plan_.function().code[block.body_end]);
  pause(how, block.next, {});
}

/// The warp leaves, and is to go on at the begin of block `next`. `stale`: registers that are
/// written to the frame where code is left: whoever looks for blocks that wait for ever reads them
/// there.
void RegionEmitter::pause(const RegionExit& how, std::uint32_t next, const Numbers& stale) {
  const Label entry = a_.label(), inner = a_.label(), settle = a_.label(), leave = a_.label();
  entries_.push_back({code_.exits.size(), entry, inner, settle});
  ways_.stops(current_);
  ways_.enters(next);
  if (how.barrier && has_rounds_) arrive(*how.barrier, next, inner);
  if (how.kind == ExitKind::spins && has_rounds_) spin_in_round(inner);
  a_.bind(leave);
  exit(how, stale);
  a_.bind(settle);
  begin();
  a_.jump(leave);
  a_.bind(entry);
  begin();
  a_.bind(inner);
  a_.jump(blocks_.at(next));
}

}  // namespace tilescope::emulator::compiled
