// The second tier of execution: blocks that run often become machine code (compiled/), which a warp
// of 32 lanes enters from the interpreter and leaves for it again. Results, counts and the order of
// everything are those of the interpreter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "emulator/access_watch.hpp"
#include "emulator/code.hpp"
#include "emulator/events.hpp"

namespace tilescope::emulator {

class Block;
class Program;
struct BlockObserverSlot;
struct Frame;
struct Worker;

/// The place where compiled code hands a warp back, all of its lanes together.
struct CompiledExit {
  std::uint32_t block = 0;
  bool inside = false;      ///< of a block whose begin has been counted
  std::uint32_t index = 0;  ///< in CodeFunction::code, if inside
  bool yields = false;      ///< the turn is over, at the block's begin
  bool ends = false;        ///< all lanes have left the kernel
  /// A round of a loop that may wait for others is over, and so is the turn: the warp is to go on
  /// at the block's begin, inside compiled code.
  bool spins = false;
  /// The block behind whose branch only some lanes have gone on, and that behind whose branch only
  /// some of these: CompiledPause::taken. kNone: all.
  std::array<std::uint32_t, 2> parted_at{kNone, kNone};
  /// Where the warp waits: the barrier, if it is known and takes all threads of the block.
  std::optional<std::uint8_t> barrier = std::nullopt;
};

/// A warp that waits at a barrier inside compiled code, or spins there. Its registers are partly
/// kept as numbers, so nobody else may write its frame before compiled code has gone on, nor read
/// that of one that waits.
struct CompiledPause {
  const void* region = nullptr;  ///< null: the warp is not inside compiled code
  std::uint64_t exit = 0;        ///< by which it left the region
  std::vector<std::uint64_t> numbers;
  /// Where lanes have parted: those that took each branch.
  std::array<LaneMask, 2> taken{};
};

/// The end of CompiledThread::run_warps.
struct WarpsRun {
  std::size_t next = 0;  ///< the warp that has to go on by itself; one past the last: none
  const CompiledExit* exit = nullptr;  ///< where it left compiled code; null: it has not begun
  bool idle = true;                    ///< all that ran wait at barriers, or spin
};

/// Bytes of a frame.
struct FrameRange {
  std::uint32_t offset = 0, bytes = 0;
};

/// One host thread's part in compiled code.
class CompiledThread {
 public:
  explicit CompiledThread(std::vector<std::uint32_t> patience) : patience_(std::move(patience)) {}
  virtual ~CompiledThread() = default;
  /// Whether a block, by its counter, has run often enough to call `run`. Ask once for each time
  /// that 32 lanes enter it.
  bool is_due(std::uint32_t counter) {
    std::uint32_t& left = patience_[counter];
    return left == 0 || --left == 0;
  }
  /// Runs compiled code from the begin of a block, if there is any or can be; else null. The exit
  /// belongs to the code. `turn`: warp instructions left; `join`: the block where the path ends.
  virtual const CompiledExit* run(const Frame& frame, std::uint32_t block, std::uint32_t join,
                                  CompiledPause& pause, std::int64_t& turn) = 0;
  /// The turns of a block's warps from number `first` on, in their order, as long as each begins
  /// the kernel where a region is known to fit it, or goes on where it has paused, and stays in
  /// compiled code until it pauses or ends. Ends early where the launch is stopped.
  virtual WarpsRun run_warps(Block& block, std::size_t first) = 0;
  /// Goes on behind the barrier at which the warp has waited.
  virtual const CompiledExit* resume(const Frame& frame, CompiledPause& pause,
                                     std::int64_t& turn) = 0;
  /// The bytes of a kernel's frame in which a frame that a warp of the kernel has left needs a new
  /// start: registers that the code may read before it writes them, and everything that is no
  /// register. Null while it is too early to find out; ask once for each block.
  virtual const std::vector<FrameRange>* frame_resets() = 0;
  /// Hands the sums since the last call (access_sum.hpp) to these observers of a block.
  virtual void deliver_sums(const std::vector<BlockObserverSlot>& observers) = 0;
  /// Worker::counters and Worker::lanes_on become exact: code counts some blocks elsewhere.
  virtual void settle_counts() = 0;

 protected:
  std::vector<std::uint32_t> patience_;  ///< by CodeBlock::counter: entries left before `run`
};

/// The compiled code of a program, for all its launches and host threads.
class CompiledCode {
 public:
  virtual ~CompiledCode() = default;
  virtual std::unique_ptr<CompiledThread> thread(Worker& worker) = 0;
};

/// Null where this CPU has no compiler: it takes AVX2. Nothing is compiled yet.
std::shared_ptr<CompiledCode> make_compiled_code(const Program& program, AccessWatch watch);

}  // namespace tilescope::emulator
