#include "emulator/compiled/warp_region.hpp"

#include <utility>

#include "emulator/compiled/masked_facts.hpp"

namespace tilescope::emulator::compiled {
namespace {

constexpr int kMostRounds = 8;  // of a loop that have copies
constexpr int kAccessCost = 8;  // of an access by the interpreter, beside that of a vector
// Where compiling must pay:
constexpr int kLeastGain = 40;           // which is half of what is possible, too
constexpr std::size_t kMostCode = 2500;  // instructions for all warps: their code is to stay near

void apply_block(const FunctionPlan& plan, const FactRules& rules, std::uint32_t b, Facts& facts) {
  for (std::uint32_t i = plan.blocks()[b].begin; i < plan.blocks()[b].body_end; ++i) {
    rules.apply(plan.operation(i), facts);
  }
}

Facts facts_behind(const FunctionPlan& plan, const Region& region, const FactRules& rules,
                   std::uint32_t b) {
  Facts facts(plan.registers().size());
  facts.assign(region.at_begin.at(b));
  apply_block(plan, rules, b, facts);
  return facts;
}

/// The lanes that take the branch at the end of the block, where they are known.
std::optional<std::uint32_t> takers_of(const FunctionPlan& plan, Region& region, std::uint32_t b) {
  if (!region.at_begin.contains(b)) return std::nullopt;
  const FactRules rules(plan, region.shapes, region.wanted, region.parameters);
  return known_takers(plan, rules, facts_behind(plan, region, rules, b), b);
}

Region all_behind(const FunctionPlan& plan, std::uint32_t head, const PresentState& present) {
  return region_without(plan, head, present, std::vector<bool>(plan.blocks().size(), false));
}

/// A further copy of the loop's round for the lanes `again` behind block `last`, the end of the
/// last copy; nothing where it is not known that these lanes then leave the loop.
void peel_for_some(WarpRegion& warp, const PresentState& present, std::uint32_t latch,
                   std::uint32_t last, LaneMask again) {
  WarpRegion more{warp.plan, {}};
  const std::uint32_t copy = more.plan.peel(latch);
  more.region = all_behind(more.plan, warp.region.head, present);
  const auto part = more.region.masked_parts.find(last);
  // A region with more blocks may end sooner.
  if (part == more.region.masked_parts.end() || !part->second.is_copy ||
      !more.region.at_begin.contains(last)) {
    return;
  }
  FactRules rules(more.plan, more.region.shapes, more.region.wanted, more.region.parameters);
  const Facts before = facts_behind(more.plan, more.region, rules, last);
  rules.begin_masked(true);
  const auto inside = facts_inside(more.plan, rules, part->second, again, before);
  const auto end = inside.find(copy);
  if (end == inside.end()) return;
  Facts facts(more.plan.registers().size());
  facts.assign(end->second);
  apply_block(more.plan, rules, copy, facts);
  if (takers_inside(more.plan, rules, facts, copy, again) == 0) warp = std::move(more);
}

/// Gives the loop that ends with block `latch` copies of its rounds if it is known in each which
/// lanes go round again, and not all do in the end: then a part under a mask follows, or nothing.
void peel(WarpRegion& warp, const PresentState& present, std::uint32_t latch) {
  FunctionPlan plan = warp.plan;
  for (int round = 0; round < kMostRounds; ++round) {
    const std::uint32_t copy = plan.peel(latch);
    Region region = all_behind(plan, warp.region.head, present);
    const std::optional<std::uint32_t> again = takers_of(plan, region, copy);
    if (!again) return;
    if (*again == kAllLanes) continue;
    warp = {std::move(plan), std::move(region)};
    if (*again != 0) peel_for_some(warp, present, latch, copy, *again);
    return;
  }
}

/// How many there are in the blocks that can be reached.
std::size_t instructions_of(const FunctionPlan& plan, const Region& region) {
  std::size_t sum = 0;
  for (const auto& [b, facts] : region.at_begin) sum += plan.blocks()[b].size;
  return sum;
}

/// About the time that vectors and calls for indices take in the region.
int index_cost(const FunctionPlan& plan, Region& region) {
  const FactRules rules(plan, region.shapes, region.wanted, region.parameters);
  Facts facts(plan.registers().size());
  int cost = 0;
  for (const auto& [b, at_begin] : region.at_begin) {
    const CodeBlock& block = plan.blocks()[b];
    facts.assign(at_begin);
    for (std::uint32_t i = block.begin; i < block.body_end; ++i) {
      const Operation& operation = plan.operation(i);
      const Way way = rules.way(operation, facts);
      if (operation.is_access() && way == Way::call) cost += kAccessCost;
      if (!operation.is_access() && !operation.real && way == Way::vector) ++cost;
      rules.apply(operation, facts);
    }
  }
  return cost;
}

}  // namespace

int possible_gain(const FunctionPlan& plan, Region& region, const PresentState& present) {
  if (present.sparing && instructions_of(plan, region) * present.warps > 2 * kMostCode) return 0;
  return index_cost(plan, region);
}

std::optional<WarpRegion> find_warp_region(const FunctionPlan& plan, std::uint32_t head,
                                           PresentState present, int possible) {
  const int least = present.sparing ? kLeastGain : 1;
  if (possible < least) return std::nullopt;
  present.lanes = true;
  WarpRegion result{plan, all_behind(plan, head, present)};
  const auto blocks = static_cast<std::uint32_t>(plan.blocks().size());
  for (std::uint32_t latch = 0; latch < blocks; ++latch) {
    if (result.region.at_begin.contains(latch) && result.plan.is_plain_loop(latch)) {
      peel(result, present, latch);
    }
  }
  const int left = index_cost(result.plan, result.region);
  if (possible - left < least) return std::nullopt;
  if (present.sparing &&
      (2 * left > possible ||
       instructions_of(result.plan, result.region) * present.warps > kMostCode)) {
    return std::nullopt;
  }
  keep_assumptions(result.region);
  result.region.of_warp = true;
  return result;
}

}  // namespace tilescope::emulator::compiled
