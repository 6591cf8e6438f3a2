#include "ptx/print.hpp"

#include <fmt/format.h>

#include <iterator>

#include "ptx/opcode_table.hpp"

namespace tilescope::ptx {
namespace {

using Kind = Operand::Kind;

class InstructionPrinter {
 public:
  InstructionPrinter(const Module& module, const Function& function)
      : module_(module), function_(function) {}

  std::string print(const Instruction& instruction) {
    if (instruction.guarded()) {
      out_ += instruction.guard_negated ? "@!" : "@";
      out_ += function_.registers[instruction.guard].name + " ";
    }
    if (instruction.opcode == Opcode::unknown) {
      out_ += function_.unknown_texts[instruction.detail];
      return std::move(out_);
    }
    out_ += mnemonic(instruction.opcode, instruction.modifiers);
    if (instruction.opcode == Opcode::call) {
      print_call(function_.calls[instruction.detail]);
      return std::move(out_);
    }
    if (!instruction.operands.empty()) out_ += ' ';
    print_list(instruction.operands, ", ");
    if (instruction.opcode == Opcode::brx_idx) {
      out_ += fmt::format(", $targets_{}", instruction.detail);
    }
    return std::move(out_);
  }

 private:
  void print_list(const std::vector<Operand>& operands, std::string_view separator) {
    bool first = true;
    for (const Operand& operand : operands) {
      if (!first) out_ += separator;
      first = false;
      print_operand(operand);
    }
  }

  void print_call(const Call& call) {
    out_ += ' ';
    if (!call.returns.empty()) {
      out_ += '(';
      print_list(call.returns, ", ");
      out_ += "), ";
    }
    print_operand(call.callee);
    if (!call.arguments.empty()) {
      out_ += ", (";
      print_list(call.arguments, ", ");
      out_ += ')';
    }
    if (call.prototype != no_index) out_ += ", " + function_.prototypes[call.prototype].name;
    if (call.targets != no_index) out_ += fmt::format(", $callees_{}", call.targets);
  }

  std::string_view symbol_name(const Symbol& symbol) const {
    switch (symbol.kind) {
      case SymbolKind::variable:
        return module_.variables[symbol.index].name;
      case SymbolKind::function:
        return module_.functions[symbol.index].name;
      case SymbolKind::local_variable:
        return function_.variables[symbol.index].name;
      case SymbolKind::parameter:
        return function_.parameters[symbol.index].name;
      case SymbolKind::return_parameter:
        return function_.returns[symbol.index].name;
      case SymbolKind::none:
        break;
    }
    return "";
  }

  void print_offset(std::int64_t offset) {
    if (offset != 0) out_ += fmt::format("+{}", offset);  // "+-4": "-4" is not in the grammar
  }

  void print_address(const Operand& operand) {
    out_ += '[';
    if (operand.reg != no_index) {
      out_ += function_.registers[operand.reg].name;
      print_offset(operand.offset);
    } else if (operand.symbol.kind != SymbolKind::none) {
      out_ += symbol_name(operand.symbol);
      print_offset(operand.offset);
    } else {
      out_ += fmt::format("{}", operand.offset);
    }
    if (!operand.elements.empty()) out_ += ", ";
    print_list(operand.elements, ", ");
    out_ += ']';
  }

  void print_immediate(const Operand& operand) {
    switch (operand.literal) {
      case Literal::integer:
        out_ += fmt::format("{}", static_cast<std::int64_t>(operand.bits));
        break;
      case Literal::single:
        out_ += fmt::format("0f{:08X}", operand.bits);
        break;
      case Literal::real:
        out_ += fmt::format("0d{:016X}", operand.bits);
        break;
    }
  }

  void print_special(const Operand& operand) {
    out_ += fmt::format("%{}", name(operand.special));
    if (operand.special >= SpecialRegister::reserved_smem_offset)
      out_ += fmt::format("{}", operand.bits);
    if (operand.special == SpecialRegister::pm64) out_ += "_64";
  }

  void print_operand(const Operand& operand) {
    constexpr std::string_view selectors[] = {"",    ".b0", ".b1", ".b2", ".b3",
                                              ".h0", ".h1", ".b",  ".h"};
    switch (operand.kind) {
      case Kind::sink:
        out_ += '_';
        break;
      case Kind::reg: {
        const Register& reg = function_.registers[operand.reg];
        if (operand.negated) out_ += reg.type == Type::pred ? '!' : '-';
        out_ += reg.name;
        out_ += selectors[static_cast<std::size_t>(operand.selector)];
        for (std::uint64_t i = operand.bits >> 16; i-- > 0;) {
          out_ += fmt::format("{}", operand.bits >> 4 * i & 0xf);
        }
        break;
      }
      case Kind::immediate:
        print_immediate(operand);
        break;
      case Kind::special:
        print_special(operand);
        break;
      case Kind::symbol:
        out_ += symbol_name(operand.symbol);
        print_offset(operand.offset);
        break;
      case Kind::address:
        print_address(operand);
        break;
      case Kind::vector:
        out_ += '{';
        print_list(operand.elements, ", ");
        out_ += '}';
        break;
      case Kind::pair:
        print_list(operand.elements, "|");
        break;
      case Kind::label:
        out_ += function_.labels[operand.label].name;
        break;
    }
  }

  const Module& module_;
  const Function& function_;
  std::string out_;
};

}  // namespace

std::string print(const Module& module, const Function& function, const Instruction& instruction) {
  return InstructionPrinter(module, function).print(instruction);
}

}  // namespace tilescope::ptx
