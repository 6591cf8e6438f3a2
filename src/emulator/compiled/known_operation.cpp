#include "emulator/compiled/known_operation.hpp"

#include <algorithm>

#include "base/one_of.hpp"
#include "emulator/memory_access.hpp"
#include "emulator/special_register_values.hpp"

namespace tilescope::emulator::compiled {

RegisterTable::RegisterTable(const CodeFunction& function) {
  const auto add = [&](const RegisterInfo& info) {
    by_offset_.emplace(info.offset, static_cast<std::uint32_t>(registers_.size()));
    registers_.push_back(info);
  };
  for (const RegisterPlace& place : function.registers) add({place.offset, place.width});
  for (const ConstantRegister& constant : function.constants) {
    add({constant.offset, constant.bytes, RegisterKind::constant, constant.bits});
  }
  for (const SpecialUse& use : function.specials) {
    add({use.offset, use.bytes, RegisterKind::special, 0, depends_on_block(use.special)});
  }
}

std::uint32_t RegisterTable::find(std::uint32_t offset) const {
  const auto found = by_offset_.find(offset);
  return found == by_offset_.end() ? kNoRegister : found->second;
}

/// AVX2 divides no integers (words without sign go by doubles), and has no 64-bit minimum and
/// signed shift.
bool Operation::has_vectors() const {
  const bool wide = width == 8;
  return !(is_one_of(act, {Act::divide, Act::remainder}) && (wide || is_signed)) &&
         !(wide && is_one_of(act, {Act::minimum, Act::maximum})) &&
         !(wide && is_signed && act == Act::shift_right);
}

Space Operation::space(std::size_t i) const {
  if (act == Act::copy) return i == 0 ? Space::shared : Space::global;
  return static_cast<Space>(code->space);
}

std::int64_t Operation::offset(std::size_t i) const {
  return i == 0 ? code->offset : copy_source(*code).offset;
}

}  // namespace tilescope::emulator::compiled
