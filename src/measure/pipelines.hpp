// The five forms of the vector-add pipeline, run on a device or played on a model of its engines.
#pragma once

#include <cstddef>
#include <tilescope/device.hpp>
#include <vector>

#include "transfer/pipeline.hpp"

namespace tilescope::measure {

/// One form of the pipeline, run or played.
struct PipelineResult {
  transfer::Form form = transfer::Form::serial;
  double total_ms = 0.0;
  double bytes_in = 0.0, bytes_out = 0.0;
  /// The time that each engine needs for its own tasks alone, by transfer::Engine.
  double engine_ms[transfer::engine_count] = {};
  std::vector<transfer::Task> tasks;
  std::vector<transfer::Interval> intervals;

  double longest_engine_ms() const;
  /// The share of the other engines' work that ran while the longest one was busy: 0 if nothing
  /// overlapped, 1 if the total is the longest engine's time.
  double overlap() const;
};

/// Runs every form over vectors of `count` floats, `segment` at a time, from pinned memory; the
/// result is the median of `samples` runs. Every element of every run is checked: a wrong one is
/// Error(wrong_result). An engine's own time is the time of its tasks in the serial form, where
/// each has the device to itself.
std::vector<PipelineResult> run_pipelines(Device& device, std::size_t count, std::size_t segment,
                                          int samples);

/// A device in the model: bytes per second of the link in each direction and of the memory.
struct PlayedDevice {
  double link_bytes_per_second = 0.0;
  double memory_bytes_per_second = 0.0;
  transfer::EngineModel engines;
};

/// The same on the model: copies and kernels take the time that their bytes need.
std::vector<PipelineResult> play_pipelines(const PlayedDevice& device, std::size_t count,
                                           std::size_t segment);

}  // namespace tilescope::measure
