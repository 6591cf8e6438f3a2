// One warp's access for every memory instruction: the most wasteful one, to show and explain.
//
// The choice does not depend on the number of host threads: the most sectors or wavefronts beyond
// the ideal, then in all, and among equals the lowest warp of the lowest block.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/events.hpp"
#include "gpu/shared_banks.hpp"
#include "observe/source_place.hpp"

namespace tilescope::observe {

struct LaneSample {
  emulator::InstructionId instruction = 0;
  SourcePlace place;
  std::uint32_t ptx_line = 0;
  emulator::Space space = emulator::Space::global;
  emulator::AccessKind kind = emulator::AccessKind::load;
  std::uint32_t bytes = 0;  ///< per lane
  emulator::LaneMask mask = 0;
  std::array<std::uint64_t, emulator::kWarpSize> addresses{};
  std::uint64_t block = 0;  ///< linear
  Dim3 block_index{0, 0, 0};
  std::uint32_t warp = 0;
  std::string object;             ///< buffer or variable of the lowest lane; may be empty
  std::uint64_t object_base = 0;  ///< its address
  std::uint32_t cost = 0;         ///< sectors, or wavefronts in shared memory
  std::uint32_t ideal = 0;
  std::uint32_t ways = 0;                     ///< in shared memory: n of an n-way conflict
  gpu::SharedUse use = gpu::SharedUse::load;  ///< in shared memory
};

/// Fills in cost, ideal and ways.
void judge(LaneSample& sample, const ptx::Instruction& instruction);

/// Whether `a` should replace `b`.
bool is_worse(const LaneSample& a, const LaneSample& b);

/// Observes global, shared and local memory.
class LaneSamples : public emulator::Observer {
 public:
  std::uint32_t events() const override;
  std::uint32_t sums() const override;
  void begin_launch(const emulator::LaunchInfo& launch) override;
  std::unique_ptr<emulator::BlockObserver> make_block_observer() override;
  void merge(emulator::BlockObserver& block) override;

  /// By instruction; for the last launch.
  const std::vector<LaneSample>& result() const { return samples_; }
  const Dim3& block() const { return block_; }

 private:
  const emulator::Program* program_ = nullptr;
  Dim3 block_;
  std::vector<LaneSample> samples_;
};

}  // namespace tilescope::observe
