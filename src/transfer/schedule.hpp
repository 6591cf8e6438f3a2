// Work on a device as tasks in streams, and the order in which a device's engines do them.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace tilescope::transfer {

/// The units that work at the same time: one direction of the link each, and the SMs.
enum class Engine { copy_in, compute, copy_out };
inline constexpr int engine_count = 3;

std::string_view name_of(Engine engine);

/// One copy or kernel, in the order in which the host issues them.
struct Task {
  Engine engine = Engine::copy_in;
  int segment = 0;  ///< number of the vectors' part
  int stream = 0;   ///< tasks of one stream run in the order of issue
  int buffers = 0;  ///< the set of device buffers that it works on
  int operand = 0;  ///< the vector that a copy moves: 0 = A, 1 = B, 2 = C
  /// Index of a task of another stream that ends before this one starts, issued before; -1: none.
  int after = -1;
};

/// When a task ran, in the unit of the durations.
struct Interval {
  double start = 0.0;
  double end = 0.0;
};

/// The way a device feeds its engines.
struct EngineModel {
  /// True: one queue per engine, so a waiting task blocks those issued after it (the GPUs that the
  /// lectures drew). False: a queue per stream, so an engine takes any task that is ready.
  bool one_queue_per_engine = false;
  /// True: one engine copies in both directions.
  bool one_copy_engine = false;
};

/// Plays `tasks`, each of which takes durations[i], on an idle device. Returns when each runs.
/// A task starts when its stream's previous task and the one it comes after have ended and its
/// engine is free.
std::vector<Interval> play(const std::vector<Task>& tasks, const std::vector<double>& durations,
                           const EngineModel& model);

/// The end of the last interval; 0 for none.
double makespan(const std::vector<Interval>& intervals);

}  // namespace tilescope::transfer
