#include "emulator/compiled/region.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "emulator/events.hpp"

namespace tilescope::emulator::compiled {
namespace {

constexpr std::size_t kMostBlocks = 64;
constexpr std::uint32_t kMostOperations = 3000;

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

/// The warp instruction that ends the block is for all lanes.
bool names_all_lanes(const FunctionPlan& plan, const CodeBlock& block) {
  const Code& code = plan.function().code[block.body_end];
  if (code.guard != kNone) return false;
  if (code.c == kNone) return true;
  return is_constant(plan, code.c) &&
         plan.registers()[plan.registers().find(code.c)].bits == kAllLanes;
}

/// `seen`: blocks that the region must not enter.
void choose_blocks(const FunctionPlan& plan, Region& region, std::vector<bool> seen) {
  const auto& blocks = plan.function().blocks;
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
    for (const std::uint32_t next : plan.successors(open[i])) {
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
    const CodeBlock& block = plan.function().blocks[b];
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

Facts assume(const FunctionPlan& plan, Region& region, const std::uint8_t* frame,
             const std::vector<bool>& unstable) {
  const RegisterTable& registers = plan.registers();
  Facts facts(registers.size());
  const RegisterSet& live = plan.live_at_begin(region.head);
  for (std::uint32_t reg = 0; reg < registers.size(); ++reg) {
    const RegisterInfo& info = registers[reg];
    if (!region.wanted[reg] || unstable[reg] || info.kind == RegisterKind::constant ||
        (info.width != 4 && info.width != 8) ||
        (info.kind == RegisterKind::variable && !live.has(reg))) {
      continue;
    }
    facts[reg] = observe(region.shapes, frame + info.offset, info.width);
  }
  return facts;
}

/// Facts that hold on both ways; true if `facts` lost any, or gained an old value in the frame.
bool meet(Facts& facts, const Facts& other) {
  bool changed = false;
  for (std::size_t reg = 0; reg < facts.size(); ++reg) {
    RegisterFact both = facts[reg];
    if (both.shape == kNoShape) continue;
    if (other[reg].shape != both.shape) both = {};
    if (both.shape != kNoShape) {
      both.stale = both.stale || other[reg].stale;
      both.zeros = std::min(both.zeros, other[reg].zeros);
    }
    changed = changed || both.shape != facts[reg].shape || both.stale != facts[reg].stale ||
              both.zeros != facts[reg].zeros;
    facts[reg] = both;
  }
  return changed;
}

void spread_facts(const FunctionPlan& plan, Region& region, Facts&& assumed) {
  const FactRules rules(plan, region.shapes, region.wanted);
  region.at_begin.emplace(region.head, std::move(assumed));
  std::vector<std::uint32_t> open{region.head};
  while (!open.empty()) {
    const std::uint32_t b = open.back();
    open.pop_back();
    const CodeBlock& block = plan.function().blocks[b];
    Facts facts = region.at_begin.at(b);
    for (std::uint32_t i = block.begin; i < block.body_end; ++i) {
      rules.apply(plan.operation(i), facts);
    }
    if (!continues_inside(plan, b)) continue;
    if (block.end == BlockEnd::collective) rules.apply(plan.operation(block.body_end), facts);
    for (const std::uint32_t next : plan.successors(b)) {
      if (!region.contains(next)) continue;
      const auto [found, fresh] = region.at_begin.try_emplace(next, facts);
      if (fresh || meet(found->second, facts)) open.push_back(next);
    }
  }
}

/// A loop in the region with an address of unknown shape. When its head is a region's head, the
/// shapes are what the registers hold there. kNone: there is none.
std::uint32_t find_poor_loop(const FunctionPlan& plan, Region& region) {
  const FactRules rules(plan, region.shapes, region.wanted);
  for (const auto& [b, at_begin] : region.at_begin) {
    const CodeBlock& latch = plan.function().blocks[b];
    if (latch.end != BlockEnd::branch || !latch.backward || latch.target == region.head) continue;
    for (auto inner = region.at_begin.lower_bound(latch.target);
         inner != region.at_begin.end() && inner->first <= b; ++inner) {
      const CodeBlock& block = plan.function().blocks[inner->first];
      Facts facts = inner->second;
      for (std::uint32_t i = block.begin; i < block.body_end; ++i) {
        const Operation& operation = plan.operation(i);
        if (operation.is_access() && rules.way(operation, facts) == Way::call) {
          return latch.target;
        }
        rules.apply(operation, facts);
      }
    }
  }
  return kNone;
}

}  // namespace

bool Region::contains(std::uint32_t block) const {
  return std::binary_search(blocks.begin(), blocks.end(), block);
}

bool continues_inside(const FunctionPlan& plan, std::uint32_t b) {
  const CodeBlock& block = plan.function().blocks[b];
  switch (block.end) {
    case BlockEnd::fall_through:
      return true;
    case BlockEnd::branch:
      return !block.spin;
    case BlockEnd::barrier:
      return waits_with_numbers(plan, block);
    case BlockEnd::collective:
      return names_all_lanes(plan, block) && block.next < plan.function().blocks.size();
    default:
      return false;
  }
}

Region find_region(const FunctionPlan& plan, std::uint32_t head, const std::uint8_t* frame,
                   const std::vector<bool>& unstable) {
  std::vector<bool> avoided(plan.function().blocks.size(), false);
  Region region;
  for (;;) {
    region = {};
    region.head = head;
    choose_blocks(plan, region, avoided);
    find_wanted(plan, region);
    spread_facts(plan, region, assume(plan, region, frame, unstable));
    const std::uint32_t poor = find_poor_loop(plan, region);
    if (poor == kNone || !region.contains(poor)) break;
    avoided[poor] = true;
  }
  const Facts& facts = region.at_begin.at(head);
  for (std::uint32_t reg = 0; reg < facts.size(); ++reg) {
    if (facts[reg].shape != kNoShape)
      region.assumptions.push_back({reg, facts[reg].shape, facts[reg].zeros});
  }
  return region;
}

}  // namespace tilescope::emulator::compiled
