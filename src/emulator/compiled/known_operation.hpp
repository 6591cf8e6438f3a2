// Instructions as the compiler sees them: the registers that they read and write, and the operation
// where the compiler has code for it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "emulator/program.hpp"
#include "ptx/modifiers.hpp"

namespace tilescope::emulator::compiled {

enum class RegisterKind : std::uint8_t {
  variable,
  constant,
  special,  ///< filled when the frame is set up, never written by code
};

struct RegisterInfo {
  std::uint32_t offset = 0;  ///< in the frame
  std::uint8_t width = 0;    ///< bytes per lane: 4, 8, 16; 0 for a predicate
  RegisterKind kind = RegisterKind::variable;
  std::uint64_t bits = 0;  ///< of a constant
  bool of_block = false;   ///< special: the same in all lanes of a block, and depends on it
};

inline constexpr std::uint32_t kNoRegister = 0xffffffffu;

/// The registers of a function, numbered.
class RegisterTable {
 public:
  explicit RegisterTable(const CodeFunction& function);
  /// By the offset in the frame; kNoRegister where none begins.
  std::uint32_t find(std::uint32_t offset) const;
  const RegisterInfo& operator[](std::uint32_t number) const { return registers_[number]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(registers_.size()); }

 private:
  std::vector<RegisterInfo> registers_;
  std::unordered_map<std::uint32_t, std::uint32_t> by_offset_;
};

enum class Act : std::uint8_t {
  call,  ///< the interpreter's executor runs it
  // integers modulo 2^width
  move,
  add_constant,
  add,
  subtract,
  multiply,
  multiply_add,
  multiply_high,  ///< 32 bits
  multiply_wide,
  multiply_add_wide,
  divide,
  remainder,
  shift_left,
  shift_right,
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  keep_bits,  ///< the low bits of a word: Operation::mask
  negate,
  minimum,
  maximum,
  widen,
  narrow,
  // f32 and f64
  real_add,
  real_subtract,
  real_multiply,
  real_divide,
  real_fma,
  real_root,
  real_negate,
  real_absolute,
  real_from_integer,
  // both
  compare,
  select,
  // memory
  load_parameter,
  load,
  store,
  copy,        ///< cp.async, at once: from global to shared memory
  atomic_add,  ///< of integers, in shared or global memory
};

struct Operation {
  Act act = Act::call;
  /// Bytes of the operands; of the narrow ones for wide forms. `widen` takes the lower half of 8.
  std::uint8_t width = 4;
  bool is_signed = false;
  bool real = false;  ///< it computes with, or compares, floating point numbers
  ptx::Compare comparison = ptx::Compare::none;
  bool flip = false;  ///< of a predicate: select, bit_and ...
  bool second_flip = false;
  std::uint32_t mask = 0;    ///< of keep_bits
  bool past_l1 = false;      ///< a copy that goes past the L1 cache
  bool only_orders = false;  ///< a call that does nothing but tell observers of kOrder
  const Code* code = nullptr;
  std::vector<std::uint32_t> in;  ///< registers; of an access its addresses first
  std::vector<std::uint32_t> out;

  /// The compiler has code for lanes of any values; else only for numbers that all lanes share.
  bool has_vectors() const;
  bool is_access() const { return addresses() != 0; }
  bool writes_memory() const { return act == Act::store || act == Act::copy; }
  /// Operands that are addresses. A copy has two: where to, and where from.
  std::size_t addresses() const {
    return act == Act::copy ? 2 : act == Act::load || act == Act::store ? 1 : 0;
  }
  /// The memory of an access that address `i` names, and the offset added to it.
  Space space(std::size_t i) const;
  std::int64_t offset(std::size_t i) const;
};

}  // namespace tilescope::emulator::compiled
