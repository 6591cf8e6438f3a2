#include "emulator/compiled/translator.hpp"

#include <algorithm>

#include "base/one_of.hpp"
#include "emulator/memory_access.hpp"
#include "ptx/operand_classes.hpp"

namespace tilescope::emulator::compiled {
namespace {

using ptx::Flag;
using ptx::Opcode;
using ptx::Type;

bool is_real(Type type) {
  return type == Type::f32 || type == Type::f64;
}

/// One number of 32 or 64 bits: packed types have the same widths.
bool is_single(Type type) {
  return is_one_of(type, {Type::u32, Type::s32, Type::b32, Type::u64, Type::s64, Type::b64}) ||
         is_real(type);
}

bool is_short_integer(Type type) {
  return is_one_of(type, {Type::u8, Type::s8, Type::u16, Type::s16, Type::u32, Type::s32});
}

const ptx::Instruction& source_of(const Program& program, const Code& code) {
  return *program.instruction(code.id).source;
}

/// Fills the operation from an instruction; false if the compiler has no code for it.
class Translator {
 public:
  Translator(const CodeFunction& function, const RegisterTable& registers,
             const ptx::Instruction& source, Operation& operation)
      : function_(function),
        registers_(registers),
        source_(source),
        code_(*operation.code),
        m_(source.modifiers),
        operation_(operation) {}

  bool run();

 private:
  bool read(std::uint32_t offset, unsigned width);
  bool write(std::uint32_t offset, unsigned width);
  /// `count` operands and the result, all of the first type.
  bool regular(Act act, unsigned count);
  bool number();
  bool real_number();
  bool product();
  bool move();
  bool logic(Act act);
  bool shift(Act act);
  bool conversion();
  bool word_conversion(Type to, Type from);
  bool comparison();
  bool selection();
  bool access(bool store);
  bool parameter();
  bool copy();
  bool atomic_sum();

