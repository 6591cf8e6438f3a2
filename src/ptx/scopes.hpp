// Names inside one function while it is parsed: the register, variable or label that a word means
// at its place, and its index.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ptx/module.hpp"

namespace tilescope::ptx {

/// The meaning of a name in a function. `index` is in the table that `kind` names, of Function
/// unless it says otherwise.
struct NameEntry {
  enum class Kind : std::uint8_t {
    reg,
    variable,
    module_variable,  ///< in Module::variables, though declared in the function
    parameter,
    return_parameter,
    prototype,
    branch_targets,
    call_targets,
  };
  Kind kind = Kind::reg;
  Type type = Type::none;          ///< of a register
  std::uint8_t vector = 1;         ///< registers under one name: `.reg .v4 .f32 x`
  std::uint32_t index = no_index;  ///< of a scalar register: set at its first use
  /// For a vector of registers: each is set at its first use.
  std::array<std::uint32_t, 4> components{no_index, no_index, no_index, no_index};
};

class Scopes {
 public:
  /// Keeps names given to `function` distinct from each other and from `outer_name`s.
  Scopes(Function& function, std::function<bool(std::string_view)> outer_name);

  void enter(std::uint32_t line);
  /// Returns false if there is no inner scope to leave.
  bool leave();
  std::uint32_t current() const { return current_; }

  /// Throws Failure if this scope has the name already.
  void declare(std::string_view name, NameEntry entry, std::uint32_t line);
  /// `.reg .b32 %r<count>`: %r0 to %r(count-1), each created at its first use.
  void declare_range(std::string_view prefix, std::uint64_t count, Type type, std::uint8_t vector,
                     std::uint32_t line);
  /// The innermost meaning of `name` here, or null. A scalar register gets its index now.
  NameEntry* find(std::string_view name);
  Type type(std::uint32_t reg) const { return function_.registers[reg].type; }
  /// A new register, called `name` unless that is taken.
  std::uint32_t add_register(std::string_view name, Type type);
  /// The index of one component of a vector of registers.
  std::uint32_t component(std::string_view name, NameEntry& entry, unsigned which);

  /// A label of this scope at `instruction`.
  void define_label(std::string_view name, std::uint32_t instruction, std::uint32_t line);
  /// A number for a label used here, which may be defined later; see `resolve_labels`.
  std::uint32_t refer_label(std::string_view name, std::uint32_t line);
  /// The index in Function::labels for each number. Throws Failure for a label that no scope around
  /// its use defines.
  std::vector<std::uint32_t> resolve_labels() const;

  /// `name`, with a suffix if the function or the module uses it already.
  std::string unique(std::string_view name);

 private:
  struct Key {
    std::uint32_t scope;
    std::string_view name;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::string_view>{}(key.name) ^ (key.scope * 0x9e3779b97f4a7c15ull);
    }
  };
  struct Range {
    std::uint64_t count;
    Type type;
    std::uint8_t vector;
  };
  struct Scope {
    std::uint32_t parent;
    bool has_names = false;
  };
  struct LabelUse {
    std::uint32_t scope;
    std::uint32_t line;
    std::string_view name;
  };

  NameEntry* find_in(std::uint32_t scope, std::string_view name);

  Function& function_;
  std::function<bool(std::string_view)> outer_name_;
  std::vector<Scope> scopes_;
  std::uint32_t current_ = 0;
  std::uint32_t depth_ = 0;
  std::unordered_map<Key, NameEntry, KeyHash> names_;
  std::unordered_map<Key, Range, KeyHash> ranges_;
  std::unordered_map<Key, std::uint32_t, KeyHash> labels_;
  std::vector<LabelUse> label_uses_;
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, std::uint32_t> next_suffix_;
};

}  // namespace tilescope::ptx
