// Divides code into basic blocks: where they end and where diverged lanes meet again.
#include <algorithm>
#include <functional>

#include "emulator/program_decoder.hpp"
#include "emulator/special_register_values.hpp"
#include "ptx/opcode_table.hpp"

namespace tilescope::emulator {
namespace {

BlockEnd end_of(const ptx::Instruction& instruction) {
  return ptx::info(instruction.opcode).end;
}

bool only_leaves(const ptx::Function& kernel, std::uint32_t instruction) {
  const ptx::Instruction& first = kernel.instructions[instruction];
  return kernel.is_entry && !first.guarded() &&
         (end_of(first) == BlockEnd::ret || end_of(first) == BlockEnd::exit);
}

bool reads_counter(const ptx::Instruction& instruction) {
  return ptx::info(instruction.opcode).result == ptx::Result::copied &&
         instruction.operands[1].kind == ptx::Operand::Kind::special &&
         is_counter(instruction.operands[1].special);
}

/// May the instruction, in a loop, wait for what another thread does?
bool waits_for_others(const ptx::Instruction& instruction) {
  const ptx::OpcodeInfo& facts = ptx::info(instruction.opcode);
  const ptx::Modifiers& m = instruction.modifiers;
  const bool strong = m.ordering != ptx::Ordering::none && m.ordering != ptx::Ordering::weak;
  const bool uncached = m.cache == ptx::CacheOp::cv || m.cache == ptx::CacheOp::cg;
  return facts.waits || (facts.effect == ptx::Effect::load && (strong || uncached));
}

bool is_fence(const ptx::Instruction& instruction) {
  return ptx::info(instruction.opcode).effect == ptx::Effect::fence;
}

/// Can other threads change what it loads?
bool loads_shared_data(const ptx::Instruction& instruction) {
  const ptx::Space space = instruction.modifiers.space;
  return ptx::info(instruction.opcode).effect == ptx::Effect::load &&
         (space == ptx::Space::none || space == ptx::Space::global || space == ptx::Space::shared);
}

/// Does it access memory that other threads may access?
bool meets_others(const ptx::Instruction& instruction) {
  const ptx::Space space = instruction.modifiers.space;
  return ptx::info(instruction.opcode).operands.find('a') != std::string_view::npos &&
         space != ptx::Space::local && space != ptx::Space::constant && space != ptx::Space::param;
}

}  // namespace

void ProgramDecoder::split_blocks(FunctionDecoder& decoder, const ptx::ControlFlow& flow) {
  CodeFunction& result = decoder.result();
  const ptx::Function& function = decoder.function();
  const auto count = static_cast<std::uint32_t>(function.instructions.size());
  std::vector<bool> leads(count + 1, false);
  leads[0] = leads[count] = true;
  for (const ptx::Label& label : function.labels) leads[label.instruction] = true;
  for (const ptx::BasicBlock& block : flow.blocks) leads[block.begin] = true;
  for (std::uint32_t i = 0; i < count; ++i) {  // a call through a pointer may have to be repeated
    const ptx::Instruction& instruction = function.instructions[i];
    if (end_of(instruction) == BlockEnd::call &&
        function.calls[instruction.detail].callee.kind == ptx::Operand::Kind::reg) {
      leads[i] = true;
    }
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (end_of(function.instructions[i]) != BlockEnd::fall_through) leads[i + 1] = true;
    if (pauses_ && meets_others(function.instructions[i])) leads[i] = true;
  }
  std::vector<std::uint32_t> block_at(count + 1, kNone);
  for (std::uint32_t i = 0; i <= count; ++i) {
    if (leads[i]) {
      CodeBlock block;
      block.begin = i;
      block.counter = program_->block_counters_++;
      result.blocks.push_back(block);
    }
    block_at[i] = static_cast<std::uint32_t>(result.blocks.size() - 1);
    if (i < count) {
      program_->instructions_[result.code[i].id].basic_block = result.blocks.back().counter;
    }
  }
  for (std::uint32_t b = 0; b < result.blocks.size(); ++b) {
    link_block(decoder, flow, block_at, b);
    const std::uint32_t end = result.blocks[b].begin + result.blocks[b].size;
    for (std::uint32_t i = result.blocks[b].begin; i < end; ++i) {
      if (reads_counter(function.instructions[i])) result.code[i].b = end - i - 1;
    }
  }
  for (std::vector<std::uint32_t>& table : result.jump_tables) {
    for (std::uint32_t& entry : table) entry = block_at[function.labels[entry].instruction];
  }
  find_spins(result);
}

void ProgramDecoder::link_block(FunctionDecoder& decoder, const ptx::ControlFlow& flow,
                                const std::vector<std::uint32_t>& block_at, std::uint32_t b) {
  CodeFunction& result = decoder.result();
  const ptx::Function& function = decoder.function();
  CodeBlock& block = result.blocks[b];
  const auto count = static_cast<std::uint32_t>(function.instructions.size());
  if (block.begin == count) {  // the end of the text returns
    block.body_end = count;
    block.end = BlockEnd::ret;
    return;
  }
  const std::uint32_t end = result.blocks[b + 1].begin;
  const ptx::Instruction& last = function.instructions[end - 1];
  block.size = end - block.begin;
  block.next = b + 1;
  block.end = end_of(last);
  block.body_end = block.end == BlockEnd::fall_through ? end : end - 1;
  block.pause = pauses_ && meets_others(function.instructions[block.begin]);
  if (block.end == BlockEnd::branch) {
    block.target = block_at[function.labels[last.operands[0].label].instruction];
  }
  if (block.end == BlockEnd::branch || block.end == BlockEnd::branch_indexed) {
    // A meeting point where a kernel only ends is none: lanes leave one by one (ptxas makes an exit
    // of a branch to it), and barriers do not wait for them.
    const std::uint32_t meet = flow.reconvergence(end - 1);
    if (meet != ptx::no_index && !only_leaves(function, meet)) block.reconverge = block_at[meet];
  }
}

void ProgramDecoder::find_spins(CodeFunction& function) const {
  const auto& text = function.source->instructions;
  // Instructions of a kind before each one.
  const auto count_before = [&](bool (*is_kind)(const ptx::Instruction&)) {
    std::vector<std::uint32_t> before(text.size() + 1, 0);
    for (std::size_t i = 0; i < text.size(); ++i) before[i + 1] = before[i] + is_kind(text[i]);
    return before;
  };
  const std::vector<std::uint32_t> waits = count_before(waits_for_others);
  const std::vector<std::uint32_t> fences = count_before(is_fence);
  const std::vector<std::uint32_t> loads = count_before(loads_shared_data);
  for (CodeBlock& block : function.blocks) {
    if (block.end != BlockEnd::branch || block.target == kNone) continue;
    const std::uint32_t from = function.blocks[block.target].begin;
    const std::uint32_t to = block.begin + block.size;
    const auto has = [&](const auto& before) { return before[to] > before[from]; };
    block.backward = from <= block.begin;
    // A fence makes a weak load look again.
    block.spin = block.backward && (has(waits) || (has(fences) && has(loads)));
    if (!block.spin) continue;
    const auto begin = text.begin() + from, end = text.begin() + to;
    auto look = std::find_if(begin, end, [](const ptx::Instruction& instruction) {
      return waits_for_others(instruction) &&
             ptx::info(instruction.opcode).end == BlockEnd::fall_through;
    });
    if (look == end) look = std::find_if(begin, end, loads_shared_data);
    const auto index = static_cast<std::uint32_t>(&block - function.blocks.data());
    function.spins.push_back(
        {block.target, index,
         look == end ? kNone : static_cast<std::uint32_t>(look - text.begin())});
  }
}

}  // namespace tilescope::emulator
