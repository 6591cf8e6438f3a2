#include "emulator/compiled/function_plan.hpp"

#include <algorithm>

#include "emulator/compiled/translator.hpp"

namespace tilescope::emulator::compiled {

FunctionPlan::FunctionPlan(const Program& program, const CodeFunction& function, AccessWatch watch)
    : function_(function), registers_(function) {
  operations_.resize(function.code.size());
  for (const CodeBlock& block : function.blocks) {
    for (std::uint32_t i = block.begin; i < block.begin + block.size; ++i) {
      const ptx::Instruction& source = *program.instructions()[function.code[i].id].source;
      sets_carry_ = sets_carry_ || source.modifiers.has(ptx::Flag::cc);
      operations_[i] = i < block.body_end ? operation_at(program, function, registers_, i)
                                          : mentions_at(program, function, registers_, i);
      if (watch == AccessWatch::each && operations_[i].act == Act::copy) {
        operations_[i] = mentions_at(program, function, registers_, i);
      }
    }
  }
  find_live();
  find_only_branches();
}

bool FunctionPlan::ends_warp(std::uint32_t b) const {
  const CodeBlock& block = function_.blocks[b];
  return function_.source->is_entry &&
         (block.end == BlockEnd::ret || block.end == BlockEnd::exit) &&
         function_.code[block.body_end].guard == kNone;
}

std::vector<std::uint32_t> FunctionPlan::successors(std::uint32_t b) const {
  const CodeBlock& block = function_.blocks[b];
  std::vector<std::uint32_t> result;
  const bool jumps = block.end == BlockEnd::branch && function_.code[block.body_end].guard == kNone;
  if (!jumps && block.next < function_.blocks.size()) result.push_back(block.next);
  if (block.end == BlockEnd::branch) result.push_back(block.target);
  if (block.end == BlockEnd::branch_indexed) {
    const auto& table = function_.jump_tables[function_.code[block.body_end].aux];
    result.insert(result.end(), table.begin(), table.end());
  }
  return result;
}

/// A result replaces the register in every lane only where the compiler knows the operation.
void FunctionPlan::step_back(const Operation& operation, RegisterSet& live) const {
  if (operation.act != Act::call) {
    for (const std::uint32_t reg : operation.out) live.erase(reg);
  }
  for (const std::uint32_t reg : operation.in) live.insert(reg);
}

/// Before the instruction that ends the block.
RegisterSet FunctionPlan::live_at_end(std::uint32_t b) const {
  const CodeBlock& block = function_.blocks[b];
  RegisterSet live(registers_.size());
  for (const std::uint32_t next : successors(b)) live.unite(live_[next]);
  if (block.end == BlockEnd::ret) {
    for (const ptx::Parameter& result : function_.source->returns) {
      if (result.in_register && result.reg != ptx::no_index) {
        live.insert(registers_.find(function_.registers[result.reg].offset));
      }
    }
  }
  if (block.body_end < block.begin + block.size) step_back(operations_[block.body_end], live);
  return live;
}

std::vector<RegisterSet> FunctionPlan::live_in_block(std::uint32_t b) const {
  const CodeBlock& block = function_.blocks[b];
  std::vector<RegisterSet> result(block.body_end - block.begin + 1, live_at_end(b));
  for (std::uint32_t i = block.body_end; i-- > block.begin;) {
    RegisterSet live = result[i - block.begin + 1];
    step_back(operations_[i], live);
    result[i - block.begin] = std::move(live);
  }
  return result;
}

std::vector<FrameRange> FunctionPlan::frame_resets(std::uint32_t bytes) const {
  // Constants and special registers are never written. Unused results are read at most as arguments
  // of calls that name none.
  std::vector<FrameRange> kept;
  if (!sets_carry_) kept.push_back({kCarryOffset, kSinkOffset - kCarryOffset});
  if (function_.calls.empty()) kept.push_back({kSinkOffset, kFirstRegister - kSinkOffset});
  for (std::uint32_t reg = 0; reg < registers_.size(); ++reg) {
    const RegisterInfo& info = registers_[reg];
    if (info.kind == RegisterKind::variable && live_at_begin(0).has(reg)) continue;
    kept.push_back({info.offset, info.width == 0 ? 4u : 32u * info.width});
  }
  std::sort(kept.begin(), kept.end(),
            [](const FrameRange& a, const FrameRange& b) { return a.offset < b.offset; });
  std::vector<FrameRange> result;
  std::uint32_t at = 0;
  for (const FrameRange& range : kept) {
    // Less than the alignment of registers lies between them: padding, which is never written.
    if (range.offset >= at + kRegisterAlignment) result.push_back({at, range.offset - at});
    at = std::max(at, range.offset + range.bytes);
  }
  if (bytes > at) result.push_back({at, bytes - at});
  return result;
}

void FunctionPlan::find_live() {
  live_.assign(function_.blocks.size(), RegisterSet(registers_.size()));
  for (bool changed = true; changed;) {
    changed = false;
    for (auto b = static_cast<std::uint32_t>(function_.blocks.size()); b-- > 0;) {
      const CodeBlock& block = function_.blocks[b];
      RegisterSet live = live_at_end(b);
      for (std::uint32_t i = block.body_end; i-- > block.begin;) step_back(operations_[i], live);
      changed = live_[b].unite(live) || changed;
    }
  }
}

void FunctionPlan::find_only_branches() {
  only_branches_.assign(registers_.size(), true);
  const auto read = [&](const Operation& operation) {
    bool changed = false;
    for (const std::uint32_t reg : operation.in) {
      changed = changed || only_branches_[reg];
      only_branches_[reg] = false;
    }
    return changed;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const CodeBlock& block : function_.blocks) {
      for (std::uint32_t i = block.begin; i < block.begin + block.size; ++i) {
        const Operation& operation = operations_[i];
        const bool branches = i == block.body_end && block.end == BlockEnd::branch;
        const bool logic =
            operation.width == 0 && operation.act != Act::call && only_branches(operation.out[0]);
        if (!branches && !logic) changed = read(operation) || changed;
      }
    }
  }
}

}  // namespace tilescope::emulator::compiled
