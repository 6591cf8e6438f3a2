#include "observe/trace/last_writers.hpp"

#include <algorithm>
#include <bit>

#include "base/symbol_names.hpp"
#include "emulator/program.hpp"
#include "emulator/special_register_values.hpp"
#include "observe/describe.hpp"
#include "ptx/opcode_table.hpp"

namespace tilescope::observe {
namespace {

using emulator::AccessKind;

/// The relative error of one rounding.
double roundoff(ptx::Type type) {
  switch (ptx::byte_size(type)) {
    case 8:
      return 0x1p-53;
    case 4:
      return type == ptx::Type::f16x2 || type == ptx::Type::bf16x2 ? 0x1p-8 : 0x1p-24;
    default:
      return 0x1p-8;
  }
}

bool is_floating_atomic(const ptx::Instruction& instruction) {
  const ptx::Effect effect = ptx::info(instruction.opcode).effect;
  const bool updates = effect == ptx::Effect::atomic || effect == ptx::Effect::reduction ||
                       instruction.modifiers.reduce == ptx::ReduceOp::add;
  return updates && ptx::is_float(instruction.modifiers.type());
}

bool is_write(AccessKind kind) {
  return kind == AccessKind::store || kind == AccessKind::atomic || kind == AccessKind::reduction ||
         kind == AccessKind::surface_store || kind == AccessKind::surface_reduction;
}

}  // namespace

class LastWriters::OfBlock final : public emulator::BlockObserver {
 public:
  explicit OfBlock(LastWriters& owner) : owner_(owner) {}

  void begin_block(const emulator::BlockInfo& block, const emulator::BlockView&) override {
    block_ = block.linear;
  }

  void access(const emulator::Access& access) override {
    if (!is_write(access.kind)) return;
    for (emulator::LaneMask m = access.mask; m != 0; m &= m - 1) {
      const int lane = std::countr_zero(m);
      mark(access.instruction, access.warp, lane, access.address(lane), access.bytes);
    }
  }

  void bulk_done(const emulator::BulkEvent& done) override {
    if (done.kind != emulator::BulkKind::store) return;
    for (const emulator::BulkPiece& piece : done.pieces) {
      mark(done.origin.instruction, done.origin.warp, done.origin.lane, piece.to, piece.bytes);
    }
  }

 private:
  void mark(emulator::InstructionId id, std::uint32_t warp, int lane, std::uint64_t address,
            std::uint64_t bytes) {
    const std::uint32_t thread = warp * emulator::kWarpSize + static_cast<std::uint32_t>(lane);
    owner_.mark(address, bytes, {true, id, block_, thread});
  }

  LastWriters& owner_;
  std::uint64_t block_ = 0;
};

LastWriters::LastWriters(std::vector<std::uint64_t> addresses)
    : addresses_(std::move(addresses)), writes_(addresses_.size()) {}

const LastWriters::Write* LastWriters::find(std::uint64_t address) const {
  const auto at = std::lower_bound(addresses_.begin(), addresses_.end(), address);
  if (at == addresses_.end() || *at != address) return nullptr;
  const auto& write = writes_[static_cast<std::size_t>(at - addresses_.begin())];
  return write ? &*write : nullptr;
}

void LastWriters::mark(std::uint64_t address, std::uint64_t bytes, const Mark& mark) {
  auto at = std::lower_bound(addresses_.begin(), addresses_.end(), address);
  for (; at != addresses_.end() && *at - address < bytes; ++at) {
    marks_[static_cast<std::size_t>(at - addresses_.begin())] = mark;
  }
}

void LastWriters::begin_launch(const emulator::LaunchInfo& launch) {
  launch_ = &launch;
  marks_.assign(addresses_.size(), {});
}

std::unique_ptr<emulator::BlockObserver> LastWriters::make_block_observer() {
  return std::make_unique<OfBlock>(*this);
}

void LastWriters::read_program(const emulator::LaunchTotals& totals) {
  const auto instructions = launch_->program.instructions();
  for (std::size_t id = 0; id < instructions.size(); ++id) {
    const ptx::Instruction& instruction = *instructions[id].source;
    if (is_floating_atomic(instruction)) {
      floating_atomics_ += totals.counts.on[id];
      unit_roundoff_ = std::max(unit_roundoff_, roundoff(instruction.modifiers.type()));
    }
    for (const ptx::Operand& operand : instruction.operands) {
      reads_clock_ = reads_clock_ || (operand.kind == ptx::Operand::Kind::special &&
                                      emulator::is_counter(operand.special));
    }
  }
  uses_atomic_results_ = uses_atomic_results_ || launch_->program.needs().order_dependent;
}

void LastWriters::end_launch(const emulator::LaunchTotals& totals) {
  read_program(totals);
  const Describer describer(*launch_);
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    const Mark& mark = marks_[i];
    if (!mark.fresh) continue;
    const ptx::Instruction& instruction = *launch_->program.instruction(mark.instruction).source;
    const ptx::Effect effect = ptx::info(instruction.opcode).effect;
    const bool atomic = effect == ptx::Effect::atomic || effect == ptx::Effect::reduction;
    Write write{
        .access =
            describer.access(mark.instruction, atomic ? ThreadAction::atomic : ThreadAction::write,
                             mark.block, mark.thread),
        .memory = describer.memory(emulator::Space::global, addresses_[i], mark.instruction),
        .kernel = function_name(std::string(launch_->kernel)),
        .type = instruction.modifiers.type(),
        .floating_atomic = is_floating_atomic(instruction)};
    const std::int64_t within = write.memory.offset % write.memory.element_bytes;
    write.memory.offset -= within;
    write.memory.address -= static_cast<std::uint64_t>(within);
    writes_[i] = std::move(write);
  }
}

}  // namespace tilescope::observe
