#include "emulator/decoder.hpp"

#include <algorithm>
#include <cstring>

#include "base/errors.hpp"
#include "emulator/address_space.hpp"
#include "emulator/special_register_values.hpp"

namespace tilescope::emulator {
unsigned register_bytes(ptx::Type type) {
  if (type == ptx::Type::pred) return 0;
  const unsigned bits = ptx::bit_width(type);
  return bits <= 32 ? 4 : bits / 8;
}

FunctionDecoder::FunctionDecoder(const ptx::Module& module, const ptx::Function& function,
                                 CodeFunction& result)
    : module_(module), function_(function), result_(result) {
  result_.source = &function;
  result_.image.assign(kFirstRegister, 0);
  count_mentions();
}

void FunctionDecoder::count_mentions() {
  mentions_.assign(function_.registers.size(), 0);
  const auto mention = [&](std::uint32_t reg) { ++mentions_[reg]; };
  for (const ptx::Instruction& instruction : function_.instructions) {
    if (instruction.guarded()) mention(instruction.guard);
    for (const ptx::Operand& operand : instruction.operands) ptx::visit_registers(operand, mention);
  }
  for (const ptx::Call& call : function_.calls) {
    ptx::visit_registers(call.callee, mention);
    for (const ptx::Operand& operand : call.arguments) ptx::visit_registers(operand, mention);
    for (const ptx::Operand& operand : call.returns) ptx::visit_registers(operand, mention);
  }
}

std::uint32_t FunctionDecoder::allocate(unsigned bytes, unsigned alignment) {
  std::size_t at = result_.image.size();
  at = (at + alignment - 1) / alignment * alignment;
  constexpr std::size_t kMost = std::size_t{1} << 30;  // offsets in a frame have 32 bits
  if (at + bytes > kMost) {
    throw input_error("the registers of the function '{}' take more than 1 GiB a warp",
                      function_.name);
  }
  result_.image.resize(at + bytes, 0);
  return static_cast<std::uint32_t>(at);
}

void FunctionDecoder::lay_out() {
  // Predicates first: they are small, and share cache lines.
  result_.registers.resize(function_.registers.size());
  for (const bool predicates : {true, false}) {
    for (std::size_t i = 0; i < result_.registers.size(); ++i) {
      const unsigned bytes = register_bytes(function_.registers[i].type);
      if ((bytes == 0) != predicates) continue;
      result_.registers[i] = {
          bytes == 0 ? allocate(4, 4) : allocate(bytes * 32, kRegisterAlignment),
          static_cast<std::uint8_t>(bytes)};
    }
  }
  const auto parameter_bytes = [&](std::uint64_t bytes, std::string_view name) {
    constexpr std::uint64_t kMost = 64 * 1024;
    if (bytes > kMost) {
      throw input_error("the parameter '{}' of the function '{}' has {} bytes; the limit is {}",
                        name, function_.name, bytes, kMost);
    }
    return static_cast<std::uint32_t>(bytes);
  };
  const auto slot = [&](const ptx::Parameter& parameter) {
    if (parameter.in_register && parameter.reg == ptx::no_index) {  // without a name
      return ParameterSlot{kSinkOffset, register_bytes(parameter.type), true};
    }
    if (parameter.in_register) {
      const RegisterPlace place = result_.registers[parameter.reg];
      return ParameterSlot{place.offset, place.width, true};
    }
    const std::uint32_t bytes = parameter_bytes(parameter.size, parameter.name);
    return ParameterSlot{allocate(bytes * 32, kRegisterAlignment), bytes, false};
  };
  if (!function_.is_entry) {
    for (const auto& parameter : function_.parameters)
      result_.parameters.push_back(slot(parameter));
    for (const auto& parameter : function_.returns) result_.returns.push_back(slot(parameter));
  }
  param_variables_.resize(function_.variables.size());
  for (std::size_t i = 0; i < function_.variables.size(); ++i) {
    const ptx::Variable& variable = function_.variables[i];
    if (variable.space != ptx::Space::param) continue;
    const std::uint32_t bytes = parameter_bytes(variable.size, variable.name);
    param_variables_[i] = {allocate(bytes * 32, kRegisterAlignment), bytes, false};
  }
}

const ParameterSlot* FunctionDecoder::parameter_slot(const ptx::Symbol& symbol) const {
  switch (symbol.kind) {
    case ptx::SymbolKind::parameter:
      return is_kernel() ? nullptr : &result_.parameters[symbol.index];
    case ptx::SymbolKind::return_parameter:
      return &result_.returns[symbol.index];
    case ptx::SymbolKind::local_variable:
      return function_.variables[symbol.index].space == ptx::Space::param
                 ? &param_variables_[symbol.index]
                 : nullptr;
    default:
      return nullptr;
  }
}

std::uint32_t FunctionDecoder::constant(std::uint64_t bits, unsigned bytes) {
  if (bytes == 4) bits &= 0xffffffffu;
  const auto [found, fresh] = constants_.try_emplace({bits, bytes}, 0);
  if (fresh) {
    found->second = allocate(bytes * 32, kRegisterAlignment);
    result_.constants.push_back({found->second, static_cast<std::uint8_t>(bytes), bits});
    std::uint8_t* at = result_.image.data() + found->second;
    for (int lane = 0; lane < kWarpSize; ++lane) {
      const unsigned each = std::min(bytes, 8u);  // the upper half of 128 bits stays zero
      std::memcpy(at + static_cast<unsigned>(lane) * each, &bits, each);
    }
  }
  return found->second;
}

std::uint32_t FunctionDecoder::constant_predicate(bool value) {
  const auto [found, fresh] = constants_.try_emplace({value ? 1 : 0, 0}, 0);
  if (fresh) {
    found->second = allocate(4, 4);
    result_.constants.push_back({found->second, 0, value ? 1u : 0u});
    if (value) std::memset(result_.image.data() + found->second, 0xff, 4);
  }
  return found->second;
}

std::uint32_t FunctionDecoder::temporary(unsigned bytes) {
  return allocate(bytes * 32, kRegisterAlignment);
}

std::uint32_t FunctionDecoder::special_use(ptx::SpecialRegister special, unsigned bytes,
                                           std::uint64_t addend) {
  if (names_reserved_shared(special)) needs_->reserved_shared = true;
  for (const SpecialUse& use : result_.specials) {
    if (use.special == special && use.bytes == bytes && use.addend == addend) return use.offset;
  }
  const std::uint32_t offset =
      bytes == 0 ? allocate(4, 4) : allocate(bytes * 32, kRegisterAlignment);
  result_.specials.push_back({special, offset, static_cast<std::uint8_t>(bytes), addend});
  return offset;
}

std::uint32_t FunctionDecoder::source(const ptx::Operand& operand, ptx::Type type) {
  const unsigned bytes = std::max(register_bytes(type), 4u);
  switch (operand.kind) {
    case ptx::Operand::Kind::reg:
      return result_.registers[operand.reg].offset;
    case ptx::Operand::Kind::immediate:
      if (type == ptx::Type::pred) return constant_predicate(operand.bits != 0);
      return constant(ptx::immediate_bits(operand, type), bytes);
    case ptx::Operand::Kind::special: {
      const bool number = operand.special == ptx::SpecialRegister::envreg ||
                          operand.special == ptx::SpecialRegister::reserved_smem_offset;
      return special_use(operand.special, type == ptx::Type::pred ? 0 : bytes,
                         number ? operand.bits : 0);
    }
    case ptx::Operand::Kind::symbol:
    case ptx::Operand::Kind::address:
      if (operand.reg != ptx::no_index) return result_.registers[operand.reg].offset;
      return symbol_register(operand.symbol, operand.offset, bytes, false);
    default:
      return kSinkOffset;
  }
}

std::uint32_t FunctionDecoder::destination(const ptx::Operand& operand) const {
  return operand.kind == ptx::Operand::Kind::reg ? result_.registers[operand.reg].offset
                                                 : kSinkOffset;
}

unsigned FunctionDecoder::width(const ptx::Operand& operand, ptx::Type type) const {
  if (operand.kind == ptx::Operand::Kind::reg) return result_.registers[operand.reg].width;
  return register_bytes(type);
}

ptx::Type FunctionDecoder::declared(const ptx::Operand& operand, ptx::Type otherwise) const {
  return operand.kind == ptx::Operand::Kind::reg ? function_.registers[operand.reg].type
                                                 : otherwise;
}

bool FunctionDecoder::frame_relative(const ptx::Symbol& symbol) const {
  return symbol.kind == ptx::SymbolKind::local_variable &&
         function_.variables[symbol.index].space == ptx::Space::local;
}

std::uint64_t FunctionDecoder::symbol_address(const ptx::Symbol& symbol, bool generic) const {
  switch (symbol.kind) {
    case ptx::SymbolKind::variable: {
      if (module_.variables[symbol.index].space == ptx::Space::shared) {
        return (*shared_offsets_)[symbol.index] + (generic ? kSharedWindow : 0);
      }
      return addresses_->variables[symbol.index];
    }
    case ptx::SymbolKind::function:
      return kFunctionBase + symbol.index * kFunctionStride;
    case ptx::SymbolKind::local_variable: {
      const bool shared = function_.variables[symbol.index].space == ptx::Space::shared;
      const std::uint64_t window = shared ? kSharedWindow : kLocalWindow;
      return variable_offsets_[symbol.index] + (generic ? window : 0);
    }
    case ptx::SymbolKind::parameter:
      return function_.parameters[symbol.index].offset + (generic ? kParameterWindow : 0);
    default:
      return 0;
  }
}

std::uint32_t FunctionDecoder::symbol_register(const ptx::Symbol& symbol, std::int64_t offset,
                                               unsigned bytes, bool generic) {
  const std::uint64_t address =
      symbol_address(symbol, generic) + static_cast<std::uint64_t>(offset);
  if (frame_relative(symbol)) return special_use(ptx::SpecialRegister::none, bytes, address);
  return constant(address, bytes);
}

void FunctionDecoder::address(const ptx::Operand& operand, bool generic, Code& code,
                              unsigned& address_bytes) {
  code.offset = operand.offset;
  if (operand.reg != ptx::no_index) {
    code.a = result_.registers[operand.reg].offset;
    address_bytes = result_.registers[operand.reg].width;
    return;
  }
  address_bytes = 8;
  if (operand.symbol.kind == ptx::SymbolKind::none) {  // an absolute address
    code.a = constant(0, 8);
    return;
  }
  // The address of a variable of the frame is in a register; others are constants.
  code.a = symbol_register(operand.symbol, 0, 8, generic);
}

void FunctionDecoder::set_list(Code& code, std::vector<std::uint32_t> offsets) {
  result_.lists.push_back(std::move(offsets));
  code.list = result_.lists.back().data();
  code.list_size = static_cast<std::uint16_t>(result_.lists.back().size());
}

}  // namespace tilescope::emulator
