#include "transfer/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>

#include "transfer/pipeline.hpp"

namespace tilescope::transfer {
namespace {

// The case that the lectures draw: every copy takes as long as a kernel.
std::vector<Interval> played(Form form, int segments, const EngineModel& model) {
  const std::vector<Task> tasks = tasks_of(form, segments);
  return play(tasks, std::vector<double>(tasks.size(), 1.0), model);
}

double time(Form form, const EngineModel& model, int segments = 12) {
  return makespan(played(form, segments, model));
}

constexpr EngineModel lecture{.one_queue_per_engine = true, .one_copy_engine = true};
constexpr EngineModel one_queue{.one_queue_per_engine = true};
constexpr EngineModel many_queues{};

TEST(Schedule, EmptyWorkTakesNoTime) {
  EXPECT_EQ(makespan(play({}, {}, many_queues)), 0.0);
  EXPECT_TRUE(tasks_of(Form::three_buffers, 0).empty());
}

TEST(Schedule, SerialTimeIsTheSumOfAllTasks) {
  for (const EngineModel& model : {lecture, one_queue, many_queues}) {
    EXPECT_EQ(time(Form::serial, model, 5), 5 * 4.0);
  }
}

TEST(Schedule, EveryFormDoesTheSameWork) {
  for (const Form form : all_forms) {
    std::map<std::pair<int, int>, int> count;
    for (const Task& task : tasks_of(form, 7)) {
      ++count[{static_cast<int>(task.engine), task.operand}];
      EXPECT_LT(task.stream, stream_count(form));
    }
    EXPECT_EQ(count.size(), 4U) << name_of(form);
    for (const auto& [what, times] : count) EXPECT_EQ(times, 7) << name_of(form);
  }
}

TEST(Schedule, NoEngineAndNoStreamDoesTwoThingsAtOnce) {
  for (const Form form : all_forms) {
    const std::vector<Task> tasks = tasks_of(form, 9);
    const std::vector<Interval> when = played(form, 9, many_queues);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (tasks[i].engine != tasks[j].engine && tasks[i].stream != tasks[j].stream) continue;
        EXPECT_TRUE(when[i].end <= when[j].start || when[j].end <= when[i].start)
            << name_of(form) << ": tasks " << j << " and " << i;
      }
    }
  }
}

TEST(Schedule, ASegmentsTasksFollowOneAnotherAndItsBuffersAreFreeBefore) {
  for (const Form form : all_forms) {
    const std::vector<Task> tasks = tasks_of(form, 9);
    const std::vector<Interval> when = played(form, 9, many_queues);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      EXPECT_LT(tasks[i].after, static_cast<int>(i));
      for (std::size_t j = 0; j < i; ++j) {
        if (tasks[i].buffers != tasks[j].buffers || tasks[i].engine == tasks[j].engine) continue;
        EXPECT_TRUE(when[j].end <= when[i].start)
            << name_of(form) << ": tasks " << j << " and " << i;
      }
    }
  }
}

/// The same by the rule's own words, at a cost that grows with the square of the tasks.
std::vector<Interval> played_by_the_rule(const std::vector<Task>& tasks,
                                         const std::vector<double>& durations,
                                         const EngineModel& model) {
  const auto unit = [&](const Task& task) {
    return model.one_copy_engine && task.engine == Engine::copy_out ? Engine::copy_in : task.engine;
  };
  std::vector<Interval> when(tasks.size());
  std::vector<bool> done(tasks.size(), false);
  for (std::size_t round = 0; round < tasks.size(); ++round) {
    std::size_t best = tasks.size();
    double best_start = 0.0;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const auto after = static_cast<std::size_t>(std::max(tasks[i].after, 0));
      bool may_start = !done[i] && (tasks[i].after < 0 || done[after]);
      double start = tasks[i].after < 0 ? 0.0 : when[after].end;
      for (std::size_t j = 0; j < tasks.size(); ++j) {
        const bool same_stream = tasks[j].stream == tasks[i].stream;
        const bool same_unit = unit(tasks[j]) == unit(tasks[i]);
        if (done[j] && (same_stream || same_unit)) start = std::max(start, when[j].end);
        if (j >= i || done[j]) continue;
        if (same_stream || (same_unit && model.one_queue_per_engine)) may_start = false;
      }
      if (!may_start || (best < tasks.size() && start >= best_start)) continue;
      best = i;
      best_start = start;
    }
    done[best] = true;
    when[best] = {best_start, best_start + durations[best]};
  }
  return when;
}

