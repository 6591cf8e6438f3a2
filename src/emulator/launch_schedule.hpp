// The order in which a launch runs wherever CUDA leaves it open: of blocks, of warps and diverged
// lanes, and of bulk copies. A seed and a launch give one order, on every machine.
//
// Without a schedule blocks start in linear order, a warp runs until it waits or spins, and copies
// are done as late as possible. A schedule is asked only where there is a choice: before an access
// to memory that others see (the program is decoded with a pause there), between turns of warps and
// blocks, and when a copy is issued. What it answers is random, with habits that differ from seed
// to seed: neighbouring seeds differ in the order of blocks, in how many run at once, in how often
// warps give way, and in when copies land.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tilescope::emulator {

class Schedule {
 public:
  /// `seed`: not 0, which stands for the usual order. `clusters`: those of the grid.
  Schedule(std::uint64_t seed, std::uint64_t clusters);

  // --- blocks
  /// The cluster that starts as number `nth`.
  std::uint64_t cluster(std::uint64_t nth) const;
  /// Whether another cluster starts while `resident` ones are set aside, none of which waits.
  bool starts_another(std::size_t resident) { return resident < window_ && chance(kOften); }
  /// Whether a block that could continue gives way to others.
  bool leaves_block() { return window_ > 1 && chance(kOften); }
  /// A number below `count`.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }

  // --- warps
  /// Each of `count` in turn; valid until the next call.
  std::span<const std::uint32_t> turns(std::size_t count);
  /// The warps of a block in turn. Those behind the first `awake` run only if these all wait.
  struct Round {
    std::span<const std::uint32_t> warps;
    std::size_t awake;
  };
  Round round(std::uint64_t block, std::size_t warps);
  /// How often a warp gives way: a chance in 2^32.
  std::uint32_t pace(std::uint64_t block, std::uint32_t warp) const;
  /// Whether a warp of this pace gives way now. It does so only a limited number of times in a
  /// launch, so that one that waits for ever is seen to.
  bool pauses(std::uint32_t pace) {
    if (pace == 0 || pauses_left_ == 0 || !chance(pace)) return false;
    --pauses_left_;
    return true;
  }

  // --- bulk copies
  /// Whether a copy is done when it is issued.
  bool completes_at_issue() {
    return engine_ == Engine::early || (engine_ == Engine::random && chance(kOften));
  }
  /// Whether a wait for one that is late finds its phase not over. It does not twice in a row.
  bool holds_up() {
    held_up_ = !held_up_ && engine_ == Engine::late && chance(kOften);
    return held_up_;
  }
  /// Whether one of those under way is done now.
  bool completes_now() { return engine_ == Engine::random && chance(kSometimes); }

 private:
  enum class Engine : std::uint8_t { late, early, random };
  enum class Blocks : std::uint8_t { forward, backward, shuffled };
  static constexpr std::uint32_t kOften = 1u << 31, kSometimes = 1u << 29;

  std::uint64_t next();
  bool chance(std::uint32_t threshold) { return next() >> 32 < threshold; }
  bool sleeps(std::uint64_t block, std::uint32_t warp) const;
  void shuffle(std::size_t from, std::size_t to);

  std::uint64_t seed_;
  std::uint64_t state_;
  std::uint64_t clusters_;
  Engine engine_;
  bool held_up_ = false;
  Blocks blocks_;
  std::uint64_t stride_ = 1, shift_ = 0;  ///< of shuffled blocks
  std::size_t window_;                    ///< clusters that run at once, if none waits for others
  std::uint32_t pauses_left_ = 200'000;
  std::uint32_t rounds_ = 0;  ///< since the warps of a block were last all awake
  std::vector<std::uint32_t> order_;
};

}  // namespace tilescope::emulator
