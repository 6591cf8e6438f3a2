// Finds out who wrote some bytes of global memory last.
//
//     LastWriters writers({address, ...});
//     options.observers = {&writers};
//     machine.launch(...);
//     if (const LastWriters::Write* write = writers.find(address)) ...
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emulator/events.hpp"
#include "ptx/ptx_types.hpp"
#include "tilescope/finding.hpp"

namespace tilescope::observe {

class LastWriters final : public emulator::Observer {
 public:
  /// Bytes by their addresses, ascending.
  explicit LastWriters(std::vector<std::uint64_t> addresses);

  struct Write {
    FindingAccess access;
    MemoryPlace memory;  ///< of the byte's element
    std::string kernel;
    ptx::Type type;  ///< of the instruction
    bool floating_atomic = false;
  };
  /// Null if nothing wrote the byte.
  const Write* find(std::uint64_t address) const;

  /// Floating-point atomics and reductions that the launches made, by thread, and the largest unit
  /// roundoff of their types.
  std::uint64_t floating_atomics() const { return floating_atomics_; }
  double unit_roundoff() const { return unit_roundoff_; }
  /// A kernel uses what atomics return.
  bool uses_atomic_results() const { return uses_atomic_results_; }
  bool reads_clock() const { return reads_clock_; }

  std::uint32_t events() const override { return emulator::kGlobalAccess | emulator::kBulk; }
  bool wants_block_order() const override { return true; }
  void begin_launch(const emulator::LaunchInfo& launch) override;
  std::unique_ptr<emulator::BlockObserver> make_block_observer() override;
  void end_launch(const emulator::LaunchTotals& totals) override;

 private:
  class OfBlock;
  /// A write of the launch that runs.
  struct Mark {
    bool fresh = false;
    emulator::InstructionId instruction = 0;
    std::uint64_t block = 0;
    std::uint32_t thread = 0;
  };
  void mark(std::uint64_t address, std::uint64_t bytes, const Mark& mark);
  void read_program(const emulator::LaunchTotals& totals);

  std::vector<std::uint64_t> addresses_;
  std::vector<Mark> marks_;                   ///< by address
  std::vector<std::optional<Write>> writes_;  ///< by address
  const emulator::LaunchInfo* launch_ = nullptr;
  std::uint64_t floating_atomics_ = 0;
  double unit_roundoff_ = 0.0;
  bool uses_atomic_results_ = false, reads_clock_ = false;
};

}  // namespace tilescope::observe
