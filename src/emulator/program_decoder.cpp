#include "emulator/program_decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/errors.hpp"
#include "emulator/address_space.hpp"
#include "emulator/compiled_code.hpp"
#include "emulator/device_runtime_calls.hpp"
#include "ptx/opcode_table.hpp"

namespace tilescope::emulator {
namespace {

/// By opcode.
constexpr Decode kDecoders[] = {
#define OPCODE(enumerator, spelling, letters, decoder, ...) decode_##decoder,
#include "ptx/opcodes.def"
#undef OPCODE
};

/// Local memory per thread; the limit of every GPU so far.
constexpr std::uint64_t kMostLocalBytes = 512 * 1024;

std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace

std::uint32_t resolve_alias(const ptx::Module& module, std::uint32_t index) {
  for (int hops = 0; hops < 16 && module.functions[index].alias_of != ptx::no_index; ++hops) {
    index = module.functions[index].alias_of;
  }
  return index;
}

Builtin builtin_of(const ptx::Function& function) {
  if (function.has_body) return Builtin::none;
  if (function.name == "vprintf") return Builtin::printf;
  if (function.name == "malloc") return Builtin::malloc;
  if (function.name == "free") return Builtin::free;
  if (function.name == "__assertfail") return Builtin::assert_fail;
  if (find_device_function(function.name) != nullptr) return Builtin::device;
  return Builtin::none;
}

ProgramDecoder::ProgramDecoder(std::shared_ptr<const ptx::Module> module, std::uint32_t kernel,
                               const SymbolAddresses& addresses, bool pauses)
    : module_(std::move(module)), addresses_(addresses), pauses_(pauses) {
  program_->module_ = module_;
  program_->capability_ = addresses.capability;
  program_->by_module_index_.assign(module_->functions.size(), kNone);
  mention(kernel);
}

void ProgramDecoder::mention(std::uint32_t function) {
  function = resolve_alias(*module_, function);
  // A kernel that this one launches is a program of its own.
  if (!module_->functions[function].has_body) return;
  if (module_->functions[function].is_entry && !reached_.empty()) return;
  std::uint32_t& index = program_->by_module_index_[function];
  if (index != kNone) return;
  index = static_cast<std::uint32_t>(reached_.size());
  reached_.push_back(function);
}

void ProgramDecoder::mention_symbols(const ptx::Operand& operand) {
  if (operand.symbol.kind == ptx::SymbolKind::function) mention(operand.symbol.index);
  for (const ptx::Operand& element : operand.elements) mention_symbols(element);
}

void ProgramDecoder::find_functions() {
  for (std::size_t i = 0; i < reached_.size(); ++i) {
    const ptx::Function& function = module_->functions[reached_[i]];
    for (const ptx::Instruction& instruction : function.instructions) {
      for (const ptx::Operand& operand : instruction.operands) mention_symbols(operand);
    }
    for (const ptx::Call& call : function.calls) {
      mention_symbols(call.callee);
      if (call.callee.kind != ptx::Operand::Kind::reg || indirect_calls_) continue;
      // A pointer may name any function whose address a variable holds (tables, virtual functions).
      indirect_calls_ = true;
      for (const ptx::Variable& variable : module_->variables) {
        for (const ptx::Relocation& relocation : variable.relocations) {
          if (relocation.symbol.kind == ptx::SymbolKind::function) mention(relocation.symbol.index);
        }
      }
    }
  }
  // Aliases lead to the same code.
  for (std::size_t i = 0; i < module_->functions.size(); ++i) {
    program_->by_module_index_[i] =
        program_->by_module_index_[resolve_alias(*module_, static_cast<std::uint32_t>(i))];
  }
}

void ProgramDecoder::lay_out_shared() {
  std::vector<bool> used(module_->variables.size(), false);
  const std::function<void(const ptx::Operand&)> look = [&](const ptx::Operand& operand) {
    if (operand.symbol.kind == ptx::SymbolKind::variable) used[operand.symbol.index] = true;
    for (const ptx::Operand& element : operand.elements) look(element);
  };
  for (const std::uint32_t index : reached_) {
    for (const auto& instruction : module_->functions[index].instructions) {
      for (const auto& operand : instruction.operands) look(operand);
    }
    for (const ptx::Call& call : module_->functions[index].calls) {
      for (const auto& operand : call.arguments) look(operand);
    }
  }
  std::uint64_t end = 0, dynamic_alignment = 16;
  const auto place = [&](const ptx::Variable& variable) {
    end = align_up(end, variable.alignment);
    program_->shared_.push_back({variable.name, static_cast<std::uint32_t>(end),
                                 static_cast<std::uint32_t>(variable.size), false});
    const std::uint64_t offset = end;
    end += variable.size;
    if (end > 0x7fffffff) {
      throw input_error("the shared variable '{}' of {} bytes exceeds every GPU's memory",
                        variable.name, variable.size);
    }
    return offset;
  };
  shared_offsets_.assign(module_->variables.size(), 0);
  std::vector<std::uint32_t> dynamic;
  for (std::uint32_t i = 0; i < module_->variables.size(); ++i) {
    const ptx::Variable& variable = module_->variables[i];
    if (variable.space != ptx::Space::shared || !used[i]) continue;
    if (variable.unsized) {
      dynamic.push_back(i);
      dynamic_alignment = std::max(dynamic_alignment, variable.alignment);
    } else {
      shared_offsets_[i] = place(variable);
    }
  }
  function_offsets_.resize(reached_.size());
  for (std::size_t f = 0; f < reached_.size(); ++f) {
    const ptx::Function& function = module_->functions[reached_[f]];
    function_offsets_[f].assign(function.variables.size(), 0);
    for (std::size_t v = 0; v < function.variables.size(); ++v) {
      if (function.variables[v].space == ptx::Space::shared) {
        function_offsets_[f][v] = place(function.variables[v]);
      }
    }
  }
  // All unsized variables name the dynamic part, which begins behind the static one.
  if (!dynamic.empty()) end = align_up(end, dynamic_alignment);
  for (const std::uint32_t i : dynamic) {
    shared_offsets_[i] = end;
    program_->shared_.push_back(
        {module_->variables[i].name, static_cast<std::uint32_t>(end), 0, true});
  }
  program_->static_shared_bytes_ = static_cast<std::uint32_t>(end);
}

void ProgramDecoder::lay_out_variables(FunctionDecoder& decoder, std::uint32_t index) {
  CodeFunction& result = decoder.result();
  decoder.variable_offsets_ = function_offsets_[index];
  std::uint64_t local = 0;
  for (std::size_t v = 0; v < decoder.function().variables.size(); ++v) {
    const ptx::Variable& variable = decoder.function().variables[v];
    if (variable.space != ptx::Space::local) continue;
    local = align_up(local, variable.alignment);
    decoder.variable_offsets_[v] = local;
    result.locals.push_back({variable.name, static_cast<std::uint32_t>(local),
                             static_cast<std::uint32_t>(variable.size)});
    local += variable.size;
  }
  if (local > kMostLocalBytes) {
    throw input_error(
        "the function '{}' needs {} bytes of local memory a thread; the limit is 512 KiB",
        decoder.function().name, local);
  }
  result.local_bytes = static_cast<std::uint32_t>(align_up(local, 16));
}

void ProgramDecoder::refuse(const ptx::Function& function, const ptx::Instruction& instruction,
                            const std::string& reason) {
  std::string text = ptx::mnemonic(instruction.opcode, instruction.modifiers);
  if (instruction.opcode == ptx::Opcode::unknown) {
    const std::string& whole = function.unknown_texts[instruction.detail];
    text = whole.substr(0, whole.find(' '));
  }
  for (Refusal& known : refusals_) {
    if (reason.empty() ? known.text != text : known.reason != reason) continue;
    ++known.others;
    return;
  }
  std::string place = fmt::format("line {} of the PTX", instruction.line);
  for (const auto& level : ptx::inline_chain(*module_, instruction)) {
    if (level.line == 0) continue;
    place +=
        fmt::format(", {}:{}", std::filesystem::path(level.file).filename().string(), level.line);
    break;
  }
  refusals_.push_back({std::move(text), std::move(place), reason});
}

std::string ProgramDecoder::refusal_list() const {
  constexpr std::size_t kMost = 10;
  std::string list;
  for (std::size_t i = 0; i < refusals_.size() && i < kMost; ++i) {
    const auto& [text, place, reason, others] = refusals_[i];
    list += fmt::format("{}{} ({}", i == 0 ? "" : "; ", text, place);
    if (others != 0) list += fmt::format(", and {} more place{}", others, others == 1 ? "" : "s");
    list += reason.empty() ? ")" : "): " + reason;
  }
  return refusals_.size() > kMost ? list + "; and more" : list;
}

void ProgramDecoder::decode_instructions(FunctionDecoder& decoder) {
  const ptx::Function& function = decoder.function();
  for (std::size_t i = 0; i < function.instructions.size(); ++i) {
    const ptx::Instruction& instruction = function.instructions[i];
    Code code;
    code.id = static_cast<InstructionId>(program_->instructions_.size());
    program_->instructions_.push_back(
        {&instruction,
         program_
             ->by_module_index_[static_cast<std::size_t>(&function - module_->functions.data())],
         static_cast<std::uint32_t>(i), 0});
    if (instruction.guarded()) {
      code.guard = decoder.register_offset(instruction.guard);
      code.guard_flip = instruction.guard_negated ? ~0u : 0u;
    }
    decoder.refusal_.clear();
    const Decode decode = kDecoders[static_cast<std::size_t>(instruction.opcode)];
    if (!decode(decoder, instruction, code)) refuse(function, instruction, decoder.refusal_);
    decoder.result().code.push_back(code);
  }
  Code end;  // control runs off the end
  end.id = program_->instructions_.empty()
               ? 0
               : static_cast<InstructionId>(program_->instructions_.size() - 1);
  decoder.result().code.push_back(end);
}

void ProgramDecoder::decode_function(std::uint32_t index) {
  const ptx::Function& function = module_->functions[reached_[index]];
  CodeFunction& result = program_->functions_[index];
  FunctionDecoder decoder(*module_, function, result);
  decoder.addresses_ = &addresses_;
  decoder.shared_offsets_ = &shared_offsets_;
  decoder.pattern_slots_ = &program_->pattern_slots_;
  decoder.functions_ = &program_->by_module_index_;
  decoder.needs_ = &program_->needs_;
  lay_out_variables(decoder, index);
  decoder.lay_out();
  decode_instructions(decoder);
  split_blocks(decoder, ptx::build_control_flow(function));
  result.image.resize(align_up(result.image.size(), 64), 0);
}

void ProgramDecoder::size_locals() {
  // The deepest chain of calls decides; a cycle makes it unbounded. Functions in the order in which
  // they are finished, with an explicit stack: a chain may be as long as the text.
  const auto count = static_cast<std::uint32_t>(program_->functions_.size());
  enum class State : std::uint8_t { fresh, open, done };
  struct Visit {
    std::uint32_t function;
    std::size_t call = 0;
    std::uint32_t callee = 1;  ///< for a call through a pointer: the next candidate
  };
  std::vector<State> state(count, State::fresh);
  std::vector<std::uint64_t> need(count, 0);
  std::vector<Visit> open{{0}};
  state[0] = State::open;
  while (!open.empty()) {
    Visit& visit = open.back();
    const CodeFunction& function = program_->functions_[visit.function];
    std::uint32_t callee = kNone;
    while (visit.call < function.calls.size() && callee == kNone) {
      const CallCode& call = function.calls[visit.call];
      if (call.target != kNone && visit.callee < count) {
        callee = visit.callee++;
        continue;
      }
      if (call.target == kNone) callee = call.callee;
      ++visit.call;
      visit.callee = 1;
    }
    if (callee != kNone) {
      if (state[callee] == State::open) program_->recursive_ = true;
      if (state[callee] == State::done) {
        need[visit.function] = std::max(need[visit.function], need[callee]);
      }
      if (state[callee] == State::fresh) {
        state[callee] = State::open;
        open.push_back({callee});
      }
      continue;
    }
    const std::uint32_t finished = visit.function;
    need[finished] += function.local_bytes;
    state[finished] = State::done;
    open.pop_back();
    if (open.empty()) break;
    std::uint64_t& above = need[open.back().function];
    above = std::max(above, need[finished]);
  }
  if (program_->recursive_) return;
  if (need[0] > kMostLocalBytes) {
    throw input_error(
        "kernel '{}' and what it calls need {} bytes of local memory a thread; the limit is 512 "
        "KiB",
        program_->kernel(), need[0]);
  }
  program_->local_bytes_ = static_cast<std::uint32_t>(need[0]);
}

std::shared_ptr<const Program> ProgramDecoder::run() {
  find_functions();
  lay_out_shared();
  program_->functions_.resize(reached_.size());
  for (std::uint32_t i = 0; i < reached_.size(); ++i) decode_function(i);
  if (!refusals_.empty()) {
    throw input_error("kernel '{}' uses operations that the emulator does not execute: {}",
                      module_->functions[reached_[0]].name, refusal_list());
  }
  size_locals();
  for (const AccessWatch watch : {AccessWatch::nothing, AccessWatch::sums, AccessWatch::each}) {
    if (pauses_) break;
    program_->compiled_code_[static_cast<std::size_t>(watch)] =
        make_compiled_code(*program_, watch);
  }
  return program_;
}

std::shared_ptr<const Program> decode_program(std::shared_ptr<const ptx::Module> module,
                                              std::uint32_t kernel,
                                              const SymbolAddresses& addresses, bool pauses) {
  return ProgramDecoder(std::move(module), kernel, addresses, pauses).run();
}

}  // namespace tilescope::emulator
