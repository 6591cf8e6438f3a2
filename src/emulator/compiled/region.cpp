#include "emulator/compiled/region.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "emulator/compiled/lane_access_emitter.hpp"
#include "emulator/events.hpp"

namespace tilescope::emulator::compiled {
namespace {

constexpr std::size_t kMostBlocks = 64;
constexpr std::uint32_t kMostOperations = 3000;
constexpr std::uint64_t kManyRounds = 8;  // of a loop
constexpr std::uint64_t kTelling = 64;    // calls of the function

bool is_constant(const FunctionPlan& plan, std::uint32_t offset) {
  const std::uint32_t reg = plan.registers().find(offset);
  return reg != kNoRegister && plan.registers()[reg].kind == RegisterKind::constant;
}

/// The barrier that ends the block reads and writes no register that may change.
bool waits_with_numbers(const FunctionPlan& plan, const CodeBlock& block) {
  const Code& code = plan.function().code[block.body_end];
  return code.guard == kNone &&
         static_cast<BarrierOperation>(code.access) != BarrierOperation::reduce &&
         is_constant(plan, code.a) && (code.b == kNone || is_constant(plan, code.b));
}

/// The blocks that a region with this head may go to behind block `b`. A branch back of a loop that
/// may wait for other threads to the head changes nothing of what is known there: the warp pauses
/// at the branch where that holds, and is a new one at the head where it does not.
std::vector<std::uint32_t> next_inside(const FunctionPlan& plan, std::uint32_t head,
                                       std::uint32_t b) {
  const CodeBlock& block = plan.blocks()[b];
  if (block.end == BlockEnd::branch && block.spin && block.target == head) return {block.next};
  return plan.successors(b);
}

void find_masked_parts(const FunctionPlan& plan, Region& region) {
  for (const std::uint32_t b : region.blocks) {
    std::optional<MaskedPart> part = find_masked_part(plan, b);
    if (part && (part->ends || region.contains(part->join))) {
      region.masked_parts.emplace(b, std::move(*part));
    }
  }
}

/// `seen`: blocks that the region must not enter.
void choose_blocks(const FunctionPlan& plan, Region& region, std::vector<bool> seen) {
  const auto& blocks = plan.blocks();
  std::vector<std::uint32_t> open{region.head};
  seen[region.head] = true;
  std::uint32_t operations = 0;
  for (std::size_t i = 0; i < open.size(); ++i) {
    const CodeBlock& block = blocks[open[i]];
    if (i != 0 &&
        (operations + block.size > kMostOperations || region.blocks.size() >= kMostBlocks)) {
      continue;
    }
    operations += block.size;
    region.blocks.push_back(open[i]);
    if (!continues_inside(plan, open[i])) continue;
    for (const std::uint32_t next : next_inside(plan, region.head, open[i])) {
      if (!seen[next]) open.push_back(next);
      seen[next] = true;
    }
  }
  std::sort(region.blocks.begin(), region.blocks.end());
}

/// Registers that addresses and branches depend on, through operations that may keep a shape.
void find_wanted(const FunctionPlan& plan, Region& region) {
  region.wanted.assign(plan.registers().size(), false);
  std::vector<const Operation*> operations;
  for (const std::uint32_t b : region.blocks) {
    const CodeBlock& block = plan.blocks()[b];
    for (std::uint32_t i = block.begin; i < block.body_end; ++i) {
      const Operation& operation = plan.operation(i);
      for (std::size_t a = 0; a < operation.addresses(); ++a) {
        region.wanted[operation.in[a]] = true;
      }
      if (operation.act != Act::call && !operation.real) operations.push_back(&operation);
    }
    if (block.end != BlockEnd::branch) continue;
    for (const std::uint32_t reg : plan.operation(block.body_end).in) region.wanted[reg] = true;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (auto op = operations.rbegin(); op != operations.rend(); ++op) {
      const auto is_wanted = [&](std::uint32_t reg) { return region.wanted[reg]; };
      if (std::none_of((*op)->out.begin(), (*op)->out.end(), is_wanted)) continue;
      for (const std::uint32_t reg : (*op)->in) {
        changed = changed || !region.wanted[reg];
        region.wanted[reg] = true;
      }
    }
  }
}

/// Only as many zeros as the differences have bits: other warps have other numbers.
RegisterFact observe(ShapeTable& shapes, const std::uint8_t* lanes, unsigned bytes) {
  RegisterFact fact;
  fact.shape = shapes.observe(lanes, bytes);
  if (fact.shape == kNoShape || fact.shape == kUniform) return fact;
  std::uint64_t first = 0;
  std::memcpy(&first, lanes, bytes);
  const ShapeExtent extent = shapes.extent(fact.shape, bytes);
  const int bits = std::bit_width(extent.bits);
  if (extent.low >= 0 && bits <= 31 && std::countr_zero(first) >= bits) {
    fact.zeros = static_cast<std::uint8_t>(bits);
  }
  return fact;
}

Facts assume(const FunctionPlan& plan, Region& region, const PresentState& present) {
  const RegisterTable& registers = plan.registers();
  Facts facts(registers.size());
  const RegisterSet& live = plan.live_at_begin(region.head);
  for (std::uint32_t reg = 0; reg < registers.size(); ++reg) {
    const RegisterInfo& info = registers[reg];
    if (!region.wanted[reg] || present.unstable[reg] || info.kind == RegisterKind::constant ||
        (info.width != 4 && info.width != 8) || !live.has(reg)) {
      continue;
    }
    RegisterFact fact = observe(region.shapes, present.frame + info.offset, info.width);
    if (present.lanes && info.kind == RegisterKind::special && !info.of_block &&
        fact.shape != kNoShape) {
      fact.known = true;
      fact.zeros = 0;  // they follow from the number
      std::memcpy(&fact.value, present.frame + info.offset, info.width);
    }
    // TurnRounds leaves them out of the frame.
    fact.stale = present.at_begin && info.of_block && fact.shape == kUniform;
    facts.set(reg, fact);
  }
  return facts;
}

/// The blocks of a region that can be reached from its head, each behind those that lead to it
/// where no loop does.
class ReversePostOrder {
 public:
  ReversePostOrder(const FunctionPlan& plan, const Region& region) : plan_(plan), region_(region) {
    visit(region.head);
    for (std::size_t i = 0; i < blocks_.size(); ++i) place_[blocks_[i]] = blocks_.size() - 1 - i;
    std::reverse(blocks_.begin(), blocks_.end());
  }
  const std::vector<std::uint32_t>& blocks() const { return blocks_; }
  std::size_t place(std::uint32_t block) const { return place_.at(block); }

