// The kinds of modifiers and PTX's spelling of each of their values. One table serves both ways:
// text to Modifiers and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ptx/modifiers.hpp"

namespace tilescope::ptx {

/// A field of Modifiers that an operation may set.
enum class Group : std::uint8_t {
  type,           ///< the next of Modifiers::types, must be there, not pred
  type_or_pred,   ///< the next of Modifiers::types, must be there
  optional_type,  ///< the next of Modifiers::types
  space,
  source_space,
  vector,
  matrices,
  rounding,
  compare,
  bool_op,
  part,
  reduce,
  ordering,
  scope,
  membar_scope,  ///< as scope, with gl for gpu
  cache,
  cache_level,
  l1_eviction,
  l2_eviction,
  l2_second_eviction,
  l2_prefetch,
  shuffle,
  vote,
  shift_direction,
  shift_mode,
  permute,
  test,
  barrier,
  shape,
  a_layout,
  b_layout,
  fragment,
  geometry,
};

/// One place in the list of modifiers that an operation allows.
struct Slot {
  bool is_flag = false;
  Group group = Group::type;
  Flag flag = Flag::ftz;

  constexpr Slot() = default;
  constexpr Slot(Group g) : group(g) {}               // NOLINT: a list of both reads best
  constexpr Slot(Flag f) : is_flag(true), flag(f) {}  // NOLINT
};

inline bool is_required_type(Slot slot) {
  return !slot.is_flag && (slot.group == Group::type || slot.group == Group::type_or_pred);
}

/// Sets the field of `slot` if `word` (without the dot) is one of its spellings.
bool accept(Slot slot, std::string_view word, Modifiers& modifiers);

/// Appends ".word" for the field of `slot` if it is set. `types_written` counts the types so far.
void write(Slot slot, const Modifiers& modifiers, unsigned& types_written, std::string& out);

/// Type::none when `word` (without the dot) is no type.
Type type_of(std::string_view word);
/// Space::none when `word` (without the dot) is no state space.
Space space_of(std::string_view word);

}  // namespace tilescope::ptx
