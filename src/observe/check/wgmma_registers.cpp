#include "observe/check/wgmma_registers.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "emulator/program.hpp"
#include "observe/address_values.hpp"
#include "ptx/control_flow.hpp"
#include "ptx/operand_classes.hpp"

namespace tilescope::observe {
namespace {

using ptx::EngineRole;

/// Number of an instruction of the function, plus one.
using Place = std::uint32_t;
constexpr Place kNowhere = 0;

/// A register, as far as products are concerned.
struct RegisterState {
  static constexpr std::uint8_t kIdle = 0, kForming = 1, kOldest = 9;

  Place product = kNowhere;    ///< that may use it
  Place writer = kNowhere;     ///< that wrote it since the last fence
  std::uint8_t group = kIdle;  ///< kForming: not committed; then one more for each commit
  bool fragment = false;       ///< holds a part of A; else sums

  /// The worse of two paths: the younger group.
  bool join(const RegisterState& other) {
    bool changed = false;
    if (other.group != kIdle && (group == kIdle || other.group < group)) {
      product = other.product;
      group = other.group;
      fragment = other.fragment;
      changed = true;
    }
    if (writer == kNowhere && other.writer != kNowhere) {
      writer = other.writer;
      changed = true;
    }
    return changed;
  }
};

using State = std::vector<RegisterState>;

bool is_product(const ptx::Instruction& in) {
  return ptx::info(in.opcode).engine == EngineRole::product;
}

class RegisterFlow {
 public:
  RegisterFlow(const ptx::Function& function, const std::vector<std::uint32_t>& ids,
               std::span<const std::uint64_t> executed, AsyncLog& log)
      : function_(function), ids_(ids), executed_(executed), log_(log) {}

  void run() {
    const ptx::ControlFlow flow = ptx::build_control_flow(function_);
    std::vector<State> entries(flow.blocks.size());
    entries[0].resize(function_.registers.size());
    std::vector<std::uint32_t> work{0};
    while (!work.empty()) {
      const std::uint32_t block = work.back();
      work.pop_back();
      State state = entries[block];
      pass(flow.blocks[block], state);
      for (const std::uint32_t next : flow.blocks[block].successors) {
        if (join(entries[next], state)) work.push_back(next);
      }
    }
    reports_ = true;
    for (std::size_t block = 0; block < entries.size(); ++block) {
      if (entries[block].empty()) continue;  // never reached
      State state = entries[block];
      pass(flow.blocks[block], state);
    }
  }

 private:
  static bool join(State& into, const State& from) {
    if (into.empty()) {
      into = from;
      return true;
    }
    bool changed = false;
    for (std::size_t r = 0; r < from.size(); ++r) changed = into[r].join(from[r]) || changed;
    return changed;
  }

  void pass(const ptx::BasicBlock& block, State& state) {
    for (std::uint32_t i = block.begin; i < block.end; ++i) {
      step(function_.instructions[i], i + 1, state);
    }
  }

  void step(const ptx::Instruction& in, Place place, State& state) {
    switch (ptx::info(in.opcode).engine) {
      case EngineRole::product:
        multiply(in, place, state);
        return;
      case EngineRole::product_fence:
        for (RegisterState& reg : state) reg.writer = kNowhere;
        return;
      case EngineRole::product_commit:
        for (RegisterState& reg : state) {
          if (reg.group != RegisterState::kIdle && reg.group < RegisterState::kOldest) ++reg.group;
        }
        return;
      case EngineRole::product_wait:
        for (RegisterState& reg : state) {
          if (reg.group > RegisterState::kForming + in.operands[0].bits) {
            reg.group = RegisterState::kIdle;
          }
        }
        return;
      default:
        if (ptx::info(in.opcode).result == ptx::Result::copied) {
          move(in, state);
        } else {
          touch(in, place, state);
        }
    }
  }

  /// Sums are both read and written, and so are parts of A, which no thread may change meanwhile.
  void multiply(const ptx::Instruction& in, Place place, State& state) {
    for (std::size_t operand = 0; operand < 2; ++operand) {
      if (in.operands[operand].kind != ptx::Operand::Kind::vector) continue;
      ptx::visit_registers(in.operands[operand], [&](std::uint32_t r) {
        RegisterState& reg = state[r];
        if (reg.writer != kNowhere) report(place, reg.writer, AsyncFault::fence, operand == 1);
        reg.writer = kNowhere;
        reg.product = place;
        reg.group = RegisterState::kForming;
        reg.fragment = operand == 1;
      });
    }
  }

  static void move(const ptx::Instruction& in, State& state) {
    const ptx::Operand &to = in.operands[0], &from = in.operands[1];
    if (to.kind != ptx::Operand::Kind::reg) return;
    state[to.reg] = from.kind == ptx::Operand::Kind::reg ? state[from.reg] : RegisterState{};
  }

  void touch(const ptx::Instruction& in, Place place, State& state) {
    for (std::size_t o = ptx::has_destination(in) ? 1 : 0; o < in.operands.size(); ++o) {
      ptx::visit_registers(in.operands[o], [&](std::uint32_t r) {
        const RegisterState& reg = state[r];
        if (reg.group != RegisterState::kIdle && !reg.fragment) {
          report(reg.product, place, AsyncFault::registers, false);
        }
      });
    }
    for_each_written(in, function_, [&](std::uint32_t r) {
      RegisterState& reg = state[r];
      if (reg.group != RegisterState::kIdle) {
        report(reg.product, place, AsyncFault::registers, reg.fragment);
      }
      reg = {.writer = place};
    });
  }

  void report(Place product, Place other, AsyncFault fault, bool fragment) {
    const std::uint32_t first = ids_[product - 1], second = ids_[other - 1];
    if (!reports_ || executed_[first] == 0 || executed_[second] == 0) return;
    AsyncMistake found;
    found.kind = FindingKind::wgmma_order;
    found.facts.engine = EngineKind::tensor_cores;
    found.facts.fault = fault;
    found.facts.registers = fragment ? ProductRegisters::a : ProductRegisters::sums;
    found.first.instruction = first;
    found.second = AsyncSide{second};
    log_.add(found);
  }

  const ptx::Function& function_;
  const std::vector<std::uint32_t>& ids_;  ///< InstructionId by number in the function
  std::span<const std::uint64_t> executed_;
  AsyncLog& log_;
  bool reports_ = false;
};

}  // namespace

void find_touched_registers(const emulator::Program& program,
                            std::span<const std::uint64_t> executed, AsyncLog& log) {
  std::unordered_map<const ptx::Instruction*, emulator::InstructionId> numbers;
  const auto instructions = program.instructions();
  for (std::uint32_t id = 0; id < instructions.size(); ++id) numbers[instructions[id].source] = id;
  for (const emulator::CodeFunction& function : program.functions()) {
    const auto& text = function.source->instructions;
    if (std::none_of(text.begin(), text.end(),
                     [](const ptx::Instruction& in) { return is_product(in); })) {
      continue;
    }
    std::vector<std::uint32_t> ids;
    for (const ptx::Instruction& in : text) {
      const auto found = numbers.find(&in);
      ids.push_back(found == numbers.end() ? 0 : found->second);
    }
    RegisterFlow(*function.source, ids, executed, log).run();
  }
}

}  // namespace tilescope::observe