  const CodeFunction& function_;
  const RegisterTable& registers_;
  const ptx::Instruction& source_;
  const Code& code_;
  const ptx::Modifiers& m_;
  Operation& operation_;
};

bool Translator::read(std::uint32_t offset, unsigned width) {
  const std::uint32_t reg = registers_.find(offset);
  if (reg == kNoRegister || registers_[reg].width != width) return false;
  operation_.in.push_back(reg);
  return true;
}

bool Translator::write(std::uint32_t offset, unsigned width) {
  const std::uint32_t reg = registers_.find(offset);
  if (reg == kNoRegister || registers_[reg].width != width) return false;
  if (registers_[reg].kind != RegisterKind::variable) return false;
  operation_.out.push_back(reg);
  return true;
}

bool Translator::regular(Act act, unsigned count) {
  if (!is_single(m_.type())) return false;
  const unsigned width = ptx::bit_width(m_.type()) / 8;
  operation_.act = act;
  operation_.width = static_cast<std::uint8_t>(width);
  operation_.is_signed = ptx::is_signed(m_.type());
  operation_.real = is_real(m_.type());
  const std::uint32_t sources[] = {code_.a, code_.b, code_.c};
  for (unsigned i = 0; i < count; ++i) {
    if (!read(sources[i], width)) return false;
  }
  return write(code_.dst, width);
}

/// Arithmetic with no modifier that changes the result: to nearest, no flush, no saturation.
bool Translator::real_number() {
  if (m_.has(Flag::ftz) || m_.has(Flag::sat) || m_.has(Flag::approx) || m_.has(Flag::full) ||
      m_.has(Flag::relu) || m_.has(Flag::oob) || m_.type_count != 1 ||
      (m_.rounding != ptx::Rounding::none && m_.rounding != ptx::Rounding::rn)) {
    return false;
  }
  switch (source_.opcode) {
    case Opcode::add:
      return regular(Act::real_add, 2);
    case Opcode::sub:
      return regular(Act::real_subtract, 2);
    case Opcode::mul:
      return regular(Act::real_multiply, 2);
    case Opcode::div:
      return regular(Act::real_divide, 2);
    case Opcode::fma:
    case Opcode::mad:
      return regular(Act::real_fma, 3);
    case Opcode::sqrt:
      return regular(Act::real_root, 1);
    case Opcode::neg:
      return regular(Act::real_negate, 1);
    case Opcode::abs:
      return regular(Act::real_absolute, 1);
    default:
      return false;
  }
}

bool Translator::product() {
  const bool add = source_.opcode == Opcode::mad;
  if (m_.part == ptx::Part::lo) {
    return add ? regular(Act::multiply_add, 3) : regular(Act::multiply, 2);
  }
  const bool words = m_.type() == Type::u32 || m_.type() == Type::s32;
  if (m_.part == ptx::Part::hi && words && !add) return regular(Act::multiply_high, 2);
  if (m_.part != ptx::Part::wide || !words) return false;
  operation_.act = add ? Act::multiply_add_wide : Act::multiply_wide;
  operation_.is_signed = m_.type() == Type::s32;
  return read(code_.a, 4) && read(code_.b, 4) && (!add || read(code_.c, 8)) && write(code_.dst, 8);
}

bool Translator::number() {
  if (is_real(m_.type())) return real_number();
  if (m_.has(Flag::sat) || m_.has(Flag::cc) || m_.has(Flag::relu)) return false;
  switch (source_.opcode) {
    case Opcode::add:
      return regular(Act::add, 2);
    case Opcode::sub:
      return regular(Act::subtract, 2);
    case Opcode::mul:
    case Opcode::mad:
      return product();
    case Opcode::div:
      return regular(Act::divide, 2);
    case Opcode::rem:
      return regular(Act::remainder, 2);
    case Opcode::min:
    case Opcode::max:
      if (source_.operands.size() != 3) return false;
      return regular(source_.opcode == Opcode::min ? Act::minimum : Act::maximum, 2);
    case Opcode::neg:
      return regular(Act::negate, 1);
    default:
      return false;
  }
}

/// A register of 16 bits is moved with the word that it is kept in.
bool Translator::move() {
  if (source_.operands[0].kind != ptx::Operand::Kind::reg || m_.vector != 1 ||
      source_.operands[1].kind == ptx::Operand::Kind::vector) {
    return false;
  }
  if (!is_one_of(m_.type(), {Type::u16, Type::s16, Type::b16})) return logic(Act::move);
  operation_.act = Act::move;
  return read(code_.a, 4) && write(code_.dst, 4);
}

bool Translator::logic(Act act) {
  const unsigned count = act == Act::bit_not || act == Act::move ? 1 : 2;
  if (m_.type() != Type::pred) return regular(act, count);
  operation_.act = act;
  operation_.width = 0;
  operation_.flip = code_.a_flip != 0;
  operation_.second_flip = code_.b_flip != 0;
  return read(code_.a, 0) && (count == 1 || read(code_.b, 0)) && write(code_.dst, 0);
}

bool Translator::shift(Act act) {
  const unsigned bits = ptx::bit_width(m_.type());
  if (bits != 32 && bits != 64) return false;
  operation_.act = act;
  operation_.width = static_cast<std::uint8_t>(bits / 8);
  operation_.is_signed = ptx::is_signed(m_.type());
  return read(code_.a, bits / 8) && read(code_.b, 4) && write(code_.dst, bits / 8);
}

/// Between integers of at most 32 bits, where the result is a number of low bits of the source.
bool Translator::word_conversion(Type to, Type from) {
  const unsigned to_bits = ptx::bit_width(to), from_bits = ptx::bit_width(from);
  const auto ones = [](unsigned bits) { return ~std::uint32_t{0} >> (32 - bits); };
  const auto kept = static_cast<std::uint32_t>(code_.offset);  // bits that the register has
  const std::uint32_t low = ones(std::min(to_bits, from_bits));
  const bool extends_from = ptx::is_signed(from) && from_bits < 32 && from_bits < to_bits;
  const bool extends_to = ptx::is_signed(to) && to_bits < 32 && to_bits <= from_bits;
  if (extends_from || (extends_to && (kept & ~low) != 0)) return false;
  operation_.act = Act::keep_bits;
  operation_.mask = low & kept;
  return read(code_.a, 4) && write(code_.dst, 4);
}

bool Translator::conversion() {
  if (m_.has(Flag::sat) || m_.has(Flag::ftz) || m_.type_count != 2) return false;
  const Type to = m_.types[0], from = m_.types[1];
  const auto is_word = [](Type t) { return t == Type::u32 || t == Type::s32; };
  const auto is_long = [](Type t) { return t == Type::u64 || t == Type::s64; };
  if (is_word(from) && is_long(to)) {
    operation_.act = Act::widen;
    operation_.is_signed = from == Type::s32;
    if (read(code_.a, 4)) return write(code_.dst, 8);
    operation_.width = 8;
    return read(code_.a, 8) && write(code_.dst, 8);
  }
  if (is_long(from) && is_word(to)) {
    operation_.act = Act::narrow;
    operation_.width = 8;
    return read(code_.a, 8) && write(code_.dst, 4);
  }
  if (is_short_integer(to) && is_short_integer(from)) return word_conversion(to, from);
  if (from == Type::s32 && to == Type::f32 && m_.rounding == ptx::Rounding::rn) {
    operation_.act = Act::real_from_integer;
    operation_.real = true;
    return read(code_.a, 4) && write(code_.dst, 4);
  }
  return false;
}

bool Translator::comparison() {
  const Type type = m_.source_type();
  const unsigned bits = ptx::bit_width(type);
  if (m_.has(Flag::ftz) || m_.bool_op != ptx::BoolOp::none || code_.dst2 != kSinkOffset ||
      !is_single(type)) {
    return false;
  }
  operation_.act = Act::compare;
  operation_.width = static_cast<std::uint8_t>(bits / 8);
  operation_.real = is_real(type);
  operation_.is_signed = ptx::is_signed(type);
  operation_.comparison = m_.compare;
  return read(code_.a, bits / 8) && read(code_.b, bits / 8) && write(code_.dst, 0);
}

bool Translator::selection() {
  const unsigned bits = ptx::bit_width(m_.type());
  if (!is_single(m_.type())) return false;
  operation_.act = Act::select;
  operation_.width = static_cast<std::uint8_t>(bits / 8);
  operation_.flip = code_.c_flip != 0;
  return read(code_.a, bits / 8) && read(code_.b, bits / 8) && read(code_.c, 0) &&
         write(code_.dst, bits / 8);
}

/// Kernel parameters: the same for every lane. aux as for loads.
bool Translator::parameter() {
  const ptx::Operand& address = source_.operands[1];
  const unsigned element = code_.aux & kElementBytes;
  const unsigned slot = (code_.aux >> kSlotBytesShift) & 63;
  if (!function_.source->is_entry || address.reg != ptx::no_index ||
      address.symbol.kind != ptx::SymbolKind::parameter || m_.vector != 1 || element != slot ||
      (element != 4 && element != 8)) {
    return false;
  }
  operation_.act = Act::load_parameter;
  operation_.width = static_cast<std::uint8_t>(element);
  return write(code_.dst, element);
}

bool Translator::access(bool store) {
  const auto is_space = [&](std::initializer_list<ptx::Space> spaces) {
    return std::find(spaces.begin(), spaces.end(), m_.space) != spaces.end();
  };
  if (is_space({ptx::Space::param, ptx::Space::param_entry, ptx::Space::param_func})) {
    return !store && parameter();
  }
  if (!is_space({ptx::Space::global, ptx::Space::shared, ptx::Space::constant}) ||
      code_.execute == slow_load || code_.execute == slow_store || code_.order != 0 ||
      (code_.aux & kNarrowRegister) != 0) {
    return false;
  }
  const unsigned element = code_.aux & kElementBytes;
  const unsigned slot = element <= 4 ? 4 : 8;
  const unsigned count = (code_.aux >> kElementCountShift) & 0xff;
  operation_.act = store ? Act::store : Act::load;
  operation_.width = static_cast<std::uint8_t>(element);
  operation_.is_signed = (code_.aux & kSignExtend) != 0;
  if (!read(code_.a, (code_.aux & kAddress64) != 0 ? 8 : 4)) return false;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint32_t data = count > 1 ? code_.list[i] : store ? code_.b : code_.dst;
    if (!(store ? read(data, slot) : write(data, slot))) return false;
  }
  // A result that is also the address, or comes twice, depends on the order of the writes.
  std::vector<std::uint32_t> all = operation_.out;
  std::sort(all.begin(), all.end());
  return store || (std::adjacent_find(all.begin(), all.end()) == all.end() &&
                   !is_one_of(operation_.in[0], {operation_.out[0], operation_.out.back()}));
}

/// Copies of whole elements by every lane.
bool Translator::copy() {
  const CopySource from = copy_source(code_);
  operation_.act = Act::copy;
  operation_.past_l1 = m_.cache == ptx::CacheOp::cg;
  return !from.is_cut && read(code_.a, (code_.aux & 1) != 0 ? 8 : 4) &&
         read(from.address, (code_.aux & 2) != 0 ? 8 : 4);
}

/// The old value is a result where anybody reads it: only of words in shared memory.
bool Translator::atomic_sum() {
  const auto space = static_cast<Space>(code_.space);
  const bool is_word = is_one_of(m_.type(), {Type::u32, Type::s32});
  const bool is_used = static_cast<AccessKind>(code_.access) == AccessKind::atomic;
  const bool has_code = space == Space::shared
                            ? is_word
                            : space == Space::global && !is_used &&
                                  (is_word || is_one_of(m_.type(), {Type::u64, Type::s64}));
  if (!has_code || m_.reduce != ptx::ReduceOp::add || m_.vector != 1) return false;
  operation_.act = Act::atomic_add;
  operation_.width = is_word ? 4 : 8;
  return read(code_.a, (code_.aux & kAddress64) != 0 ? 8 : 4) &&
         read(code_.list[0], operation_.width) && (!is_used || write(code_.list[1], 4));
}

bool Translator::run() {
  switch (source_.opcode) {
    case Opcode::add:
    case Opcode::sub:
    case Opcode::mul:
    case Opcode::mad:
    case Opcode::fma:
    case Opcode::div:
    case Opcode::rem:
    case Opcode::sqrt:
    case Opcode::neg:
    case Opcode::abs:
    case Opcode::min:
    case Opcode::max:
      return number();
    case Opcode::and_:
      return logic(Act::bit_and);
    case Opcode::or_:
      return logic(Act::bit_or);
    case Opcode::xor_:
      return logic(Act::bit_xor);
    case Opcode::not_:
      return logic(Act::bit_not);
    case Opcode::shl:
      return shift(Act::shift_left);
    case Opcode::shr:
      return shift(Act::shift_right);
    case Opcode::cvt:
      return conversion();
    case Opcode::setp:
      return comparison();
    case Opcode::selp:
      return selection();
    case Opcode::mov:
      return move();
    case Opcode::cvta:
      return regular(Act::add_constant, 1);
    case Opcode::ld:
      return access(false);
    case Opcode::st:
      return access(true);
    case Opcode::cp_async:
      return copy();
    case Opcode::atom:
    case Opcode::red:
      return atomic_sum();
    default:
      return false;
  }
}

/// The registers of the frame with the special registers that the operand names.
template <class Visit>
void visit_specials(const CodeFunction& function, const ptx::Operand& operand, const Visit& visit) {
  if (operand.kind == ptx::Operand::Kind::special) {
    for (const SpecialUse& use : function.specials) {
      if (use.special == operand.special) visit(use.offset);
    }
  }
  for (const ptx::Operand& element : operand.elements) visit_specials(function, element, visit);
}

}  // namespace

