// Races between blocks of a program that orders its blocks itself, with fences, atomics and flags:
// the last block of a reduction, a lock, grid-wide barriers, a chain of blocks.
//
// Such a launch is run in block order on one host thread, and every access is judged when it
// happens: it races with an earlier one of another block unless that block published it (a fence of
// GPU scope, then an atomic or strong store) and this block has learned of it since (an atomic or
// strong load of the same address). A block passes on what it learned from another with its own
// publications, if it has fenced since. Knowledge is kept for blocks as a whole on the learning
// side.
//
// A write behind a read needs less: the reading block may set the flag without a fence if it has
// used what it read (finished_reads.hpp), and blocks may pass that on without fences.
//
// Two chains are broken, but so nearly whole that they are a warning: the flag was read by an
// access that says .relaxed, with no fence or barrier behind it; and a block passed on what it had
// learned without a fence.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "observe/check/block_order.hpp"
#include "observe/check/finished_reads.hpp"
#include "observe/check/lane_cells.hpp"
#include "observe/check/race_log.hpp"
#include "observe/check/shadow_page.hpp"
#include "observe/check/store_values.hpp"
#include "observe/check/volatile_races.hpp"
#include "observe/check/wild_threads.hpp"

namespace tilescope::observe {

class GridOrder {
 public:
  GridOrder(const emulator::Program& program, const StoreValues& values,
            const std::vector<AccessRole>& roles)
      : values_(values), roles_(roles), finished_(program) {}

  void end_block(std::uint64_t block) { learned_.erase(block); }
  /// `published`: what the warp has fenced (BlockOrder::published); null: nothing.
  void release(std::uint64_t block, std::uint64_t variable, const WarpTimes* published);
  /// A strong store. `passed`: what came before it, fenced or not (BlockOrder::passed).
  void set_flag(std::uint64_t block, std::uint64_t variable, const WarpTimes& passed);
  void acquire(std::uint64_t block, std::uint64_t variable, bool relaxed);
  /// A warp of the block fences for the whole GPU; the threads of the block meet.
  void fence(std::uint64_t block);
  void fault(std::uint64_t block, const emulator::Fault& fault) { wild_.add(block, fault); }
  void barrier(std::uint64_t block);
  void access(std::uint64_t block, std::uint32_t time, const emulator::Access& access,
              const LaneCells& cells, const FlagWords& flags);

  /// Whether any block has written the byte.
  bool written(std::uint64_t address) const;
  const RaceLog& log() const { return log_; }
  const VolatileRaces& volatile_races() const { return volatile_; }
  bool overflowed() const { return overflowed_; }

 private:
  struct Publication {
    std::uint64_t version = 0;  ///< of the variable, at that time
    WarpTimes times{};
    bool holds(const Event& event) const {
      return version != 0 && event.time < times[event.tag.warp()];
    }
  };
  /// How well a block knows a variable: up to which version in each way.
  struct Knowledge {
    std::uint64_t acquired = 0;  ///< ordered before what the block does now
    std::uint64_t relaxed = 0;   ///< read, perhaps without order
    std::uint64_t fenced = 0;    ///< ordered before what the block publishes now
    std::uint64_t relayed = 0;   ///< heard of through a block that did not fence
  };
  using ByVariable = std::unordered_map<std::uint64_t, Knowledge>;
  /// By block, the last two.
  using Publications = std::unordered_map<std::uint64_t, Publication[2]>;
  /// The contents of a flag.
  struct Variable {
    std::uint64_t version = 0;
    Publications by_block, passed;
    ByVariable others;  ///< passed on with it: `fenced` and `relayed` count
  };
  struct Touch {
    std::uint64_t block = 0;
    Event event;
    bool same_bits = false;  ///< a write of the bits that are there, and that the block has read
  };
  struct GridCell {
    Touch write, atomic, reader[2];
    bool read_by(std::uint64_t block) const {
      return (reader[0].event.time != 0 && reader[0].block == block) ||
             (reader[1].event.time != 0 && reader[1].block == block);
    }
  };
  struct Page {
    bool by_bytes = false;
    std::unique_ptr<GridCell[]> cells;
  };
  static constexpr std::size_t kMostPages = 65'536;
  static constexpr std::size_t kMostFlags = 1u << 18;
  /// Between blocks. Operations of block scope exclude and order nothing there.
  enum class GridStrength : std::uint8_t { plain, volatile_, atomic };
  GridStrength strength_of(AccessTag tag) const;

  Page* page(std::uint64_t address);
  /// The weakest chain by which the block knows of the touch; `two_blocks`: by none; nothing: it is
  /// ordered.
  std::optional<RaceRelation> relation(std::uint64_t block, const Touch& earlier) const;
  /// Whether a write of the block comes behind a read of another for certain.
  bool follows(std::uint64_t block, const Touch& read);
  void check(const Touch& earlier, AccessVerb earlier_verb, const Touch& later, AccessVerb verb,
             emulator::Space space, std::uint64_t address);

  const StoreValues& values_;
  const std::vector<AccessRole>& roles_;
  FinishedReads finished_;
  std::unordered_map<std::uint64_t, Variable> variables_;
  std::unordered_map<std::uint64_t, ByVariable> learned_;  ///< by block in flight
  std::unordered_map<std::uint64_t, Page> pages_;
  RaceLog log_;
  VolatileRaces volatile_;
  WildThreads wild_;
  std::size_t flags_ = 0;  ///< that were set, by variable and block
  bool overflowed_ = false;
};

/// Whether the program orders blocks itself: by fences of GPU scope or stores that release.
bool orders_blocks(const emulator::Program& program);
/// Whether it has loads that wait for flags of other blocks.
bool polls_flags(const emulator::Program& program, const std::vector<AccessRole>& roles);

}  // namespace tilescope::observe
