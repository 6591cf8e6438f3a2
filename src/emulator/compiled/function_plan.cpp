#include "emulator/compiled/function_plan.hpp"

#include <algorithm>

#include "base/one_of.hpp"
#include "emulator/compiled/translator.hpp"

namespace tilescope::emulator::compiled {

FunctionPlan::FunctionPlan(const Program& program, const CodeFunction& function, AccessWatch watch)
    : function_(&function), blocks_(function.blocks), body_(std::make_shared<Body>(function)) {
  for (std::uint32_t b = 0; b < blocks_.size(); ++b) origins_.push_back(b);
  body_->operations.resize(function.code.size());
  for (const CodeBlock& block : function.blocks) {
    for (std::uint32_t i = block.begin; i < block.begin + block.size; ++i) {
      const ptx::Instruction& source = *program.instructions()[function.code[i].id].source;
      body_->sets_carry = body_->sets_carry || source.modifiers.has(ptx::Flag::cc);
      body_->operations[i] = i < block.body_end
                                 ? operation_at(program, function, body_->registers, i)
                                 : mentions_at(program, function, body_->registers, i);
      if (watch == AccessWatch::each && body_->operations[i].act == Act::copy) {
        body_->operations[i] = mentions_at(program, function, body_->registers, i);
      }
    }
  }
  find_live();
  find_only_branches();
  find_only_signs();
}

bool FunctionPlan::ends_warp(std::uint32_t b) const {
  const CodeBlock& block = blocks_[b];
  return function_->source->is_entry &&
         (block.end == BlockEnd::ret || block.end == BlockEnd::exit) &&
         function_->code[block.body_end].guard == kNone;
}

std::vector<std::uint32_t> FunctionPlan::successors(std::uint32_t b) const {
  const CodeBlock& block = blocks_[b];
  std::vector<std::uint32_t> result;
  const bool jumps =
      block.end == BlockEnd::branch && function_->code[block.body_end].guard == kNone;
  if (!jumps && block.next < blocks_.size()) result.push_back(block.next);
  if (block.end == BlockEnd::branch) result.push_back(block.target);
  if (block.end == BlockEnd::branch_indexed) {
    const auto& table = function_->jump_tables[function_->code[block.body_end].aux];
    result.insert(result.end(), table.begin(), table.end());
  }
  return result;
}

bool FunctionPlan::is_plain_loop(std::uint32_t latch) const {
  const CodeBlock& last = blocks_[latch];
  if (last.end != BlockEnd::branch || !last.backward || last.spin || last.target > latch ||
      function_->code[last.body_end].guard == kNone) {
    return false;
  }
  for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
    const bool inside = b >= last.target && b <= latch;
    const CodeBlock& block = blocks_[b];
    if (inside && b != latch && block.end != BlockEnd::fall_through &&
        (block.end != BlockEnd::branch || block.backward)) {
      return false;
    }
    if (inside) continue;
    for (const std::uint32_t next : successors(b)) {
      if (next > last.target && next <= latch) return false;
    }
  }
  return true;
}

std::uint32_t FunctionPlan::peel(std::uint32_t latch) {
  const std::uint32_t first = blocks_[latch].target;
  const auto copies = static_cast<std::uint32_t>(blocks_.size());
  const auto copied = [&](std::uint32_t& b) {
    if (b != kNone && b >= first && b <= latch) b += copies - first;
  };
  for (std::uint32_t b = 0; b < copies; ++b) {
    if (b >= first && b <= latch) continue;
    for (std::uint32_t* const to : {&blocks_[b].next, &blocks_[b].target}) {
      if (*to == first) *to += copies - first;
    }
  }
  for (std::uint32_t b = first; b <= latch; ++b) {
    CodeBlock copy = blocks_[b];
    copied(copy.next);
    copied(copy.reconverge);
    if (b != latch) copied(copy.target);
    blocks_.push_back(copy);
    origins_.push_back(origins_[b]);
  }
  return copies + latch - first;
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
  const CodeBlock& block = blocks_[b];
  RegisterSet live(body_->registers.size());
  for (const std::uint32_t next : successors(b)) live.unite(live_at_begin(next));
  if (block.end == BlockEnd::ret) {
    for (const ptx::Parameter& result : function_->source->returns) {
      if (result.in_register && result.reg != ptx::no_index) {
        live.insert(body_->registers.find(function_->registers[result.reg].offset));
      }
    }
  }
  if (block.body_end < block.begin + block.size) step_back(body_->operations[block.body_end], live);
  return live;
}

