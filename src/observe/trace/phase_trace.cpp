#include "observe/trace/phase_trace.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>

#include "base/symbol_names.hpp"
#include "emulator/program.hpp"
#include "ptx/operand_classes.hpp"

namespace tilescope::observe {
namespace {

using emulator::Access;
using emulator::AccessKind;
using emulator::InstructionId;
using emulator::Space;
using ptx::Operand;
using Flow = PhaseTrace::Flow;
using Source = PhaseTrace::Source;

/// The registers of a scalar or vector operand, in order.
std::vector<std::uint32_t> registers_of(const Operand& operand) {
  if (operand.kind == Operand::Kind::reg) return {operand.reg};
  std::vector<std::uint32_t> registers;
  for (const Operand& element : operand.elements) registers.push_back(element.reg);
  return registers;
}

/// Follows registers through the text of the kernel. Compilers write each register once, or close
/// to its use; a loop-carried register has no load behind it and is skipped.
class FlowReader {
 public:
  explicit FlowReader(const emulator::Program& program) : program_(program) {}

  Flow read() {
    for (InstructionId id = 0; id < program_.instructions().size(); ++id) {
      if (program_.instruction(id).function == 0) pass(id, *program_.instruction(id).source);
    }
    return std::move(flow_);
  }

 private:
  void pass(InstructionId id, const ptx::Instruction& in) {
    const ptx::OpcodeInfo& facts = ptx::info(in.opcode);
    if (facts.effect == ptx::Effect::load) return load(id, in);
    if (facts.effect == ptx::Effect::store) return store(id, in);
    if (facts.result == ptx::Result::copied) return copy(in);
    if (facts.arithmetic == ptx::Arithmetic::fma || facts.arithmetic == ptx::Arithmetic::mul) {
      product(in);
    }
    if (ptx::has_destination(in)) {
      for (const std::uint32_t reg : registers_of(in.operands[0])) from_.erase(reg);
    }
  }

  void load(InstructionId id, const ptx::Instruction& in) {
    flow_.element_bytes[id] = ptx::byte_size(in.modifiers.type());
    std::uint32_t element = 0;
    for (const std::uint32_t reg : registers_of(in.operands[0])) from_[reg] = {id, element++};
  }

  void store(InstructionId id, const ptx::Instruction& in) {
    flow_.element_bytes[id] = ptx::byte_size(in.modifiers.type());
    std::vector<Source> sources;
    for (const std::uint32_t reg : registers_of(in.operands[1])) {
      const auto found = from_.find(reg);
      if (found == from_.end()) return;
      sources.push_back(found->second);
    }
    flow_.stores[id] = std::move(sources);
  }

  void copy(const ptx::Instruction& in) {
    if (in.operands[0].kind != Operand::Kind::reg) return;
    const auto found = from_.find(in.operands[1].reg);
    if (in.operands[1].kind == Operand::Kind::reg && found != from_.end()) {
      from_[in.operands[0].reg] = found->second;
    } else {
      from_.erase(in.operands[0].reg);
    }
  }

  void product(const ptx::Instruction& in) {
    if (in.operands.size() < 3) return;
    const auto left = from_.find(in.operands[1].reg), right = from_.find(in.operands[2].reg);
    if (in.operands[1].kind != Operand::Kind::reg || left == from_.end() ||
        in.operands[2].kind != Operand::Kind::reg || right == from_.end()) {
      return;
    }
    flow_.products[std::max(left->second.load, right->second.load)].push_back(
        {left->second, right->second});
  }

  const emulator::Program& program_;
  Flow flow_;
  std::map<std::uint32_t, Source> from_;  ///< register -> the load that filled it
};

/// The events between two barriers.
struct Interval {
  std::vector<TracedMove> moves;
  std::vector<TracedProduct> products;
};

class BlockTrace final : public emulator::BlockObserver {
 public:
  BlockTrace(const Flow& flow, const Dim3& block, bool wanted)
      : flow_(flow), wanted_(wanted), intervals_(1) {
    table_.block = block;
  }

  void begin_block(const emulator::BlockInfo& block, const emulator::BlockView& view) override {
    active_ = wanted_ && block.linear == 0;
    view_ = &view;
  }
  void end_block(bool) override {
    if (active_) finish();
    active_ = false;
  }
  void barrier_completion(const emulator::BarrierCompletion&) override {
    if (active_) intervals_.emplace_back();
  }

  void access(const Access& a) override {
    if (!active_) return;
    learn_rows(a);
    for (std::uint32_t m = a.mask; m != 0; m &= m - 1) lane(a, std::countr_zero(m));
  }

  const std::optional<PhaseTable>& table() const { return done_; }

 private:
  std::uint32_t thread_of(const Access& a, int lane) const {
    return a.warp * emulator::kWarpSize + static_cast<std::uint32_t>(lane);
  }

  TracedElement place(const Access& a, int lane, std::uint32_t element = 0) const {
    const auto size = flow_.element_bytes.find(a.instruction);
    const std::uint32_t bytes = size == flow_.element_bytes.end() ? a.bytes : size->second;
    const emulator::Place at = view_->place(a.space, a.address(lane), a.warp, lane);
    return {variable_name(at.object), at.offset + std::uint64_t{element} * bytes, bytes};
  }

