// setmaxnreg: the warps of a block pass registers on to each other, from a pool that is as large as
// what the block was launched with.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/events.hpp"
#include "observe/check/mistake_fold.hpp"
#include "observe/check/thread_place.hpp"
#include "observe/describe.hpp"

namespace tilescope::observe {

class RegisterPool {
 public:
  explicit RegisterPool(const emulator::LaunchInfo& launch);

  void begin_block(std::uint64_t block);
  void change(const emulator::RegisterChange& change);
  void end_block(bool complete);
  void merge(const RegisterPool& other) { mistakes_.merge(other.mistakes_); }
  void describe(const Describer& describer, std::vector<Finding>& findings) const;

 private:
  struct Warp {
    std::uint64_t registers = 0;  ///< per thread
    std::vector<emulator::InstructionId> changes;
  };
  struct Key {
    BudgetFault fault;
    emulator::InstructionId instruction;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Mistake {
    ThreadPlace first;
    BudgetFacts facts;
  };
  void report(BudgetFault fault, const emulator::RegisterChange& change, std::uint64_t asked);
  void check_groups();

  const emulator::LaunchInfo& launch_;
  std::uint64_t at_entry_ = 0;  ///< registers per thread; 0: not known
  std::uint64_t block_ = 0;
  std::vector<Warp> warps_;  ///< empty until the first change
  bool reported_ = false;
  MistakeFold<Key, Mistake> mistakes_;
};

}  // namespace tilescope::observe
