// Instructions that end a run of straight-line code: branches, calls, returns. The warp (warp.cpp)
// executes them by CodeBlock::end.
#include <fmt/format.h>

#include "emulator/device_runtime_calls.hpp"
#include "emulator/instructions/operands.hpp"

namespace tilescope::emulator {
namespace {

/// The place of one argument or result of a call in the caller's frame.
ParameterSlot slot(FunctionDecoder& d, const ptx::Operand& operand,
                   const std::vector<ptx::Parameter>* formals, std::size_t i) {
  if (operand.kind == ptx::Operand::Kind::symbol) {
    if (const ParameterSlot* found = d.parameter_slot(operand.symbol)) return *found;
  }
  const ptx::Type type =
      formals != nullptr && i < formals->size() ? (*formals)[i].type : ptx::Type::b64;
  return {d.source(operand, type), d.width(operand, type), true};
}

/// Sets the callee; false if it has no body and is not built in.
bool set_callee(FunctionDecoder& d, const ptx::Function& callee, std::uint32_t index,
                CallCode& result) {
  result.builtin = builtin_of(callee);
  result.callee = (*d.functions_)[index];
  switch (result.builtin) {
    case Builtin::malloc:
    case Builtin::free:
      d.needs_->heap = d.needs_->order_dependent = true;
      return true;
    case Builtin::printf:
    case Builtin::assert_fail:
      d.needs_->prints = true;
      return true;
    case Builtin::device:
      result.device_function = find_device_function(callee.name);
      d.needs_->device_runtime = d.needs_->heap = d.needs_->order_dependent = true;
      return true;
    case Builtin::none:
      break;
  }
  if (result.callee != kNone) return true;
  d.refusal_ = fmt::format("the function '{}' is declared but not defined", callee.name);
  return false;
}

}  // namespace

bool decode_unsupported(FunctionDecoder& d, const ptx::Instruction& in, Code&) {
  const std::string_view text = in.detail < d.function().unknown_texts.size()
                                    ? std::string_view(d.function().unknown_texts[in.detail])
                                    : ptx::name(in.opcode);
  if (text.starts_with("multimem.")) {
    d.refusal_ = "memory of several devices at once (multimem) is not emulated";
  } else if (text.starts_with("tcgen05.")) {
    d.refusal_ = "the tensor memory of compute capability 10 (tcgen05) is not emulated";
  }
  return false;
}

bool decode_block_end(FunctionDecoder&, const ptx::Instruction&, Code&) {
  return true;
}

bool decode_jump_table(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  code.a = d.source(in.operands[0], ptx::Type::u32);
  code.aux = static_cast<std::uint32_t>(d.result().jump_tables.size());
  // Labels; blocks once linked.
  d.result().jump_tables.push_back(d.function().branch_targets[in.detail]);
  return true;
}

bool decode_call(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const ptx::Call& call = d.function().calls[in.detail];
  CallCode result;
  const std::vector<ptx::Parameter>* formal_arguments = nullptr;
  const std::vector<ptx::Parameter>* formal_returns = nullptr;
  if (call.callee.kind == ptx::Operand::Kind::reg) {
    result.target = d.register_offset(call.callee.reg);
    if (call.prototype != ptx::no_index) {
      formal_arguments = &d.function().prototypes[call.prototype].parameters;
      formal_returns = &d.function().prototypes[call.prototype].returns;
    }
  } else {
    const std::uint32_t index = resolve_alias(d.module(), call.callee.symbol.index);
    const ptx::Function& callee = d.module().functions[index];
    formal_arguments = &callee.parameters;
    formal_returns = &callee.returns;
    if (!set_callee(d, callee, index, result)) return false;
  }
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    result.arguments.push_back(slot(d, call.arguments[i], formal_arguments, i));
  }
  for (std::size_t i = 0; i < call.returns.size(); ++i) {
    result.returns.push_back(slot(d, call.returns[i], formal_returns, i));
  }
  code.aux = static_cast<std::uint32_t>(d.result().calls.size());
  d.result().calls.push_back(std::move(result));
  return true;
}

}  // namespace tilescope::emulator
