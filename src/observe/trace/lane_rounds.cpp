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
    std::vector<Round>& rounds = rounds_[access.instruction];
    if (!rounds.empty() && access.warp < rounds.front().sample.warp) rounds.clear();
    if (!rounds.empty() && access.warp > rounds.front().sample.warp) return;
    if (rounds.size() == LaneRounds::kMostRounds) return;
    LaneSample& sample = rounds.emplace_back(Round{++accesses_, {}}).sample;
    sample.instruction = access.instruction;
    sample.space = access.space;
    sample.kind = access.kind;
    sample.bytes = access.bytes;
    sample.mask = access.mask;
    sample.block_index = block_.index;
    sample.warp = access.warp;
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

  std::vector<LaneSample> in_order() const {
    std::map<std::uint64_t, const LaneSample*> by_order;
    for (const auto& [instruction, rounds] : rounds_) {
      for (const Round& round : rounds) by_order[round.order] = &round.sample;
    }
    std::vector<LaneSample> all;
    for (const auto& [order, sample] : by_order) all.push_back(*sample);
    return all;
  }

 private:
  struct Round {
    std::uint64_t order = 0;
    LaneSample sample;
  };
  const emulator::Program& program_;
  std::map<emulator::InstructionId, std::vector<Round>> rounds_;
  std::uint64_t accesses_ = 0;
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
  const std::vector<LaneSample> rounds = static_cast<BlockRounds&>(block).in_order();
  rounds_.insert(rounds_.end(), rounds.begin(), rounds.end());
}

}  // namespace tilescope::observe
