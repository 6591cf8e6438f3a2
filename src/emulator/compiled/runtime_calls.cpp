#include "emulator/compiled/runtime_calls.hpp"

#include <bit>

#include "emulator/memory_access.hpp"

namespace tilescope::emulator::compiled {

std::uint32_t find_bounds(CompiledState* state, std::uint32_t bounds, std::uint64_t low,
                          std::uint64_t span, std::uint32_t constant_space) {
  AccessPattern pattern;
  const Space space = constant_space != 0 ? Space::constant : Space::global;
  if (!find_allocation(*state->context, pattern, low, span, space)) return 0;
  AccessBounds& found = state->bounds[bounds];
  found.begin = pattern.begin;
  found.limit = pattern.end - pattern.begin - span + 1;
  found.to_host = reinterpret_cast<std::uint64_t>(pattern.host) - pattern.begin;
  return 1;
}

void run_operation(CompiledState* state, const Code* code) {
  Context& w = *state->context;
  w.mask = kAllLanes;
  if (code->guard != kNone) {
    w.mask = predicate(w, code->guard) ^ code->guard_flip;
    w.lanes_on[code->id] += static_cast<unsigned>(std::popcount(w.mask));
    if (w.mask == 0) return;
  }
  code->execute(w, *code);
}

Condition condition_of(const Operation& comparison) {
  using ptx::Compare;
  const bool s = comparison.is_signed;
  switch (comparison.comparison) {
    case Compare::eq:
      return Condition::equal;
    case Compare::ne:
      return Condition::not_equal;
    case Compare::lt:
    case Compare::lo:
      return s ? Condition::less : Condition::below;
    case Compare::le:
    case Compare::ls:
      return s ? Condition::less_equal : Condition::below_equal;
    case Compare::gt:
    case Compare::hi:
      return s ? Condition::greater : Condition::above;
    default:
      return s ? Condition::greater_equal : Condition::above_equal;
  }
}

}  // namespace tilescope::emulator::compiled
