// An observer of some launches only: the others run as if nobody watched.
#pragma once

#include <memory>

#include "emulator/events.hpp"

namespace tilescope::inspect {

/// Passes on to another observer the launches during which a flag is set.
class SelectedObserver final : public emulator::Observer {
 public:
  /// Both must outlive this. The flag may change between launches.
  SelectedObserver(emulator::Observer& observer, const bool& is_selected)
      : observer_(observer), is_selected_(is_selected) {}

  std::uint32_t events() const override {
    return is_selected_ ? observer_.events() : emulator::kNoEvents;
  }
  std::uint32_t sums() const override {
    return is_selected_ ? observer_.sums() : emulator::kNoEvents;
  }
  bool takes_known_accesses() const override {
    return is_selected_ && observer_.takes_known_accesses();
  }
  bool sums_by_block() const override { return observer_.sums_by_block(); }
  emulator::TouchedBytes* touched_bytes() override {
    return is_selected_ ? observer_.touched_bytes() : nullptr;
  }
  bool wants_block_order() const override { return is_selected_ && observer_.wants_block_order(); }
  bool tracks_initialisation() const override {
    return is_selected_ && observer_.tracks_initialisation();
  }
  bool has_seen_enough() const override { return is_selected_ && observer_.has_seen_enough(); }
  bool wants_block(std::uint64_t linear) const override { return observer_.wants_block(linear); }
  void begin_launch(const emulator::LaunchInfo& launch) override {
    if (is_selected_) observer_.begin_launch(launch);
  }
  std::unique_ptr<emulator::BlockObserver> make_block_observer() override {
    return is_selected_ ? observer_.make_block_observer() : nullptr;
  }
  void merge(emulator::BlockObserver& block) override { observer_.merge(block); }
  void end_launch(const emulator::LaunchTotals& totals) override {
    if (is_selected_) observer_.end_launch(totals);
  }

 private:
  emulator::Observer& observer_;
  const bool& is_selected_;
};

}  // namespace tilescope::inspect
