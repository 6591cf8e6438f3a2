#include "observe/trace/lane_rounds.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "base/symbol_names.hpp"

namespace tilescope::observe {
namespace {

using emulator::Access;

class BlockRounds final : public emulator::BlockObserver {
 public:
  explicit BlockRounds(const emulator::Program& program) : program_(program) {}

  void begin_block(const emulator::BlockInfo& block, const emulator::BlockView& view) override {
    block_ = block;
    view_ = &view;
  }

  void access(const Access& access) override {
    if (block_.linear != 0 || emulator::uses_textures(access.kind)) return;
    std::vector<LaneSample>& rounds = rounds_[access.instruction];
    if (!rounds.empty() && access.warp < rounds.front().warp) rounds.clear();
    if (!rounds.empty() && access.warp > rounds.front().warp) return;
    if (rounds.size() == LaneRounds::kMostRounds) return;
    LaneSample& sample = rounds.emplace_back(LaneSample{.instruction = access.instruction,
                                                        .space = access.space,
                                                        .kind = access.kind,
                                                        .bytes = access.bytes,
                                                        .mask = access.mask,
                                                        .block_index = block_.index,
                                                        .warp = access.warp});
    std::copy_n(access.addresses, emulator::kWarpSize, sample.addresses.begin());
    const int lane = std::countr_zero(access.mask);
    const emulator::Place place =
        view_->place(access.space, access.address(lane), access.warp, lane);
    sample.object = variable_name(place.object);
    sample.object_base = access.address(lane) - place.offset;
    const ptx::Instruction& source = *program_.instruction(access.instruction).source;
    judge(sample, source);
    sample.place = counted_place(program_, access.instruction);
    sample.ptx_line = source.line;
  }

  const std::map<emulator::InstructionId, std::vector<LaneSample>>& rounds() const {
    return rounds_;
  }

 private:
  const emulator::Program& program_;
  std::map<emulator::InstructionId, std::vector<LaneSample>> rounds_;
  emulator::BlockInfo block_{};
  const emulator::BlockView* view_ = nullptr;
};

}  // namespace

std::uint32_t LaneRounds::events() const {
  return emulator::kGlobalAccess | emulator::kSharedAccess | emulator::kLocalAccess;
}

void LaneRounds::begin_launch(const emulator::LaunchInfo& launch) {
  program_ = &launch.program;
  rounds_.clear();
}

std::unique_ptr<emulator::BlockObserver> LaneRounds::make_block_observer() {
  return std::make_unique<BlockRounds>(*program_);
}

void LaneRounds::merge(emulator::BlockObserver& block) {
  for (const auto& [instruction, rounds] : static_cast<BlockRounds&>(block).rounds()) {
    rounds_.insert(rounds_.end(), rounds.begin(), rounds.end());
  }
}

}  // namespace tilescope::observe
