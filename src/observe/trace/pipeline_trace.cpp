#include "observe/trace/pipeline_trace.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <utility>

#include "base/symbol_names.hpp"

namespace tilescope::observe {
namespace {

using emulator::MbarrierAction;
using Kind = PipelineEvent::Kind;

/// Whether the instruction copies to shared memory and says so on an mbarrier.
bool is_bulk_copy(const ptx::Instruction& instruction) {
  return instruction.modifiers.has(ptx::Flag::complete_tx_bytes) &&
         ptx::name(instruction.opcode).starts_with("cp.async.bulk");
}

class PipelineBlock final : public emulator::BlockObserver {
 public:
  PipelineBlock(const emulator::Program& program,
                std::span<const emulator::SharedVariable> variables)
      : program_(program), variables_(variables) {}

  void begin_block(const emulator::BlockInfo& block, const emulator::BlockView& view) override {
    rank_ = block.rank;
    watched_ = block.linear == 0;
    view_ = &view;
  }
  void end_block(bool /*complete*/) override { watched_ = false; }

  void mbarrier(const emulator::MbarrierUse& use) override {
    if (!watched_) return;
    const std::uint32_t warp =
        use.origin.rank == rank_ ? use.origin.warp : PipelineEvent::kOtherBlock;
    const auto add = [&](Kind kind) {
      log.add({kind, warp, use.offset, use.origin.instruction, use.bytes});
    };
    switch (use.action) {
      case MbarrierAction::announce:
        if (!is_bulk_copy(*program_.instruction(use.origin.instruction).source)) return;
        keep_name(use);
        announced_ = use.offset;
        add(Kind::issued);
        return;
      case MbarrierAction::expect:
        add(Kind::armed);
        return;
      case MbarrierAction::arrive:
      case MbarrierAction::drop:
        if (use.bytes != 0) add(Kind::armed);
        add(Kind::arrived);
        break;
      case MbarrierAction::test:
        add(use.passed ? Kind::passed : Kind::waits);
        return;
      default:
        break;
    }
    if (use.ends_phase() && use.action != MbarrierAction::init) add(Kind::phase_over);
  }

  /// The tile of the copy announced last, or one that wgmma reads until its group is waited for.
  void tile(const emulator::TileUse& tile) override {
    if (!watched_) return;
    if (tile.copied) {
      const Tile copied{tile.begin, tile.end, announced_};
      if (std::ranges::find(tiles_, copied) == tiles_.end()) tiles_.push_back(copied);
    } else if (const Tile* const read = tile_at(tile.begin)) {
      products_[tile.origin.warp].open.push_back(read->barrier);
    }
  }

  void matrix_order(const emulator::MatrixOrder& order) override {
    if (!watched_) return;
    Products& products = products_[order.warp];
    if (order.ordering == emulator::MatrixOrdering::commit) {
      products.groups.push_back(std::exchange(products.open, {}));
    }
    if (order.ordering != emulator::MatrixOrdering::wait) return;
    while (products.groups.size() > order.pending) {
      for (const std::uint32_t barrier : products.groups.front()) {
        add_use(order.warp, barrier, order.instruction);
      }
      products.groups.pop_front();
    }
  }

  void access(const emulator::Access& access) override {
    if (!watched_) return;
    const Tile* const used = tile_at(access.address(std::countr_zero(access.mask)));
    if (used != nullptr) add_use(access.warp, used->barrier, access.instruction);
  }

  void barrier_completion(const emulator::BarrierCompletion& completion) override {
    if (!watched_) return;
    for (const emulator::BarrierArrival& a : completion.arrivals) {
      log.add({Kind::met, a.warp, a.barrier, a.instruction, 0});
    }
    for (const emulator::BarrierArrival& a : completion.arrivals) {
      if (a.operation == emulator::BarrierOperation::arrive) continue;
      log.add({Kind::left, a.warp, a.barrier, a.instruction, 0});
    }
  }

  PipelineLog log;

 private:
  /// Shared memory that copies of a barrier fill.
  struct Tile {
    std::uint64_t begin, end;
    std::uint32_t barrier;
    friend bool operator==(const Tile&, const Tile&) = default;
  };
  /// The barriers of the tiles that a warp's products read: since its last commit, and by group.
  struct Products {
    std::vector<std::uint32_t> open;
    std::deque<std::vector<std::uint32_t>> groups;
  };

  const Tile* tile_at(std::uint64_t address) const {
    const auto found = std::ranges::find_if(
        tiles_, [&](const Tile& tile) { return tile.begin <= address && address < tile.end; });
    return found == tiles_.end() ? nullptr : &*found;
  }

  void add_use(std::uint32_t warp, std::uint32_t barrier, std::uint32_t instruction) {
    const bool again = !log.events.empty() && log.events.back().kind == Kind::used &&
                       log.events.back().warp == warp && log.events.back().barrier == barrier;
    if (!again) log.add({Kind::used, warp, barrier, instruction, 0});
  }

  void keep_name(const emulator::MbarrierUse& use) {
    const auto [at, is_new] = log.variables.try_emplace(use.offset);
    if (!is_new) return;
    const emulator::Place place =
        view_->place(emulator::Space::shared, use.offset, use.origin.warp, use.origin.lane);
    const bool dynamic = std::ranges::any_of(variables_, [&](const auto& variable) {
      return variable.dynamic && variable.name == place.object;
    });
    at->second = {variable_name(place.object), dynamic};
  }

  const emulator::Program& program_;
  std::span<const emulator::SharedVariable> variables_;
  const emulator::BlockView* view_ = nullptr;
  std::vector<Tile> tiles_;
  std::map<std::uint32_t, Products> products_;  ///< by warp
  std::uint32_t announced_ = 0;
  std::uint32_t rank_ = 0;
  bool watched_ = false;
};

}  // namespace

std::uint32_t PipelineTrace::events() const {
  return has_copies_
             ? emulator::kProtocol | emulator::kOrder | emulator::kSharedAccess | emulator::kMatrix
             : emulator::kNoEvents;
}

void PipelineTrace::begin_launch(const emulator::LaunchInfo& launch) {
  program_ = &launch.program;
  kernel_ = launch.kernel;
  variables_ = launch.shared_variables;
  const auto instructions = launch.program.instructions();
  has_copies_ = std::ranges::any_of(instructions, [](const emulator::InstructionInfo& info) {
    return is_bulk_copy(*info.source);
  });
  log_ = {};
  pipelines_.clear();
}

std::unique_ptr<emulator::BlockObserver> PipelineTrace::make_block_observer() {
  return std::make_unique<PipelineBlock>(*program_, variables_);
}

void PipelineTrace::merge(emulator::BlockObserver& block) {
  auto& trace = static_cast<PipelineBlock&>(block);
  if (!trace.log.events.empty()) log_ = std::move(trace.log);
}

void PipelineTrace::end_launch(const emulator::LaunchTotals& /*totals*/) {
  pipelines_ = pipelines_of(log_, *program_);
  for (Pipeline& pipeline : pipelines_) pipeline.kernel = kernel_;
  log_ = {};
}

}  // namespace tilescope::observe
