#include "ptx/linker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tilescope/error.hpp>
#include <utility>

namespace tilescope::ptx {
namespace {

/// The claim of a declaration to be the one that counts.
enum class Strength : std::uint8_t { declared, common, weak, strong };

Strength strength_of(const Variable& variable) {
  switch (variable.linkage) {
    case Linkage::external:
      return Strength::declared;
    case Linkage::common:
      return Strength::common;
    case Linkage::weak:
      return Strength::weak;
    default:
      return Strength::strong;
  }
}

Strength strength_of(const Function& function) {
  if (!function.has_body && function.alias_of == no_index) return Strength::declared;
  return function.linkage == Linkage::weak ? Strength::weak : Strength::strong;
}

/// Where a unit's symbols went.
struct UnitMap {
  std::vector<std::uint32_t> variables, functions;
  std::uint32_t first_location = 0;
  std::map<std::uint32_t, std::uint32_t> files;
};

class Linker {
 public:
  explicit Linker(std::vector<LinkUnit> units) : units_(std::move(units)), maps_(units_.size()) {}

  Module link() {
    result_.version_major = units_.front().module.version_major;
    result_.version_minor = units_.front().module.version_minor;
    result_.target = units_.front().module.target;
    result_.target_options = units_.front().module.target_options;
    result_.address_size = units_.front().module.address_size;
    for (unit_ = 0; unit_ < units_.size(); ++unit_) {
      Module& module = units_[unit_].module;
      if (module.address_size != result_.address_size) {
        refuse("{} has addresses of {} bits and {} of {}", units_[unit_].name, module.address_size,
               units_.front().name, result_.address_size);
      }
      place_all(module.variables, result_.variables, variables_, maps_[unit_].variables);
      place_all(module.functions, result_.functions, functions_, maps_[unit_].functions);
      append_locations(module);
    }
    require_definitions();
    for (std::size_t i = 0; i < result_.variables.size(); ++i) {
      resolve(result_.variables[i], maps_[variables_.from[i]]);
    }
    for (std::size_t i = 0; i < result_.functions.size(); ++i) {
      resolve(result_.functions[i], maps_[functions_.from[i]]);
    }
    return std::move(result_);
  }

 private:
  /// The symbols of one kind in the result.
  struct Table {
    std::map<std::string, std::uint32_t, std::less<>> names;
    std::vector<std::size_t> from;  ///< the unit that each comes from
  };

  template <class... T>
  [[noreturn]] static void refuse(fmt::format_string<T...> text, T&&... values) {
    throw Error(ErrorKind::bad_input, fmt::format(text, std::forward<T>(values)...));
  }
  const std::string& unit_of(const Table& table, std::uint32_t index) const {
    return units_[table.from[index]].name;
  }

  template <class Item>
  void place_all(std::vector<Item>& items, std::vector<Item>& placed, Table& table,
                 std::vector<std::uint32_t>& places) {
    for (Item& item : items) places.push_back(place(std::move(item), placed, table));
  }

  template <class Item>
  std::uint32_t place(Item item, std::vector<Item>& placed, Table& table) {
    const auto known = table.names.find(item.name);
    if (known != table.names.end()) {
      const std::uint32_t at = known->second;
      if (is_private(item)) {
        item.name = renamed(item.name, unit_);
      } else if (is_private(placed[at])) {
        table.names.erase(known);
        placed[at].name = renamed(item.name, table.from[at]);
        table.names.emplace(placed[at].name, at);
      } else {
        join(placed, at, std::move(item), table);
        return at;
      }
    }
    const auto index = static_cast<std::uint32_t>(placed.size());
    table.names.emplace(item.name, index);
    table.from.push_back(unit_);
    placed.push_back(std::move(item));
    return index;
  }

  static std::string renamed(std::string_view name, std::size_t unit) {
    return fmt::format("{}.{}", name, unit + 1);
  }

  /// A declared function without a body is somebody else's, whatever its linkage.
  static bool is_private(const Function& function) {
    return function.linkage == Linkage::internal && strength_of(function) != Strength::declared;
  }
  static bool is_private(const Variable& variable) { return variable.linkage == Linkage::internal; }