  void lane(const Access& a, int lane) {
    const std::uint32_t thread = thread_of(a, lane);
    if (a.kind == AccessKind::load) {
      loaded_[{a.instruction, thread}] = place(a, lane);
      const auto products = flow_.products.find(a.instruction);
      if (products == flow_.products.end()) return;
      for (const PhaseTrace::Product& p : products->second) {
        const TracedElement left = fetched(p.left, thread), right = fetched(p.right, thread);
        if (left.bytes == 0 || right.bytes == 0) continue;
        intervals_.back().products.push_back({thread, left, right});
      }
    } else if (a.kind == AccessKind::store && a.space == Space::shared) {
      const auto sources = flow_.stores.find(a.instruction);
      if (sources == flow_.stores.end()) return;
      for (std::uint32_t e = 0; e < sources->second.size(); ++e) {
        const TracedElement from = fetched(sources->second[e], thread);
        if (from.bytes != 0) intervals_.back().moves.push_back({thread, from, place(a, lane, e)});
      }
    } else if (a.kind == AccessKind::async_load) {
      loaded_[{a.instruction, thread}] = place(a, lane);
    } else if (a.kind == AccessKind::async_store) {  // the other half of the same instruction
      const TracedElement from = fetched({a.instruction, 0}, thread);
      if (from.bytes != 0) intervals_.back().moves.push_back({thread, from, place(a, lane)});
    } else if (a.kind == AccessKind::store && a.space == Space::global) {
      table_.results.push_back({thread, place(a, lane)});
    }
  }

  TracedElement fetched(const Source& source, std::uint32_t thread) const {
    const auto found = loaded_.find({source.load, thread});
    if (found == loaded_.end()) return {};
    TracedElement element = found->second;
    element.offset += std::uint64_t{source.element} * element.bytes;
    return element;
  }

  /// Neighbours in threadIdx.y lie a row apart, or neighbours in x where rows run along y.
  void learn_rows(const Access& a) {
    const std::uint32_t width = table_.block.x;
    if (table_.block.y < 2 || width >= emulator::kWarpSize) return;
    const int first = std::countr_zero(a.mask), below = first + static_cast<int>(width);
    const int beside = first + 1;
    const auto takes_part = [&](int lane) {
      return lane < emulator::kWarpSize && (a.mask >> static_cast<unsigned>(lane) & 1U) != 0;
    };
    if (!takes_part(below) || !takes_part(beside)) return;
    const TracedElement element = place(a, first);
    const auto distance = [&](int lane) {
      const auto d = static_cast<std::int64_t>(a.address(lane) - a.address(first));
      return static_cast<std::uint64_t>(d < 0 ? -d : d);
    };
    const std::uint64_t down = distance(below), across = distance(beside);
    const std::uint64_t longer = std::max(down, across), shorter = std::min(down, across);
    if (longer > element.bytes && shorter <= a.bytes) {
      table_.row_bytes.try_emplace(element.object, longer);
    }
  }

  /// Moves behind a barrier that follows products begin the next phase.
  void finish() {
    bool multiplied = true;
    for (Interval& interval : intervals_) {
      if (interval.moves.empty() && interval.products.empty()) continue;
      if (table_.phases.empty() || (multiplied && !interval.moves.empty())) {
        table_.phases.emplace_back();
        multiplied = false;
      }
      Phase& phase = table_.phases.back();
      phase.moves.insert(phase.moves.end(), interval.moves.begin(), interval.moves.end());
      phase.products.insert(phase.products.end(), interval.products.begin(),
                            interval.products.end());
      multiplied = multiplied || !interval.products.empty();
    }
    done_ = std::move(table_);
  }

  const Flow& flow_;
  bool wanted_, active_ = false;
  const emulator::BlockView* view_ = nullptr;
  std::vector<Interval> intervals_;
  std::map<std::pair<InstructionId, std::uint32_t>, TracedElement> loaded_;  ///< by thread: latest
  PhaseTable table_;
  std::optional<PhaseTable> done_;
};

}  // namespace

std::uint32_t PhaseTrace::events() const {
  if (!first_ || threads_ > kMostThreads) return emulator::kNoEvents;
  return emulator::kGlobalAccess | emulator::kSharedAccess | emulator::kOrder;
}

void PhaseTrace::begin_launch(const emulator::LaunchInfo& launch) {
  first_ = !seen_;
  seen_ = true;
  if (!first_) return;
  threads_ = launch.threads_per_block;
  table_.block = launch.block;
  flow_ = FlowReader(launch.program).read();
}

std::unique_ptr<emulator::BlockObserver> PhaseTrace::make_block_observer() {
  return std::make_unique<BlockTrace>(flow_, table_.block, first_ && threads_ <= kMostThreads);
}

void PhaseTrace::merge(emulator::BlockObserver& block) {
  if (const auto& table = static_cast<BlockTrace&>(block).table()) table_ = *table;
}

}  // namespace tilescope::observe
