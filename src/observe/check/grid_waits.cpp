#include "observe/check/grid_waits.hpp"

#include <algorithm>
#include <bit>

#include "observe/check/race_checker.hpp"

namespace tilescope::observe {

void GridWaits::begin_block(std::uint64_t block) {
  block_ = block;
  waited_.assign(launch_.warps_per_block, false);
  any_waited_ = false;
}

bool GridWaits::is_from_before(std::uint64_t address, std::uint64_t bytes) const {
  const auto behind =
      std::partition_point(before_.begin(), before_.end(),
                           [&](const auto& stretch) { return stretch.second <= address; });
  return behind != before_.end() && behind->first < address + bytes;
}

void GridWaits::access(const emulator::Access& access) {
  if (waited_[access.warp]) return;
  for (emulator::LaneMask m = access.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t address = access.addresses[lane];
    if (!is_from_before(address, access.bytes)) continue;
    mistakes_.add(access.instruction,
                  {{access.instruction, block_,
                    access.warp * emulator::kWarpSize + static_cast<std::uint32_t>(lane)},
                   address,
                   action_of(verb_of(access.kind))});
    return;
  }
}

void GridWaits::issue(const emulator::BulkEvent& bulk) {
  const bool loads = bulk.kind == emulator::BulkKind::load;
  if (waited_[bulk.origin.warp] || (!loads && bulk.kind != emulator::BulkKind::store)) return;
  for (const emulator::BulkPiece& piece : bulk.pieces) {
    const std::uint64_t address = loads ? piece.from : piece.to;
    if (piece.filled || !is_from_before(address, piece.bytes)) continue;
    mistakes_.add(bulk.origin.instruction, {{bulk.origin.instruction, block_,
                                             bulk.origin.warp * emulator::kWarpSize +
                                                 static_cast<std::uint32_t>(bulk.origin.lane)},
                                            address,
                                            ThreadAction::none});
    return;
  }
}

void GridWaits::wait(const emulator::GridDependency& dependency) {
  if (!dependency.waits) {
    lets_next_begin_ = true;
    return;
  }
  waited_[dependency.warp] = true;
  any_waited_ = true;
}

void GridWaits::learn(std::uint32_t warp) {
  if (any_waited_) waited_[warp] = true;
}

void GridWaits::meet() {
  if (any_waited_) waited_.assign(waited_.size(), true);
}

void GridWaits::merge(const GridWaits& other) {
  lets_next_begin_ = lets_next_begin_ || other.lets_next_begin_;
  mistakes_.merge(other.mistakes_);
}

void GridWaits::describe(const Describer& describer, std::vector<Finding>& findings) const {
  for (const auto& [instruction, folded] : mistakes_) {
    const Mistake& mistake = folded.mistake;
    Finding f = describer.finding(FindingKind::missing_grid_wait, instruction, mistake.action,
                                  mistake.first.block, mistake.first.thread);
    f.memory = describer.memory(emulator::Space::global, mistake.address, instruction);
    f.count = folded.count;
    findings.push_back(std::move(f));
  }
}

}  // namespace tilescope::observe