 private:
  void visit(std::uint32_t b) {
    if (!place_.emplace(b, 0).second) return;
    if (continues_inside(plan_, b)) {
      for (const std::uint32_t next : next_inside(plan_, region_.head, b)) {
        if (region_.contains(next)) visit(next);
      }
    }
    blocks_.push_back(b);
  }

  const FunctionPlan& plan_;
  const Region& region_;
  std::vector<std::uint32_t> blocks_;
  std::map<std::uint32_t, std::size_t> place_;
};

/// The blocks that all lanes may go on to behind block `b`, at whose end these facts hold. Where
/// only some run a part first, the facts become those of the place where they meet.
std::vector<std::uint32_t> next_known(const FunctionPlan& plan, const Region& region,
                                      const FactRules& rules, std::uint32_t b, Facts& facts) {
  const std::optional<std::uint32_t> takers = known_takers(plan, rules, facts, b);
  if (!takers) return next_inside(plan, region.head, b);
  const CodeBlock& block = plan.blocks()[b];
  if (*takers == kAllLanes) return {block.target};
  if (*takers == 0) return {block.next};
  const auto part = region.masked_parts.find(b);
  if (part == region.masked_parts.end() || part->second.ends) return {};
  facts.forget(part->second.written);
  return {part->second.join};
}

/// Finds Region::at_begin from the facts at the head.
void spread_facts(const FunctionPlan& plan, Region& region, const Facts& assumed) {
  const FactRules rules(plan, region.shapes, region.wanted, region.parameters);
  const ReversePostOrder order(plan, region);
  std::vector<bool> open(order.blocks().size(), false);
  Facts facts(plan.registers().size());
  region.at_begin.clear();
  region.at_begin.emplace(region.head, assumed.known(plan.live_at_begin(region.head)));
  open[0] = true;
  for (std::size_t i = 0; i < open.size();) {
    if (!open[i]) {
      ++i;
      continue;
    }
    open[i] = false;
    const std::uint32_t b = order.blocks()[i++];
    const CodeBlock& block = plan.blocks()[b];
    facts.assign(region.at_begin.at(b));
    for (std::uint32_t at = block.begin; at < block.body_end; ++at) {
      rules.apply(plan.operation(at), facts);
    }
    if (!continues_inside(plan, b)) continue;
    if (block.end == BlockEnd::collective) rules.apply(plan.operation(block.body_end), facts);
    for (const std::uint32_t next : next_known(plan, region, rules, b, facts)) {
      if (!region.contains(next)) continue;
      const auto found = region.at_begin.find(next);
      if (found == region.at_begin.end()) {
        region.at_begin.emplace(next, facts.known(plan.live_at_begin(next)));
      } else if (!meet(found->second, facts)) {
        continue;
      }
      open[order.place(next)] = true;
      i = std::min(i, order.place(next));
    }
  }
}

/// Calls `visit` with each operation of the region, the warp instructions that end blocks included,
/// and the facts before it.
template <class Visit>
void visit_operations(const FunctionPlan& plan, const FactRules& rules, const Region& region,
                      Visit visit) {
  Facts facts(plan.registers().size());
  for (const auto& [b, at_begin] : region.at_begin) {
    const CodeBlock& block = plan.blocks()[b];
    facts.assign(at_begin);
    const bool collective = block.end == BlockEnd::collective && continues_inside(plan, b);
    for (std::uint32_t i = block.begin; i < block.body_end + (collective ? 1 : 0); ++i) {
      visit(plan.operation(i), facts);
      rules.apply(plan.operation(i), facts);
    }
  }
}

/// Assumes the values of parameters and uniform registers with which products and shifts of
/// registers of known shape have one too. True if there are new ones; `assumed`: facts at the head.
bool assume_values(const FunctionPlan& plan, Region& region, const PresentState& present,
                   Facts& assumed) {
  const FactRules rules(plan, region.shapes, region.wanted, region.parameters);
  std::vector<bool> helpful(plan.registers().size(), false), written = helpful;
  std::vector<const Operation*> operations;
  visit_operations(plan, rules, region, [&](const Operation& operation, const Facts& facts) {
    if (const std::uint32_t reg = rules.helpful_value(operation, facts); reg != kNoRegister) {
      helpful[reg] = true;
    }
    for (const std::uint32_t reg : operation.out) written[reg] = true;
    operations.push_back(&operation);
  });
  bool found = false;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Operation* operation : operations) {
      const auto is_helpful = [&](std::uint32_t reg) { return helpful[reg]; };
      if (std::none_of(operation->out.begin(), operation->out.end(), is_helpful)) continue;
      if (operation->act == Act::load_parameter) {
        KnownParameter known{operation->code->offset, operation->width, 0};
        const auto same = [&](const KnownParameter& other) {
          return other.offset == known.offset && other.width == known.width;
        };
        if (std::any_of(region.parameters.begin(), region.parameters.end(), same)) continue;
        std::memcpy(&known.value, present.parameters + known.offset, known.width);
        region.parameters.push_back(known);
        found = true;
      } else if (gives_values(operation->act)) {
        for (const std::uint32_t reg : operation->in) {
          changed = changed || !helpful[reg];
          helpful[reg] = true;
        }
      }
    }
  }
  for (std::uint32_t reg = 0; reg < helpful.size(); ++reg) {
    RegisterFact fact = assumed[reg];
    if (!helpful[reg] || written[reg] || fact.shape != kUniform || fact.known) continue;
    const RegisterInfo& info = plan.registers()[reg];
    fact.known = true;
    std::memcpy(&fact.value, present.frame + info.offset, info.width);
    assumed.set(reg, fact);
    found = true;
  }
  return found;
}

