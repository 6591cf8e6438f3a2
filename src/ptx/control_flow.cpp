#include "ptx/control_flow.hpp"

#include <algorithm>

#include "ptx/post_dominators.hpp"

namespace tilescope::ptx {
namespace {

BlockEnd end_of(const Instruction& instruction) {
  return info(instruction.opcode).end;
}

bool leaves(BlockEnd end) {
  return end == BlockEnd::exit || end == BlockEnd::ret;
}

/// The others fall through once their lanes have met or waited.
bool ends_block(BlockEnd end) {
  return leaves(end) || end == BlockEnd::branch || end == BlockEnd::branch_indexed;
}

void for_each_target(const Function& function, const Instruction& instruction, auto use) {
  if (end_of(instruction) == BlockEnd::branch) {
    use(function.labels[instruction.operands[0].label].instruction);
  } else if (end_of(instruction) == BlockEnd::branch_indexed) {
    for (const std::uint32_t label : function.branch_targets[instruction.detail]) {
      use(function.labels[label].instruction);
    }
  }
}

void cut_into_blocks(const Function& function, ControlFlow& flow) {
  const std::vector<Instruction>& code = function.instructions;
  std::vector<bool> leader(code.size() + 1, false);
  leader[0] = true;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (!ends_block(end_of(code[i]))) continue;
    leader[i + 1] = true;
    for_each_target(function, code[i], [&](std::uint32_t target) { leader[target] = true; });
  }
  flow.block_of.resize(code.size());
  for (std::uint32_t i = 0; i < code.size(); ++i) {
    if (leader[i]) {
      flow.blocks.emplace_back();
      flow.blocks.back().begin = i;
    }
    flow.blocks.back().end = i + 1;
    flow.block_of[i] = static_cast<std::uint32_t>(flow.blocks.size() - 1);
  }
}

void connect(const Function& function, ControlFlow& flow) {
  const auto count = static_cast<std::uint32_t>(function.instructions.size());
  for (BasicBlock& block : flow.blocks) {
    // Lanes that run past the last instruction return, as if there were a ret.
    const auto go = [&](std::uint32_t instruction) {
      if (instruction == count) {
        block.exits = true;
      } else {
        block.successors.push_back(flow.block_of[instruction]);
      }
    };
    const Instruction& last = function.instructions[block.end - 1];
    if (!ends_block(end_of(last)) || last.guarded()) go(block.end);
    if (leaves(end_of(last))) block.exits = true;
    for_each_target(function, last, go);

    if (block.successors.size() < 2) continue;
    const std::uint32_t first = block.successors.front();
    std::sort(block.successors.begin(), block.successors.end());
    block.successors.erase(std::unique(block.successors.begin(), block.successors.end()),
                           block.successors.end());
    std::rotate(block.successors.begin(),
                std::find(block.successors.begin(), block.successors.end(), first),
                std::find(block.successors.begin(), block.successors.end(), first) + 1);
  }
}

}  // namespace

ControlFlow build_control_flow(const Function& function) {
  ControlFlow flow;
  if (function.instructions.empty()) return flow;
  cut_into_blocks(function, flow);
  connect(function, flow);
  find_post_dominators(flow);
  return flow;
}

}  // namespace tilescope::ptx