TEST(Schedule, RandomWorkRunsAsTheRuleSays) {
  std::mt19937 random(15);
  const auto below = [&random](int n) {
    return static_cast<int>(random() % static_cast<unsigned>(n));
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<Task> tasks;
    std::vector<double> durations;
    for (int i = 0, n = below(40); i < n; ++i) {
      tasks.push_back({.engine = static_cast<Engine>(below(engine_count)),
                       .stream = below(4),
                       .after = i > 0 && below(3) == 0 ? below(i) : -1});
      durations.push_back(below(4));  // equal times and nothing at all are frequent
    }
    for (const EngineModel& model : {lecture, one_queue, many_queues}) {
      const std::vector<Interval> when = play(tasks, durations, model);
      const std::vector<Interval> expected = played_by_the_rule(tasks, durations, model);
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        ASSERT_EQ(when[i].start, expected[i].start) << "round " << round << ", task " << i;
        ASSERT_EQ(when[i].end, expected[i].end);
      }
    }
  }
}

TEST(Schedule, ManySegmentsTakeTimeInProportion) {
  const auto seconds = [](int segments) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(time(Form::serial, many_queues, segments), segments * 4.0);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  EXPECT_LT(seconds(65'536), 5.0) << "a search through all tasks for each would take minutes";
}

// A task issued later may start first, but not before the one it comes after.
TEST(Schedule, TasksWaitForTheOneTheyComeAfter) {
  const std::vector<Task> tasks{{.engine = Engine::copy_in, .stream = 0},
                                {.engine = Engine::compute, .stream = 1, .after = 0},
                                {.engine = Engine::copy_out, .stream = 2}};
  const std::vector<Interval> when = play(tasks, {3.0, 1.0, 1.0}, many_queues);
  EXPECT_EQ(when[1].start, 3.0);
  EXPECT_EQ(when[2].start, 0.0);
}

// The order that the lectures arrive at, on the GPUs they speak of: one copy queue for both
// directions, in which C.0 holds up A.1 and B.1.
TEST(Schedule, LecturesOrderOnTheLecturesHardware) {
  EXPECT_GT(time(Form::serial, lecture), time(Form::better, lecture));
  EXPECT_GE(time(Form::simple, lecture), time(Form::better, lecture));
  EXPECT_GE(time(Form::better, lecture), time(Form::three_buffers, lecture));
}

TEST(Schedule, SimpleOrderGainsNothingInOneCopyQueue) {
  // C.0 must wait for kernel 0, and everything behind it waits too: only kernel and the next
  // inputs never overlap, so the time is the serial one.
  EXPECT_EQ(time(Form::simple, lecture), time(Form::serial, lecture));
}

TEST(Schedule, ThreeBuffersReachTheLongestEngine) {
  // Two inputs a segment: the copies in take 2 x 12; filling and draining adds one kernel and one
  // copy out.
  EXPECT_EQ(time(Form::three_buffers, many_queues), 2 * 12 + 2.0);
  EXPECT_EQ(time(Form::three_buffers, one_queue), 2 * 12 + 2.0);
}

TEST(Schedule, QueuePerStreamMakesSimpleAndBetterEqual) {
  EXPECT_EQ(time(Form::simple, many_queues), time(Form::better, many_queues));
}

}  // namespace
}  // namespace tilescope::transfer