std::vector<RegisterSet> FunctionPlan::live_in_block(std::uint32_t b) const {
  const CodeBlock& block = blocks_[b];
  std::vector<RegisterSet> result(block.body_end - block.begin + 1, live_at_end(b));
  for (std::uint32_t i = block.body_end; i-- > block.begin;) {
    RegisterSet live = result[i - block.begin + 1];
    step_back(body_->operations[i], live);
    result[i - block.begin] = std::move(live);
  }
  return result;
}

std::vector<FrameRange> FunctionPlan::frame_resets(std::uint32_t bytes) const {
  // Constants and special registers are never written. Unused results are read at most as arguments
  // of calls that name none.
  std::vector<FrameRange> kept;
  if (!body_->sets_carry) kept.push_back({kCarryOffset, kSinkOffset - kCarryOffset});
  if (function_->calls.empty()) kept.push_back({kSinkOffset, kFirstRegister - kSinkOffset});
  for (std::uint32_t reg = 0; reg < body_->registers.size(); ++reg) {
    const RegisterInfo& info = body_->registers[reg];
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
  body_->live.assign(blocks_.size(), RegisterSet(body_->registers.size()));
  for (bool changed = true; changed;) {
    changed = false;
    for (auto b = static_cast<std::uint32_t>(blocks_.size()); b-- > 0;) {
      const CodeBlock& block = blocks_[b];
      RegisterSet live = live_at_end(b);
      for (std::uint32_t i = block.body_end; i-- > block.begin;)
        step_back(body_->operations[i], live);
      changed = body_->live[b].unite(live) || changed;
    }
  }
}

/// Readers are signed comparisons with 0, and `or`s of whose results nothing but the sign is read.
void FunctionPlan::find_only_signs() {
  body_->only_signs.assign(body_->registers.size(), true);
  const auto is_zero = [&](std::uint32_t reg) {
    const RegisterInfo& info = body_->registers[reg];
    return info.kind == RegisterKind::constant && info.bits == 0;
  };
  for (const ptx::Parameter& result : function_->source->returns) {
    if (result.in_register && result.reg != ptx::no_index) {
      const std::uint32_t offset = function_->registers[result.reg].offset;
      body_->only_signs[body_->registers.find(offset)] = false;
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const Operation& operation : body_->operations) {
      const bool compares = operation.act == Act::compare && operation.is_signed &&
                            !operation.real &&
                            is_one_of(operation.comparison, {ptx::Compare::lt, ptx::Compare::ge}) &&
                            is_zero(operation.in[1]);
      const bool joins =
          operation.act == Act::bit_or && operation.width != 0 && only_sign(operation.out[0]);
      if (compares || joins) continue;
      for (const std::uint32_t reg : operation.in) {
        changed = changed || body_->only_signs[reg];
        body_->only_signs[reg] = false;
      }
    }
  }
}

void FunctionPlan::find_only_branches() {
  body_->only_branches.assign(body_->registers.size(), true);
  const auto read = [&](const Operation& operation) {
    bool changed = false;
    for (const std::uint32_t reg : operation.in) {
      changed = changed || body_->only_branches[reg];
      body_->only_branches[reg] = false;
    }
    return changed;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const CodeBlock& block : blocks_) {
      for (std::uint32_t i = block.begin; i < block.begin + block.size; ++i) {
        const Operation& operation = body_->operations[i];
        const bool branches = i == block.body_end && block.end == BlockEnd::branch;
        const bool logic =
            operation.width == 0 && operation.act != Act::call && only_branches(operation.out[0]);
        if (!branches && !logic) changed = read(operation) || changed;
      }
    }
  }
}

}  // namespace tilescope::emulator::compiled