  template <class Item>
  void join(std::vector<Item>& placed, std::uint32_t index, Item item, Table& table) {
    Item& known = placed[index];
    require_agreement(known, item, unit_of(table, index));
    const Strength before = strength_of(known), now = strength_of(item);
    if (before == Strength::strong && now == Strength::strong) {
      refuse("'{}' is defined in {} and in {}", item.name, unit_of(table, index),
             units_[unit_].name);
    }
    if (now <= before) return;
    known = std::move(item);
    table.from[index] = unit_;
  }

  void require_agreement(Variable& known, Variable& item, const std::string& other) const {
    if (known.space != item.space) {
      refuse("'{}' is in .{} in {} and in .{} in {}", item.name, name(item.space),
             units_[unit_].name, name(known.space), other);
    }
    if (!known.unsized && !item.unsized && known.size != item.size) {
      refuse("'{}' has {} bytes in {} and {} in {}", item.name, item.size, units_[unit_].name,
             known.size, other);
    }
    known.alignment = item.alignment = std::max(known.alignment, item.alignment);
  }

  void require_agreement(const Function& known, const Function& item,
                         const std::string& other) const {
    const auto equal = [](const std::vector<Parameter>& a, const std::vector<Parameter>& b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                        [](const Parameter& x, const Parameter& y) {
                          return x.size == y.size && x.in_register == y.in_register;
                        });
    };
    if (known.is_entry != item.is_entry || !equal(known.parameters, item.parameters) ||
        !equal(known.returns, item.returns)) {
      refuse("the parameters of '{}' in {} differ from those in {}", item.name, units_[unit_].name,
             other);
    }
  }

  void append_locations(const Module& module) {
    UnitMap& map = maps_[unit_];
    for (const auto& [number, path] : module.files) {
      const auto same =
          std::find_if(result_.files.begin(), result_.files.end(),
                       [&, &path = path](const auto& file) { return file.second == path; });
      const auto next = static_cast<std::uint32_t>(result_.files.size() + 1);
      map.files[number] = same == result_.files.end() ? next : same->first;
      result_.files.emplace(map.files[number], path);
    }
    map.first_location = static_cast<std::uint32_t>(result_.locations.size());
    for (Location location : module.locations) {
      if (const auto file = map.files.find(location.file); file != map.files.end()) {
        location.file = file->second;
      }
      if (location.inlined_at != no_index) location.inlined_at += map.first_location;
      result_.locations.push_back(std::move(location));
    }
  }

  void require_definitions() const {
    for (std::size_t i = 0; i < result_.variables.size(); ++i) {
      const Variable& variable = result_.variables[i];
      if (variable.linkage == Linkage::external && variable.space != Space::shared) {
        refuse("'{}' is declared .extern in {}, and nothing defines it", variable.name,
               unit_of(variables_, static_cast<std::uint32_t>(i)));
      }
    }
  }

  static void resolve(Symbol& symbol, const UnitMap& map) {
    if (symbol.kind == SymbolKind::variable) symbol.index = map.variables[symbol.index];
    if (symbol.kind == SymbolKind::function) symbol.index = map.functions[symbol.index];
  }
  static void resolve(Operand& operand, const UnitMap& map) {
    resolve(operand.symbol, map);
    for (Operand& element : operand.elements) resolve(element, map);
  }
  static void resolve(Variable& variable, const UnitMap& map) {
    for (Relocation& relocation : variable.relocations) resolve(relocation.symbol, map);
  }
  static void resolve(Function& function, const UnitMap& map) {
    if (function.alias_of != no_index) function.alias_of = map.functions[function.alias_of];
    for (Variable& variable : function.variables) resolve(variable, map);
    for (Instruction& instruction : function.instructions) {
      if (instruction.location != no_index) instruction.location += map.first_location;
      for (Operand& operand : instruction.operands) resolve(operand, map);
    }
    for (Call& call : function.calls) {
      resolve(call.callee, map);
      for (Operand& operand : call.returns) resolve(operand, map);
      for (Operand& operand : call.arguments) resolve(operand, map);
    }
    for (std::vector<std::uint32_t>& targets : function.call_targets) {
      for (std::uint32_t& target : targets) target = map.functions[target];
    }
  }

  std::vector<LinkUnit> units_;
  std::vector<UnitMap> maps_;
  std::size_t unit_ = 0;  ///< that is being placed
  Table variables_, functions_;
  Module result_;
};

}  // namespace

Module link(std::vector<LinkUnit> units) {
  if (units.empty()) throw Error(ErrorKind::bad_input, "there is no PTX to link");
  return Linker(std::move(units)).link();
}

}  // namespace tilescope::ptx
