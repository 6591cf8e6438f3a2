// One instruction of a PTX function: opcode, modifiers, guard and operands, all names resolved to
// dense indices of the function or the module that holds it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptx/modifiers.hpp"
#include "ptx/opcode.hpp"
#include "ptx/ptx_types.hpp"

namespace tilescope::ptx {

inline constexpr std::uint32_t no_index = 0xffffffffu;

/// The table that a symbol's index belongs to.
enum class SymbolKind : std::uint8_t {
  none,
  variable,          ///< Module::variables
  function,          ///< Module::functions
  local_variable,    ///< Function::variables of the function that holds the instruction
  parameter,         ///< Function::parameters
  return_parameter,  ///< Function::returns
};

struct Symbol {
  SymbolKind kind = SymbolKind::none;
  std::uint32_t index = no_index;
  friend bool operator==(const Symbol&, const Symbol&) = default;
};

// clang-format off
enum class SpecialRegister : std::uint8_t {
  none, tid_x, tid_y, tid_z, ntid_x, ntid_y, ntid_z, ctaid_x, ctaid_y, ctaid_z, nctaid_x,
  nctaid_y, nctaid_z, laneid, warpid, nwarpid, smid, nsmid, gridid, lanemask_eq, lanemask_le,
  lanemask_lt, lanemask_ge, lanemask_gt, clock, clock_hi, clock64, globaltimer, globaltimer_lo,
  globaltimer_hi, is_explicit_cluster, clusterid_x, clusterid_y, clusterid_z, nclusterid_x,
  nclusterid_y, nclusterid_z, cluster_ctaid_x, cluster_ctaid_y, cluster_ctaid_z, cluster_nctaid_x,
  cluster_nctaid_y, cluster_nctaid_z, cluster_ctarank, cluster_nctarank, total_smem_size,
  aggr_smem_size, dynamic_smem_size, reserved_smem_offset_begin, reserved_smem_offset_end,
  reserved_smem_offset_cap, current_graph_exec,
  reserved_smem_offset,  ///< Operand::bits is the number, 0 or 1
  envreg,  ///< Operand::bits is the number, 0 to 31
  pm,      ///< Operand::bits is the number, 0 to 7
  pm64,    ///< Operand::bits is the number, 0 to 7
};
// clang-format on

/// "tid.x", without the percent sign.
std::string_view name(SpecialRegister special);

/// The form of a constant in the text, which determines how `Operand::bits` is read.
enum class Literal : std::uint8_t {
  integer,  ///< 64-bit two's complement; truncate to the width of the instruction
  single,   ///< 0fXXXXXXXX: the low 32 bits are an IEEE single
  real,     ///< 0dXXXXXXXXXXXXXXXX or 1.5: an IEEE double
};

struct Operand {
  enum class Kind : std::uint8_t {
    sink,       ///< `_`: the result is discarded
    reg,        ///< `reg` is the index in Function::registers; `negated` for `!p`
    immediate,  ///< `bits` as `literal` says
    special,    ///< `special`
    symbol,     ///< the address of `symbol`, plus `offset` bytes (mov.u64 %rd1, table+8)
    address,    ///< `[...]`: register `reg`, or `symbol`, or neither (absolute), plus `offset`
    vector,     ///< `{a, b, c, d}`: `elements`
    pair,       ///< `d|p`: `elements` has the two
    label,      ///< `label` is the index in Function::labels
  };
  /// Part of a register that a video instruction selects (`%r1.b2`, `%r1.h0`). `bytes` and `halves`
  /// are several, as SIMD forms have them (`%r1.b7531`, `%r1.h10`): `bits` has their numbers.
  enum class Selector : std::uint8_t { none, b0, b1, b2, b3, h0, h1, bytes, halves };

  Kind kind = Kind::sink;
  Literal literal = Literal::integer;
  Selector selector = Selector::none;
  bool negated = false;  ///< `!p` on a predicate, `-a` on an operand of vmad
  SpecialRegister special = SpecialRegister::none;
  std::uint32_t reg = no_index;  ///< also the base of an address
  std::uint32_t label = no_index;
  Symbol symbol;            ///< of a symbol, or the base of an address
  std::uint64_t bits = 0;   ///< of an immediate; of a selector: a hexadecimal digit for each part,
                            ///< and from bit 16 their number
  std::int64_t offset = 0;  ///< bytes, of a symbol or an address
  /// The elements of a vector or pair; for an address, the operands after the base: `[tex, {x, y}]`
  /// has one vector.
  std::vector<Operand> elements;

  friend bool operator==(const Operand&, const Operand&) = default;
};

/// Calls `visit` with the index of each register that the operand names.
template <class Visit>
void visit_registers(const Operand& operand, const Visit& visit) {
  if (operand.reg != no_index) visit(operand.reg);
  for (const Operand& element : operand.elements) visit_registers(element, visit);
}

/// The bits of an immediate as a value of `type`: truncated, or for floating point types rounded to
/// nearest from the text's form. An integer literal is a bit pattern for f16 and bf16 types, and a
/// value for f32 and f64 ones.
std::uint64_t immediate_bits(const Operand& immediate, Type type);

/// The operands of a call. Formal parameters of the callee and these agree in number.
struct Call {
  std::vector<Operand> returns;        ///< symbols of .param variables, or registers
  Operand callee;                      ///< a symbol (function), or a register holding its address
  std::vector<Operand> arguments;      ///< symbols of .param variables, registers or immediates
  std::uint32_t prototype = no_index;  ///< Function::prototypes, for an indirect call
  std::uint32_t targets = no_index;    ///< Function::call_targets, when the text lists them

  friend bool operator==(const Call&, const Call&) = default;
};

struct Instruction {
  Opcode opcode = Opcode::unknown;
  bool guard_negated = false;
  std::uint32_t guard = no_index;  ///< register of `@p`; no_index when there is none
  Modifiers modifiers;
  /// As in the text, destination first. bra has one label; brx.idx the index register (its table
  /// is `detail`); call none (everything is in `detail`).
  std::vector<Operand> operands;
  /// call: index in Function::calls. brx.idx: index in Function::branch_targets. An unknown
  /// opcode: index in Function::unknown_texts. Otherwise no_index.
  std::uint32_t detail = no_index;
  std::uint32_t location = no_index;  ///< Module::locations; no_index without line table
  std::uint32_t line = 0;             ///< in the text of the PTX, from 1

  bool guarded() const { return guard != no_index; }
};

}  // namespace tilescope::ptx
