// The kernel and the extents of a watched program's launch.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/symbol_names.hpp"
#include "emulator/events.hpp"

namespace tilescope::inspect {

/// Learns what a launch is.
class LaunchNames final : public emulator::Observer {
 public:
  std::uint32_t events() const override { return emulator::kNoEvents; }
  std::unique_ptr<emulator::BlockObserver> make_block_observer() override { return nullptr; }
  void begin_launch(const emulator::LaunchInfo& launch) override {
    kernel = function_name(std::string(launch.kernel));
    grid = launch.grid;
    block = launch.block;
    program = &launch.program;
    memory = &launch.memory;
    if (on_begin) on_begin(launch);
  }

  std::string kernel;
  Dim3 grid, block;
  const emulator::Program* program = nullptr;
  emulator::MemoryMap* memory = nullptr;
  std::function<void(const emulator::LaunchInfo&)> on_begin;
};

}  // namespace tilescope::inspect