Operation mentions_at(const Program& program, const CodeFunction& function,
                      const RegisterTable& registers, std::uint32_t index) {
  Operation operation;
  operation.code = &function.code[index];
  const ptx::Instruction& source = source_of(program, *operation.code);
  const auto add = [&](std::vector<std::uint32_t>& list, std::uint32_t offset) {
    const std::uint32_t number = registers.find(offset);
    if (std::find(list.begin(), list.end(), number) == list.end()) list.push_back(number);
  };
  const auto to = [&](std::vector<std::uint32_t>& list) {
    return [&](std::uint32_t reg) { add(list, function.registers[reg].offset); };
  };
  const bool writes = ptx::has_destination(source);
  for (std::size_t i = 0; i < source.operands.size(); ++i) {
    ptx::visit_registers(source.operands[i], to(operation.in));
    visit_specials(function, source.operands[i],
                   [&](std::uint32_t offset) { add(operation.in, offset); });
    if (i == 0 && writes) ptx::visit_registers(source.operands[i], to(operation.out));
  }
  if (source.guarded()) to(operation.in)(source.guard);
  if (ptx::info(source.opcode).end == ptx::BlockEnd::call) {
    const ptx::Call& call = function.source->calls[source.detail];
    ptx::visit_registers(call.callee, to(operation.in));
    for (const auto* list : {&call.arguments, &call.returns}) {
      for (const ptx::Operand& operand : *list) ptx::visit_registers(operand, to(operation.in));
    }
  }
  return operation;
}

Operation operation_at(const Program& program, const CodeFunction& function,
                       const RegisterTable& registers, std::uint32_t index) {
  const Code& code = function.code[index];
  if (code.guard == kNone) {
    Operation operation;
    operation.code = &code;
    const ptx::Instruction& source = source_of(program, code);
    if (Translator(function, registers, source, operation).run()) return operation;
  }
  Operation operation = mentions_at(program, function, registers, index);
  operation.only_orders =
      code.guard == kNone && is_one_of(source_of(program, code).opcode,
                                       {Opcode::cp_async_commit_group, Opcode::cp_async_wait_group,
                                        Opcode::cp_async_wait_all});
  return operation;
}

}  // namespace tilescope::emulator::compiled
