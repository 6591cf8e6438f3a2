// Named barriers of a block: a number that is used again before those who wait have come, or for
// two purposes at once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/events.hpp"
#include "observe/check/mistake_fold.hpp"
#include "observe/check/thread_place.hpp"
#include "observe/describe.hpp"

namespace tilescope::observe {

class NamedBarrierUses {
 public:
  void begin_block(std::uint64_t block);
  void arrive(const emulator::BarrierArrival& arrival);
  void complete(const emulator::BarrierCompletion& completion);
  /// Whether threads that wait at this barrier for ever follow from a mistake that was found.
  bool explains(std::uint8_t barrier) const { return mistaken_[barrier]; }
  void merge(const NamedBarrierUses& other) { mistakes_.merge(other.mistakes_); }
  void describe(const Describer& describer, std::vector<Finding>& findings) const;

 private:
  struct Key {
    BarrierMixup mixup;
    emulator::InstructionId first, second;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Mistake {
    ThreadPlace first, second;
    std::uint8_t barrier = 0;
  };
  struct LoneWait {
    emulator::BarrierArrival arrival, wait;
  };
  /// Who has arrived in the present generation of a barrier.
  struct Arrivals {
    std::vector<emulator::BarrierArrival> all;
    std::uint32_t warps = 0;             ///< that arrived, one bit each
    std::uint32_t expected_threads = 0;  ///< as the first of them says
    void clear() {
      all.clear();
      warps = 0;
    }
  };
  void judge_lone_waits(const emulator::BarrierCompletion& completion);
  void report(BarrierMixup mixup, const emulator::BarrierArrival& first,
              const emulator::BarrierArrival& second);
  ThreadPlace place_of(const emulator::BarrierArrival& arrival) const;

  std::uint64_t block_ = 0;
  std::array<Arrivals, 16> arrivals_;             ///< by barrier
  std::array<std::optional<LoneWait>, 16> lone_;  ///< the first that needed no other warp
  std::array<bool, 16> mistaken_{};
  MistakeFold<Key, Mistake> mistakes_;
};

}  // namespace tilescope::observe
