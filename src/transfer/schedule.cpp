#include "transfer/schedule.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace tilescope::transfer {
namespace {

// Which queue of the hardware a task waits in.
int unit_of(Engine engine, const EngineModel& model) {
  if (model.one_copy_engine && engine == Engine::copy_out) engine = Engine::copy_in;
  return static_cast<int>(engine);
}

}  // namespace

std::string_view name_of(Engine engine) {
  switch (engine) {
    case Engine::copy_in:
      return "copy in";
    case Engine::compute:
      return "compute";
    case Engine::copy_out:
      break;
  }
  return "copy out";
}

std::vector<Interval> play(const std::vector<Task>& tasks, const std::vector<double>& durations,
                           const EngineModel& model) {
  std::vector<Interval> intervals(tasks.size());
  std::vector<bool> done(tasks.size(), false);
  std::array<double, engine_count> unit_free{};
  std::map<int, double> stream_free;
  for (std::size_t scheduled = 0; scheduled < tasks.size(); ++scheduled) {
    // The next to start is the one that can start first; between equals, the one issued first. Of
    // each stream only the oldest task may start, and where an engine has one queue, of each queue
    // only the oldest too.
    std::size_t best = tasks.size();
    double best_start = 0.0;
    std::map<int, bool> stream_blocked;
    std::array<bool, engine_count> unit_blocked{};
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (done[i]) continue;
      const auto unit = static_cast<std::size_t>(unit_of(tasks[i].engine, model));
      bool& blocked = stream_blocked[tasks[i].stream];
      const int after = tasks[i].after;
      const bool is_ready = after < 0 || done[static_cast<std::size_t>(after)];
      const bool may_start =
          is_ready && !blocked && !(model.one_queue_per_engine && unit_blocked[unit]);
      blocked = true;
      unit_blocked[unit] = true;
      if (!may_start) continue;
      double start = std::max(stream_free[tasks[i].stream], unit_free[unit]);
      if (after >= 0) start = std::max(start, intervals[static_cast<std::size_t>(after)].end);
      if (best == tasks.size() || start < best_start) {
        best = i;
        best_start = start;
      }
    }
    const auto unit = static_cast<std::size_t>(unit_of(tasks[best].engine, model));
    done[best] = true;
    intervals[best] = {best_start, best_start + durations[best]};
    unit_free[unit] = stream_free[tasks[best].stream] = intervals[best].end;
  }
  return intervals;
}

double makespan(const std::vector<Interval>& intervals) {
  double end = 0.0;
  for (const Interval& interval : intervals) end = std::max(end, interval.end);
  return end;
}

}  // namespace tilescope::transfer
