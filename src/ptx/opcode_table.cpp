#include "ptx/opcode_table.hpp"

#include <fmt/format.h>

#include <array>
#include <initializer_list>
#include <iterator>
#include <unordered_map>

namespace tilescope::ptx {
namespace {

struct SlotList {
  std::array<Slot, 20> slots{};
  std::size_t count = 0;

  constexpr SlotList(std::initializer_list<Slot> list) {
    for (const Slot& slot : list) slots[count++] = slot;
  }
};

struct Row {
  OpcodeInfo info;
  SlotList slots;
};

struct Table {
  using enum Flag;
  using enum Group;
#define MODIFIERS(...) \
  { __VA_ARGS__ }
#define OPCODE(enumerator, spelling, letters, decoder, modifiers, ...) \
  {{.name = spelling, .operands = letters, __VA_ARGS__}, modifiers},
  static constexpr Row rows[] = {
#include "ptx/opcodes.def"
  };
#undef OPCODE
#undef MODIFIERS
};

const Row& row(Opcode opcode) {
  return Table::rows[static_cast<std::size_t>(opcode)];
}

const std::unordered_map<std::string_view, Opcode>& by_name() {
  static const auto map = [] {
    std::unordered_map<std::string_view, Opcode> built;
    for (std::size_t i = 1; i < std::size(Table::rows); ++i) {
      built.emplace(Table::rows[i].info.name, static_cast<Opcode>(i));
    }
    return built;
  }();
  return map;
}

/// The longest beginning of `text`, ending at a dot or at the end, that names an operation.
Opcode longest_operation(std::string_view text, std::size_t& length) {
  constexpr std::size_t longest = 40;  // the longest name of an operation is shorter
  text = text.substr(0, longest);
  Opcode found = Opcode::unknown;
  for (std::size_t end = text.find('.');; end = text.find('.', end + 1)) {
    const auto entry = by_name().find(text.substr(0, end));
    if (entry != by_name().end()) {
      found = entry->second;
      length = end == std::string_view::npos ? text.size() : end;
    }
    if (end == std::string_view::npos) return found;
  }
}

/// Fills the first free slot that takes `word`.
bool fill(std::span<const Slot> list, std::string_view word, std::uint32_t& filled,
          Modifiers& modifiers) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::uint32_t bit = 1u << i;
    if ((filled & bit) != 0 || !accept(list[i], word, modifiers)) continue;
    filled |= bit;
    return true;
  }
  return false;
}

}  // namespace

const OpcodeInfo& info(Opcode opcode) {
  return row(opcode).info;
}
std::string_view name(Opcode opcode) {
  return row(opcode).info.name;
}

std::span<const Slot> slots(Opcode opcode) {
  const SlotList& list = row(opcode).slots;
  return {list.slots.data(), list.count};
}

Mnemonic parse_mnemonic(std::string_view text) {
  Mnemonic result;
  std::size_t length = 0;
  const Opcode opcode = longest_operation(text, length);
  if (opcode == Opcode::unknown) {
    result.problem = fmt::format("unknown operation '{}'", text.substr(0, text.find('.')));
    return result;
  }
  std::string_view rest = text.substr(length);
  std::uint32_t filled = 0;
  while (!rest.empty()) {
    rest.remove_prefix(1);  // the dot
    const std::string_view word = rest.substr(0, rest.find('.'));
    if (!fill(slots(opcode), word, filled, result.modifiers)) {
      result.problem = fmt::format("'{}' does not allow the modifier '.{}'", name(opcode), word);
      result.modifiers = {};
      return result;
    }
    rest.remove_prefix(word.size());
  }
  result.opcode = opcode;
  std::size_t types_needed = 0;
  for (const Slot& slot : slots(opcode)) {
    if (is_required_type(slot)) ++types_needed;
  }
  if (result.modifiers.type_count < types_needed) {
    result.problem = fmt::format("'{}' needs {} type{}, this has {}", name(opcode), types_needed,
                                 types_needed == 1 ? "" : "s", result.modifiers.type_count);
  }
  return result;
}

std::string mnemonic(Opcode opcode, const Modifiers& modifiers) {
  std::string text(name(opcode));
  unsigned types_written = 0;
  for (const Slot& slot : slots(opcode)) write(slot, modifiers, types_written, text);
  return text;
}

}  // namespace tilescope::ptx
