#include "emulator/compiled/register_facts.hpp"

#include <algorithm>

namespace tilescope::emulator::compiled {

KeptNumber kept_number(std::uint32_t reg, const RegisterFact& fact) {
  return {reg, fact.shape, fact.known ? std::optional(fact.value) : std::nullopt};
}

void Facts::set(std::uint32_t reg, const RegisterFact& fact) {
  facts_[reg] = fact;
  if (fact.shape == kNoShape) {
    shaped_.erase(reg);
  } else {
    shaped_.insert(reg);
  }
}

void Facts::assign(const KnownFacts& known) {
  shaped_.for_each_in_both(shaped_, [&](std::uint32_t reg) { facts_[reg] = {}; });
  shaped_ = RegisterSet(static_cast<std::uint32_t>(facts_.size()));
  for (const KnownFacts::Entry& entry : known.entries) set(entry.reg, entry.fact);
}

void Facts::forget(const RegisterSet& registers) {
  const RegisterSet shaped = shaped_;
  shaped.for_each_in_both(registers, [&](std::uint32_t reg) { set(reg, {}); });
}

KnownFacts Facts::known(const RegisterSet& live) const {
  KnownFacts result;
  shaped_.for_each_in_both(live, [&](std::uint32_t reg) {
    result.entries.push_back({reg, facts_[reg]});
  });
  return result;
}

std::vector<KeptNumber> Facts::stale(const RegisterSet& live) const {
  std::vector<KeptNumber> result;
  shaped_.for_each_in_both(live, [&](std::uint32_t reg) {
    if (facts_[reg].stale) result.push_back(kept_number(reg, facts_[reg]));
  });
  return result;
}

bool meet(KnownFacts& facts, const Facts& other) {
  bool changed = false;
  const auto is_lost = [&](const KnownFacts::Entry& entry) {
    return other[entry.reg].shape != entry.fact.shape;
  };
  for (KnownFacts::Entry& entry : facts.entries) {
    if (is_lost(entry)) continue;
    RegisterFact& fact = entry.fact;
    const RegisterFact& there = other[entry.reg];
    const bool stale = fact.stale || there.stale;
    const bool known = fact.known && there.known && there.value == fact.value;
    const std::uint8_t zeros = std::min(fact.zeros, there.zeros);
    changed = changed || stale != fact.stale || known != fact.known || zeros != fact.zeros;
    fact.stale = stale;
    fact.known = known;
    fact.zeros = zeros;
  }
  return std::erase_if(facts.entries, is_lost) != 0 || changed;
}

}  // namespace tilescope::emulator::compiled
