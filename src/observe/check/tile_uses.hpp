// Tiles in shared memory: whether those who write and those who read them agree on their swizzle,
// and whether they lie where the swizzle's pattern begins.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/events.hpp"
#include "observe/check/mistake_fold.hpp"
#include "observe/check/thread_place.hpp"
#include "observe/describe.hpp"

namespace tilescope::observe {

class TileUses {
 public:
  explicit TileUses(const emulator::LaunchInfo& launch) : launch_(launch) {}

  void begin_block(const emulator::BlockInfo& block);
  void tile(const emulator::TileUse& use);
  /// Threads write to shared memory: it no longer holds what copies brought.
  void overwrite(std::uint64_t begin, std::uint64_t end);
  bool has_tiles() const { return !tiles_.empty(); }
  void merge(const TileUses& other) { mistakes_.merge(other.mistakes_); }
  void describe(const Describer& describer, std::vector<Finding>& findings) const;

 private:
  struct Tile {
    std::uint64_t begin, end;
    std::uint32_t span;
    ThreadPlace place;
  };
  struct Key {
    TileFault fault;
    emulator::InstructionId first, second;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Mistake {
    ThreadPlace first, second;
    TileFacts facts;
    std::uint64_t address = 0;
  };
  ThreadPlace place_of(const emulator::BulkOrigin& origin) const;
  void copied(const emulator::TileUse& use);
  void read(const emulator::TileUse& use);

  const emulator::LaunchInfo& launch_;
  emulator::BlockInfo block_{};
  std::vector<Tile> tiles_;  ///< that copies brought last
  MistakeFold<Key, Mistake> mistakes_;
};

}  // namespace tilescope::observe
