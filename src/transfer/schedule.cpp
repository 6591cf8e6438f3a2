#include "transfer/schedule.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace tilescope::transfer {
namespace {

// The hardware queue in which a task waits.
std::size_t unit_of(Engine engine, const EngineModel& model) {
  if (model.one_copy_engine && engine == Engine::copy_out) engine = Engine::copy_in;
  return static_cast<std::size_t>(engine);
}

/// The tasks of a stream or of an engine, in the order of issue.
struct Waiting {
  std::vector<std::size_t> tasks;
  std::size_t next = 0;  ///< index of the oldest that is not done
  double free_at = 0.0;

  bool empty() const { return next == tasks.size(); }
  std::size_t first() const { return tasks[next]; }
  /// Forgets what is done at the front.
  void drop(const std::vector<bool>& done) {
    while (!empty() && done[first()]) ++next;
  }
};

}  // namespace

std::string_view name_of(Engine engine) {
  constexpr std::string_view names[] = {"copy in", "compute", "copy out"};
  return names[static_cast<std::size_t>(engine)];
}

std::vector<Interval> play(const std::vector<Task>& tasks, const std::vector<double>& durations,
                           const EngineModel& model) {
  // Tasks that are not done, oldest first: of each stream only the first may start, and where an
  // engine has one queue, of each queue only the first too.
  std::map<int, Waiting> streams;
  std::array<Waiting, engine_count> units;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    streams[tasks[i].stream].tasks.push_back(i);
    units[unit_of(tasks[i].engine, model)].tasks.push_back(i);
  }
  std::vector<Interval> intervals(tasks.size());
  std::vector<bool> done(tasks.size(), false);
  for (std::size_t scheduled = 0; scheduled < tasks.size(); ++scheduled) {
    // The next to start is the one that can start first; between equals, the one issued first.
    std::size_t best = tasks.size();
    double best_start = 0.0;
    for (const auto& [name, stream] : streams) {
      if (stream.empty()) continue;
      const std::size_t i = stream.first();
      const Waiting& unit = units[unit_of(tasks[i].engine, model)];
      const int after = tasks[i].after;
      if (after >= 0 && !done[static_cast<std::size_t>(after)]) continue;
      if (model.one_queue_per_engine && unit.first() != i) continue;
      double start = std::max(stream.free_at, unit.free_at);
      if (after >= 0) start = std::max(start, intervals[static_cast<std::size_t>(after)].end);
      if (best == tasks.size() || start < best_start || (start == best_start && i < best)) {
        best = i;
        best_start = start;
      }
    }
    done[best] = true;
    intervals[best] = {best_start, best_start + durations[best]};
    for (Waiting* queue :
         {&streams[tasks[best].stream], &units[unit_of(tasks[best].engine, model)]}) {
      queue->free_at = intervals[best].end;
      queue->drop(done);
    }
  }
  return intervals;
}

double makespan(const std::vector<Interval>& intervals) {
  double end = 0.0;
  for (const Interval& interval : intervals) end = std::max(end, interval.end);
  return end;
}

}  // namespace tilescope::transfer
