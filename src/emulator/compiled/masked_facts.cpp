#include "emulator/compiled/masked_facts.hpp"

#include <algorithm>
#include <vector>

namespace tilescope::emulator::compiled {
namespace {

/// The blocks that lanes may go on to behind block `b`, at whose end these facts hold.
std::vector<std::uint32_t> next_of_lanes(const FunctionPlan& plan, const FactRules& rules,
                                         std::uint32_t b, LaneMask lanes, const Facts& facts) {
  const std::optional<LaneMask> takers = takers_inside(plan, rules, facts, b, lanes);
  if (!takers) return plan.successors(b);
  const CodeBlock& block = plan.blocks()[b];
  return {*takers == 0 ? block.next : block.target};
}

}  // namespace

std::optional<LaneMask> takers_inside(const FunctionPlan& plan, const FactRules& rules,
                                      const Facts& facts, std::uint32_t b, LaneMask lanes) {
  std::optional<LaneMask> takers = known_takers(plan, rules, facts, b);
  if (!takers) return std::nullopt;
  *takers &= lanes;
  if (*takers != 0 && *takers != lanes) return std::nullopt;
  return takers;
}

std::map<std::uint32_t, KnownFacts> facts_inside(const FunctionPlan& plan, const FactRules& rules,
                                                 const MaskedPart& part, LaneMask lanes,
                                                 const Facts& facts) {
  std::map<std::uint32_t, KnownFacts> result;
  if (part.loop) {  // whatever a round writes has no shape where the next one begins
    Facts lasting = facts;
    lasting.forget(part.written);
    for (const std::uint32_t b : part.blocks) {
      result.emplace(b, lasting.known(plan.live_at_begin(b)));
    }
    return result;
  }
  // All ways lead forward.
  const std::uint32_t first = part.blocks.front();
  result.emplace(first, facts.known(plan.live_at_begin(first)));
  Facts here(plan.registers().size());
  for (const std::uint32_t b : part.blocks) {
    const auto found = result.find(b);
    if (found == result.end()) continue;
    here.assign(found->second);
    const CodeBlock& block = plan.blocks()[b];
    for (std::uint32_t i = block.begin; i < block.body_end; ++i) {
      rules.apply(plan.operation(i), here);
    }
    for (const std::uint32_t next : next_of_lanes(plan, rules, b, lanes, here)) {
      if (!std::binary_search(part.blocks.begin(), part.blocks.end(), next)) continue;
      const auto known = result.find(next);
      if (known == result.end()) {
        result.emplace(next, here.known(plan.live_at_begin(next)));
      } else {
        meet(known->second, here);
      }
    }
  }
  return result;
}

}  // namespace tilescope::emulator::compiled
