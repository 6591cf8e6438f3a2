#include "observe/check/access_roles.hpp"

#include <algorithm>
#include <optional>

#include "observe/address_values.hpp"
#include "observe/check/update_pairs.hpp"
#include "observe/check/value_uses.hpp"

namespace tilescope::observe {
namespace {

using ptx::Effect;
using ptx::Instruction;
using ptx::Ordering;

bool is_strong_read(const Instruction& instruction) {
  const Effect effect = ptx::info(instruction.opcode).effect;
  if (effect == Effect::atomic) return true;
  const Ordering ordering = instruction.modifiers.ordering;
  return effect == Effect::load && ordering != Ordering::none && ordering != Ordering::weak;
}

bool tests_mbarrier(const Instruction& instruction) {
  const ptx::OpcodeInfo& facts = ptx::info(instruction.opcode);
  return facts.engine == ptx::EngineRole::mbarrier && facts.waits;
}

/// Whether the result is the generic address of local memory (cvta.local).
bool gives_local_address(const Instruction& instruction) {
  return ptx::info(instruction.opcode).result == ptx::Result::copied &&
         instruction.modifiers.space == ptx::Space::local &&
         !instruction.modifiers.has(ptx::Flag::to);
}

bool is_local_load(const Instruction& instruction) {
  return ptx::info(instruction.opcode).effect == Effect::load &&
         instruction.modifiers.space == ptx::Space::local;
}

/// The parts that the values of a function's reads play.
class ReadUses {
 public:
  explicit ReadUses(const ptx::Function& function) : function_(function), uses_(function) {
    const auto& text = function.instructions;
    for (std::uint32_t i = 0; i < text.size(); ++i) {
      const ptx::BlockEnd end = ptx::info(text[i].opcode).end;
      if (end == ptx::BlockEnd::barrier) barriers_.push_back(i);
      if (end == ptx::BlockEnd::branch && target(text[i]) <= i) {
        loops_.push_back({target(text[i]), i});
      }
    }
  }

  /// Follows the value that the instruction `read` gives to the branches that depend on it.
  void follow(std::uint32_t read, AccessRole& role) const {
    uses_.flow(read, [&](std::uint32_t user, std::uint32_t reg) {
      const Instruction& instruction = function_.instructions[user];
      if (instruction.guard == reg) {
        role.decides = true;
        role.waits = role.waits || ends_wait(user, read);
      }
      // The caller of a function decides by what it returns.
      if (ptx::info(instruction.opcode).effect == Effect::store &&
          instruction.modifiers.space >= ptx::Space::param &&
          instruction.modifiers.space <= ptx::Space::param_func) {
        role.decides = role.waits = true;
      }
      return true;
    });
  }

  /// Whether the value that an instruction gives decides nothing: what uses it only makes another
  /// such value, or is a branch whose ways meet at once.
  bool is_ignored(std::uint32_t instruction) const {
    bool ignored = true;
    uses_.flow(instruction, [&](std::uint32_t user, std::uint32_t reg) {
      const Instruction& uses = function_.instructions[user];
      const ptx::BlockEnd end = ptx::info(uses.opcode).end;
      const bool decides = uses.guard != reg || end != ptx::BlockEnd::branch
                               ? uses.guard == reg || !ptx::has_destination(uses)
                               : destination(target(uses)) != destination(user + 1);
      ignored = ignored && !decides;
      return ignored;
    });
    return ignored;
  }

  /// Whether the value that a load gives only goes to shuffles, by which other lanes may take it.
  bool is_only_shuffled(std::uint32_t load) const {
    bool shuffled = true;
    uses_.flow(load, [&](std::uint32_t user, std::uint32_t reg) {
      const Instruction& uses = function_.instructions[user];
      const bool copies = ptx::info(uses.opcode).result == ptx::Result::copied && uses.guard != reg;
      const bool shuffles = uses.modifiers.shuffle != ptx::ShuffleMode::none;
      shuffled = shuffled && (copies || (shuffles && uses.operands[1].reg == reg));
      return shuffled && copies;
    });
    return shuffled;
  }