/// Whether warps mostly go round the loop too few times to pay for a region of its own, as far as
/// this launch tells.
bool is_short(const FunctionPlan& plan, std::uint32_t loop, const BlockCounter* counters) {
  const auto executed = [&](std::uint32_t block) {
    return counters[plan.blocks()[block].counter].executed;
  };
  return executed(0) >= kTelling && executed(loop) / kManyRounds <= executed(0);
}

/// A block's accesses whose address has no known shape.
struct PoorAccesses {
  bool any = false;
  bool without_code = false;  ///< one has no code for lanes of any addresses either
};

std::map<std::uint32_t, PoorAccesses> find_poor_accesses(const FunctionPlan& plan,
                                                         const FactRules& rules,
                                                         const Region& region) {
  std::map<std::uint32_t, PoorAccesses> result;
  Facts facts(plan.registers().size());
  for (const auto& [b, at_begin] : region.at_begin) {
    const CodeBlock& block = plan.blocks()[b];
    facts.assign(at_begin);
    PoorAccesses& poor = result[b];
    for (std::uint32_t i = block.begin; i < block.body_end; ++i) {
      const Operation& operation = plan.operation(i);
      if (operation.is_access() && rules.way(operation, facts) == Way::call) {
        poor.any = true;
        poor.without_code = poor.without_code || !LaneAccessEmitter::takes(plan, operation);
      }
      rules.apply(operation, facts);
    }
  }
  return result;
}

