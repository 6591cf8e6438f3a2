// Follows the mbarriers of block 0 on which bulk copies complete: its pipelines.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <tilescope/pipeline.hpp>
#include <vector>

#include "emulator/events.hpp"
#include "observe/trace/pipeline_log.hpp"

namespace tilescope::observe {

class PipelineTrace : public emulator::Observer {
 public:
  /// Nothing unless the program has bulk copies.
  std::uint32_t events() const override;
  void begin_launch(const emulator::LaunchInfo& launch) override;
  std::unique_ptr<emulator::BlockObserver> make_block_observer() override;
  void merge(emulator::BlockObserver& block) override;
  void end_launch(const emulator::LaunchTotals& totals) override;

  /// The pipelines of the last launch that has ended: barriers that copies filled twice or more, or
  /// several that belong together.
  const std::vector<Pipeline>& result() const { return pipelines_; }

 private:
  const emulator::Program* program_ = nullptr;
  std::string kernel_;
  std::span<const emulator::SharedVariable> variables_;
  bool has_copies_ = false;
  PipelineLog log_;
  std::vector<Pipeline> pipelines_;
};

}  // namespace tilescope::observe