  /// Calls `visit` for each store of the address that `conversion` gives, or of one near it.
  template <class Visit>
  void stores_of(std::uint32_t conversion, Visit visit) const {
    uses_.flow(conversion, [&](std::uint32_t user, std::uint32_t reg) {
      const Instruction& instruction = function_.instructions[user];
      const Effect effect = ptx::info(instruction.opcode).effect;
      if (effect == Effect::store && instruction.operands[1].reg == reg) visit(user);
      bool address = effect == Effect::none;
      for_each_written(instruction, function_, [&](std::uint32_t result) {
        address = address && ptx::bit_width(function_.registers[result].type) == 64;
      });
      return address;
    });
  }

 private:
  struct Loop {
    std::uint32_t first, last;  ///< instructions
    bool holds(std::uint32_t i) const { return first <= i && i <= last; }
  };

  std::uint32_t target(const Instruction& branch) const {
    return function_.labels[branch.operands[0].label].instruction;
  }

  /// The first instruction from here on that is no jump.
  std::uint32_t destination(std::uint32_t i) const {
    const auto& text = function_.instructions;
    for (std::size_t jumps = 0; jumps < text.size() && i < text.size(); ++jumps) {
      if (text[i].guarded() || ptx::info(text[i].opcode).end != ptx::BlockEnd::branch) break;
      i = target(text[i]);
    }
    return i;
  }

  /// Whether the instruction leaves a loop that holds the read and no barrier.
  bool ends_wait(std::uint32_t instruction, std::uint32_t read) const {
    const ptx::BlockEnd end = ptx::info(function_.instructions[instruction].opcode).end;
    return std::any_of(loops_.begin(), loops_.end(), [&](const Loop& loop) {
      if (!loop.holds(read) || !loop.holds(instruction)) return false;
      const bool leaves =
          end == ptx::BlockEnd::ret || end == ptx::BlockEnd::exit ||
          (end == ptx::BlockEnd::branch &&
           (instruction == loop.last || !loop.holds(target(function_.instructions[instruction]))));
      return leaves && std::none_of(barriers_.begin(), barriers_.end(),
                                    [&](std::uint32_t barrier) { return loop.holds(barrier); });
    });
  }

  const ptx::Function& function_;
  ValueUses uses_;
  std::vector<Loop> loops_;
  std::vector<std::uint32_t> barriers_;
};

void find_tested_loads(const emulator::Program& program, std::vector<AccessRole>& roles) {
  const auto instructions = program.instructions();
  const bool swaps = std::any_of(instructions.begin(), instructions.end(), [](const auto& i) {
    return i.source->modifiers.reduce == ptx::ReduceOp::cas;
  });
  if (!swaps) return;
  const UpdatePairs updates(program);
  for (std::uint32_t id = 0; id < instructions.size(); ++id) {
    const Instruction& instruction = *instructions[id].source;
    roles[id].tested = ptx::info(instruction.opcode).effect == Effect::load &&
                       !is_strong_read(instruction) && updates.is_tested(id);
  }
}

}  // namespace

std::vector<AccessRole> access_roles(const emulator::Program& program) {
  const auto instructions = program.instructions();
  std::vector<AccessRole> roles(instructions.size());
  std::uint32_t first = 0;
  const ReadUses* uses = nullptr;
  std::optional<ReadUses> of_function;
  for (std::uint32_t id = 0; id < instructions.size(); ++id) {
    const Instruction& instruction = *instructions[id].source;
    if (instructions[id].index == 0) first = id, uses = nullptr;
    const bool reads = is_strong_read(instruction);
    const Ordering ordering = instruction.modifiers.ordering;
    roles[id].block_scope = instruction.modifiers.scope == ptx::Scope::cta;
    roles[id].stores = ptx::info(instruction.opcode).effect == Effect::store;
    roles[id].relaxed = reads && ordering == Ordering::relaxed;
    const bool gives_local = gives_local_address(instruction);
    const bool tests = tests_mbarrier(instruction);
    const bool loads_local = is_local_load(instruction);
    if (!reads && !gives_local && !tests && !loads_local) continue;
    if (uses == nullptr) {
      uses = &of_function.emplace(*program.functions()[instructions[id].function].source);
    }
    if (reads) uses->follow(id - first, roles[id]);
    if (tests) roles[id].ignored = uses->is_ignored(id - first);
    if (loads_local) roles[id].shuffled = uses->is_only_shuffled(id - first);
    if (gives_local) {
      uses->stores_of(id - first,
                      [&](std::uint32_t store) { roles[first + store].escapes = true; });
    }
  }
  find_tested_loads(program, roles);
  return roles;
}

}  // namespace tilescope::observe