/// A loop in the region with an address of unknown shape. When its head is a region's head, the
/// shapes are what the registers hold there. kNone: there is none. Short loops whose accesses have
/// code for lanes of any addresses stay in the region.
std::uint32_t find_poor_loop(const FunctionPlan& plan, Region& region,
                             const PresentState& present) {
  const FactRules rules(plan, region.shapes, region.wanted, region.parameters);
  const std::map<std::uint32_t, PoorAccesses> poor = find_poor_accesses(plan, rules, region);
  for (const auto& [b, accesses] : poor) {
    const CodeBlock& latch = plan.blocks()[b];
    if (latch.end != BlockEnd::branch || !latch.backward || latch.target == region.head) continue;
    const bool short_loop = present.lane_accesses && is_short(plan, latch.target, present.counters);
    for (auto inner = poor.lower_bound(latch.target); inner != poor.end() && inner->first <= b;
         ++inner) {
      if (short_loop ? inner->second.without_code : inner->second.any) return latch.target;
    }
  }
  return kNone;
}

/// Finds the facts of a region whose blocks are chosen.
void find_facts(const FunctionPlan& plan, Region& region, const PresentState& present) {
  if (present.masks) find_masked_parts(plan, region);
  find_wanted(plan, region);
  Facts assumed = assume(plan, region, present);
  spread_facts(plan, region, assumed);
  while (present.values && assume_values(plan, region, present, assumed)) {
    spread_facts(plan, region, assumed);
  }
}

}  // namespace

bool Region::contains(std::uint32_t block) const {
  return std::binary_search(blocks.begin(), blocks.end(), block);
}

std::optional<std::uint32_t> known_takers(const FunctionPlan& plan, const FactRules& rules,
                                          const Facts& facts, std::uint32_t b) {
  const CodeBlock& block = plan.blocks()[b];
  if (block.end != BlockEnd::branch || block.spin) return std::nullopt;
  const Code& code = plan.function().code[block.body_end];
  if (code.guard == kNone) return std::nullopt;
  const std::optional<std::uint64_t> lanes = rules.number(facts, plan.registers().find(code.guard));
  if (!lanes) return std::nullopt;
  return static_cast<std::uint32_t>(*lanes) ^ code.guard_flip;
}

bool continues_inside(const FunctionPlan& plan, std::uint32_t b) {
  const CodeBlock& block = plan.blocks()[b];
  switch (block.end) {
    case BlockEnd::fall_through:
      return true;
    case BlockEnd::branch:
      return !block.spin || plan.function().code[block.body_end].guard != kNone;
    case BlockEnd::barrier:
      return waits_with_numbers(plan, block);
    case BlockEnd::collective:
      return plan.function().code[block.body_end].guard == kNone &&
             block.next < plan.blocks().size();
    default:
      return false;
  }
}

Region region_without(const FunctionPlan& plan, std::uint32_t head, const PresentState& present,
                      const std::vector<bool>& avoided) {
  Region region;
  region.head = head;
  choose_blocks(plan, region, avoided);
  find_facts(plan, region, present);
  return region;
}

void keep_assumptions(Region& region) {
  for (const auto& [reg, fact] : region.at_begin.at(region.head).entries) {
    region.assumptions.push_back({reg, fact.shape, fact.zeros, fact.known, fact.value});
  }
}

Region find_region(const FunctionPlan& plan, std::uint32_t head, const PresentState& present) {
  std::vector<bool> avoided(plan.blocks().size(), false);
  Region region;
  for (;;) {
    region = region_without(plan, head, present, avoided);
    const std::uint32_t poor = find_poor_loop(plan, region, present);
    if (poor == kNone || !region.contains(poor)) break;
    avoided[poor] = true;
  }
  keep_assumptions(region);
  return region;
}

}  // namespace tilescope::emulator::compiled
