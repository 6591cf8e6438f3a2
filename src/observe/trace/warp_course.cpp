#include "observe/trace/warp_course.hpp"

#include <algorithm>
#include <set>

namespace tilescope::observe {
namespace {

using emulator::LaneMask;

class BlockCourse final : public emulator::BlockObserver {
 public:
  BlockCourse(const emulator::Program& program, std::uint32_t warps)
      : program_(program), warp_count_(warps) {}

  void begin_block(const emulator::BlockInfo& block, const emulator::BlockView& view) override {
    is_watched_ = block.linear == 0;
    view_ = &view;
    if (is_watched_) warps_.assign(warp_count_, {});
  }

  void access(const emulator::Access& access) override {
    // Lanes that a guard keeps from an access are no divergence.
    if (is_watched_) work(access.warp, false);
  }

  void branch(const emulator::Branch& branch) override {
    if (!is_watched_) return;
    Warp& warp = warps_[branch.warp];
    warp.is_apart = branch.divergent() || branch.active != view_->live(branch.warp);
    work(branch.warp, warp.is_apart);
  }

  void barrier_completion(const emulator::BarrierCompletion& completion) override {
    if (!is_watched_ || is_full()) return;
    std::set<std::uint32_t> met;
    std::uint64_t last = 0;
    for (const emulator::BarrierArrival& arrival : completion.arrivals) {
      met.insert(arrival.warp);
      last = std::max(last, warps_[arrival.warp].now);
    }
    for (const emulator::BarrierArrival& arrival : completion.arrivals) {
      if (met.erase(arrival.warp) == 0) continue;  // a further piece of the same warp
      if (arrival.operation == emulator::BarrierOperation::arrive) continue;
      warps_[arrival.warp].is_apart = false;
      add(arrival.warp, last, WarpState::waiting, counted_place(program_, arrival.instruction));
    }
  }

  void deadlock(const emulator::Deadlock& deadlock) override {
    if (!is_watched_) return;
    std::uint64_t last = 0;
    for (const Warp& warp : warps_) last = std::max(last, warp.now);
    const std::uint64_t end = last + std::max<std::uint64_t>(last / 4, 4);
    for (const emulator::StuckLanes& stuck : deadlock.stuck) {
      add(stuck.warp, end, WarpState::stuck, counted_place(program_, stuck.instruction));
    }
  }

  std::vector<std::vector<WarpSpan>> spans() const {
    std::vector<std::vector<WarpSpan>> all;
    for (const Warp& warp : warps_) all.push_back(warp.spans);
    return all;
  }

 private:
  struct Warp {
    std::uint64_t now = 0;
    bool is_apart = false;  ///< lanes are on different ways
    std::vector<WarpSpan> spans;
  };

  bool is_full() const { return span_count_ >= WarpCourse::kMostSpans; }

  void work(std::uint32_t warp, bool apart) {
    const bool partly = apart || warps_[warp].is_apart;
    add(warp, warps_[warp].now + 1, partly ? WarpState::partly_idle : WarpState::working, {});
  }

  /// The warp is in `state` until `end`.
  void add(std::uint32_t warp, std::uint64_t end, WarpState state, SourcePlace place) {
    Warp& of = warps_[warp];
    if (end <= of.now) return;
    const bool goes_on = !of.spans.empty() && of.spans.back().end == of.now &&
                         of.spans.back().state == state && state != WarpState::waiting;
    if (goes_on) {
      of.spans.back().end = end;
    } else if (!is_full()) {
      of.spans.push_back({of.now, end, state, std::move(place)});
      ++span_count_;
    }
    of.now = end;
  }

  const emulator::Program& program_;
  std::uint32_t warp_count_;
  const emulator::BlockView* view_ = nullptr;
  bool is_watched_ = false;
  std::size_t span_count_ = 0;
  std::vector<Warp> warps_;
};

}  // namespace

std::uint32_t WarpCourse::events() const {
  return emulator::kGlobalAccess | emulator::kSharedAccess | emulator::kLocalAccess |
         emulator::kBranches | emulator::kOrder | emulator::kFaults;
}

void WarpCourse::begin_launch(const emulator::LaunchInfo& launch) {
  program_ = &launch.program;
  warp_count_ = launch.warps_per_block;
  warps_.clear();
}

std::unique_ptr<emulator::BlockObserver> WarpCourse::make_block_observer() {
  return std::make_unique<BlockCourse>(*program_, warp_count_);
}

void WarpCourse::merge(emulator::BlockObserver& block) {
  auto spans = static_cast<BlockCourse&>(block).spans();
  if (!spans.empty()) warps_ = std::move(spans);
}

}  // namespace tilescope::observe
