// The mistakes with the work of engines, folded by their instructions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "observe/check/mistake_fold.hpp"
#include "observe/describe.hpp"

namespace tilescope::observe {

/// One side of a mistake.
struct AsyncSide {
  emulator::InstructionId instruction = 0;
  std::uint64_t block = 0;   ///< linear
  std::uint32_t thread = 0;  ///< linear, in the block
  ThreadAction action = ThreadAction::none;
  std::uint32_t bytes = 0;  ///< 0: as the instruction says
};

struct AsyncMistake {
  FindingKind kind = FindingKind::unfinished_async_work;
  AsyncFacts facts;  ///< `barrier` is filled from `mbarrier`
  AsyncSide first;
  std::optional<AsyncSide> second;
  std::optional<std::uint32_t> mbarrier;  ///< its offset in shared memory
  std::optional<std::uint64_t> address;
  emulator::Space space = emulator::Space::shared;
};

class AsyncLog {
 public:
  void add(const AsyncMistake& mistake);
  void merge(const AsyncLog& other) { mistakes_.merge(other.mistakes_); }
  void describe(const Describer& describer, std::vector<Finding>& findings) const;

 private:
  struct Key {
    FindingKind kind;
    AsyncFault fault;
    emulator::InstructionId first, second;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  static void drop_consequences(std::vector<Finding>& findings);

  MistakeFold<Key, AsyncMistake> mistakes_;
};

}  // namespace tilescope::observe
