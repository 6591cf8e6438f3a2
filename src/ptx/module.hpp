// A parsed module of PTX: everything in the text, and nothing about its execution. ptx::parse
// (ptx/module_parser.hpp) builds one; it is not changed afterwards.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/instruction.hpp"
#include "ptx/ptx_types.hpp"

namespace tilescope::ptx {

enum class Linkage : std::uint8_t { internal, visible, external, weak, common };

/// Bytes of an initialised variable that hold the address of a symbol. The value is ((address of
/// `symbol` + addend) >> shift), of which the low `width` bytes are stored.
struct Relocation {
  std::uint64_t offset = 0;  ///< bytes from the start of the variable
  std::uint8_t width = 8;    ///< bytes stored; 1 for the masked form 0xFF00(symbol)
  std::uint8_t shift = 0;    ///< bits; 8 for the mask 0xFF00
  bool generic = false;      ///< generic(symbol): a generic address, else one in its own space
  Symbol symbol;             ///< a module variable or a function
  std::int64_t addend = 0;

  friend bool operator==(const Relocation&, const Relocation&) = default;
};

/// A variable of a module or of a function. Its size is element_count * vector * byte_size(type).
struct Variable {
  std::string name;  ///< unique in its function or module; see Function
  Space space = Space::none;
  Linkage linkage = Linkage::internal;
  Type type = Type::none;
  std::uint8_t vector = 1;            ///< .v2, .v4
  bool unsized = false;               ///< `x[]`: extern, e.g. dynamic shared memory
  bool managed = false;               ///< .attribute(.managed)
  std::uint64_t alignment = 1;        ///< bytes, a power of two; natural unless the text sets it
  std::vector<std::uint64_t> dims;    ///< empty for a scalar; dims[0] == 0 when unsized
  std::uint64_t element_count = 1;    ///< product of dims; 0 when unsized
  std::uint64_t size = 0;             ///< bytes; 0 when unsized; at most 2^40
  bool initialized = false;           ///< the text has an initialiser
  std::vector<std::uint8_t> initial;  ///< the first bytes; the rest is zero
  std::vector<Relocation> relocations;
  std::uint32_t line = 0;  ///< in the text of the PTX

  friend bool operator==(const Variable&, const Variable&) = default;
};

/// A formal parameter or return value of a function.
struct Parameter {
  std::string name;
  Type type = Type::none;
  std::uint8_t vector = 1;
  bool in_register = false;           ///< .reg instead of .param (functions of hand-written PTX)
  bool pointer = false;               ///< .ptr
  bool unsized = false;               ///< `.b8 x[]`, the last of a variadic prototype
  Space pointer_space = Space::none;  ///< .ptr .global: what it points to
  std::uint64_t pointer_alignment = 0;
  std::uint64_t alignment = 1;  ///< bytes
  std::uint64_t size = 0;       ///< bytes
  std::uint64_t element_count = 1;
  bool is_array = false;         ///< .b8 x[16]
  std::uint64_t offset = 0;      ///< bytes from the start of the kernel's parameter buffer
  std::uint32_t reg = no_index;  ///< Function::registers, when in_register and there is a body

  friend bool operator==(const Parameter&, const Parameter&) = default;
};

/// A register that the function uses. `.reg .b32 %r<1000>` alone makes none.
struct Register {
  std::string name;  ///< unique in the function: one of a nested scope may have a suffix
  Type type = Type::none;

  friend bool operator==(const Register&, const Register&) = default;
};

struct Label {
  std::string name;               ///< unique in the function
  std::uint32_t instruction = 0;  ///< index; may be one past the last instruction

  friend bool operator==(const Label&, const Label&) = default;
};

/// .callprototype
struct Prototype {
  std::string name;
  std::vector<Parameter> returns;
  std::vector<Parameter> parameters;

  friend bool operator==(const Prototype&, const Prototype&) = default;
};

/// A function's limits of its launches; 0 and {0, 0, 0} if it sets none.
struct LaunchBounds {
  std::array<std::uint32_t, 3> maxntid{};  ///< unnamed dimensions are 1
  std::array<std::uint32_t, 3> reqntid{};
  std::array<std::uint32_t, 3> reqnctapercluster{};
  std::uint32_t minnctapersm = 0;
  std::uint32_t maxnctapersm = 0;
  std::uint32_t maxnreg = 0;
  std::uint32_t maxclusterrank = 0;
  bool explicit_cluster = false;
  bool blocks_are_clusters = false;

  friend bool operator==(const LaunchBounds&, const LaunchBounds&) = default;
};

/// An .entry or .func. Scopes are flattened: each variable, register and label of an inner scope is
/// separate, with its name made unique if an outer or earlier scope has it.
struct Function {
  std::string name;
  bool is_entry = false;
  bool has_body = false;  ///< false: only declared (vprintf, malloc, __assertfail, prototypes)
  bool noreturn = false;
  Linkage linkage = Linkage::internal;
  std::uint32_t alias_of = no_index;  ///< Module::functions, for `.alias f, g`
  LaunchBounds bounds;
  std::vector<Parameter> returns;
  std::vector<Parameter> parameters;
  std::uint64_t parameter_bytes = 0;  ///< size of the parameter buffer of an entry

  std::vector<Register> registers;
  std::vector<Variable> variables;  ///< .local, .shared, .param of the body
  std::vector<Label> labels;
  std::vector<Instruction> instructions;
  std::vector<Call> calls;
  std::vector<Prototype> prototypes;
  std::vector<std::vector<std::uint32_t>> branch_targets;  ///< of brx.idx: label indices
  std::vector<std::vector<std::uint32_t>> call_targets;    ///< function indices
  std::vector<std::string> unknown_texts;  ///< instructions that are not in the tables, as written
  std::uint32_t line = 0;                  ///< in the text of the PTX
};

/// A place in the source. Equal places are stored once.
struct Location {
  std::uint32_t file = 0;  ///< number in Module::files
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string function;                 ///< mangled name of the inlined function, else empty
  std::uint32_t inlined_at = no_index;  ///< Module::locations: the place of the call, if inlined

  friend bool operator==(const Location&, const Location&) = default;
};

struct Module {
  unsigned version_major = 0, version_minor = 0;  ///< of the ISA: 9.0
  std::string target;                             ///< "sm_90"; further words are in target_options
  std::vector<std::string> target_options;        ///< "texmode_independent", "debug"
  unsigned address_size = 32;                     ///< bits: 32 or 64

  std::map<std::uint32_t, std::string> files;  ///< .file: number to path
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<Location> locations;

  /// Index of the function or variable, or no_index. Linear time; for use at load.
  std::uint32_t find_function(std::string_view name) const;
  std::uint32_t find_variable(std::string_view name) const;
};

}  // namespace tilescope::ptx
