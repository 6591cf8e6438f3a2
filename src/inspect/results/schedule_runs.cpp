#include "inspect/results/schedule_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "observe/findings.hpp"
#include "observe/trace/last_writers.hpp"

namespace tilescope::inspect {
namespace {

using emulator::LaunchOptions;
using emulator::LaunchSummary;
using emulator::Machine;
using emulator::MemoryContents;
using observe::LastWriters;

/// Memory that a check copies at most, three times: before a launch, after it, after another order.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30U;

std::vector<std::uint64_t> words_of(const std::vector<ArrayDifference>& arrays) {
  std::vector<std::uint64_t> words;
  for (const ArrayDifference& array : arrays) {
    words.insert(words.end(), array.words.begin(), array.words.end());
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

}  // namespace

struct ScheduleRuns::Launch {
  Machine& machine;
  const LaunchOptions& usual;
  const device::LaunchOnce& once;
  Machine::State before;

  bool is_cancelled() const { return usual.cancel != nullptr && usual.cancel->load(); }

  /// Runs it from the state before it, silently.
  void rerun(std::uint64_t seed, std::vector<emulator::Observer*> observers,
             const std::function<void(const LaunchSummary&)>& after_grid) const {
    machine.restore(before);
    LaunchOptions options = usual;
    options.threads = 1;
    options.schedule = seed;
    options.observers = std::move(observers);
    options.print = [](std::string_view) {};
    options.after_grid = [&](const LaunchSummary& summary) {
      after_grid(summary);
      return true;
    };
    once(options);
  }
};

decltype(device::EmulationOptions::conduct) ScheduleRuns::conductor() {
  return [this](Machine& machine, const LaunchOptions& usual, const device::LaunchOnce& once) {
    if (MemoryContents::bytes_of(machine.memory()) > kMostBytes) {
      note_(fmt::format("launches with more than {} MiB of memory ran in the usual order only",
                        kMostBytes >> 20U));
      std::vector<Finding> findings;
      LaunchOptions options = usual;
      options.after_grid = [&](const LaunchSummary& summary) {
        findings.insert(findings.end(), checker_.findings().begin(), checker_.findings().end());
        return usual.after_grid(summary);
      };
      once(options);
      return report_(std::move(findings));
    }
    conduct({machine, usual, once, machine.save()});
  };
}

bool ScheduleRuns::run(const Launch& launch, std::uint64_t seed,
                       std::vector<Finding>& findings) const {
  bool complete = true;
  std::uint64_t grid = 0;
  std::vector<Finding> found;
  const auto collect = [&](const LaunchSummary& summary) {
    complete = complete && summary.complete();
    for (Finding finding : checker_.findings()) {
      finding.launch = grid;
      found.push_back(std::move(finding));
    }
    ++grid;
  };
  if (seed == 0) {
    LaunchOptions options = launch.usual;
    options.threads = 1;
    options.after_grid = [&](const LaunchSummary& summary) {
      collect(summary);
      return launch.usual.after_grid(summary);
    };
    launch.once(options);
  } else {
    launch.rerun(seed, launch.usual.observers, collect);
  }
  observe::merge_schedule(findings, found, seed);
  return complete;
}

void ScheduleRuns::conduct(const Launch& launch) {
  std::vector<Finding> findings;
  const bool complete = run(launch, 0, findings);
  const Machine::State after = launch.machine.save();
  std::map<std::uint64_t, Differing> differing;  // by the array's address
  for (std::uint64_t seed = 1; seed < schedules_ && !launch.is_cancelled(); ++seed) {
    if (!run(launch, seed, findings) || !complete) continue;
    for (ArrayDifference& found : differences(after.memory, launch.machine.memory())) {
      const auto [at, is_new] = differing.try_emplace(found.address);
      if (is_new) at->second.first = std::move(found);
      at->second.seeds.push_back(seed);
    }
  }
  std::vector<Differing> arrays;
  for (auto& [address, array] : differing) arrays.push_back(std::move(array));
  if (!arrays.empty() && !launch.is_cancelled()) {
    auto described = describe(launch, arrays, after.memory);
    std::move(described.begin(), described.end(), std::back_inserter(findings));
  }
  launch.machine.restore(after);
  report_(std::move(findings));
}

/// Runs the usual order and those with another result again, to see who writes.
std::vector<Finding> ScheduleRuns::describe(const Launch& launch,
                                            const std::vector<Differing>& arrays,
                                            const MemoryContents& usual) const {
  std::map<std::uint64_t, std::vector<ArrayDifference>> by_seed;
  for (const Differing& array : arrays) by_seed[array.seeds.front()].push_back(array.first);
  std::vector<std::uint64_t> all;
  for (const auto& [seed, of_seed] : by_seed) {
    const auto words = words_of(of_seed);
    all.insert(all.end(), words.begin(), words.end());
  }
  std::sort(all.begin(), all.end());
  const auto watch = [&](std::uint64_t seed, std::vector<std::uint64_t> words) {
    LastWriters writers(std::move(words));
    launch.rerun(seed, {&writers}, [](const LaunchSummary&) {});
    return writers;
  };
  const LastWriters usual_writers = watch(0, all);
  std::vector<Finding> findings;
  for (const auto& [seed, of_seed] : by_seed) {
    const LastWriters other_writers = watch(seed, words_of(of_seed));
    for (const ArrayDifference& difference : of_seed) {
      const auto piece =
          std::find_if(usual.pieces().begin(), usual.pieces().end(),
                       [&](const auto& p) { return p.address == difference.address; });
      Finding finding =
          describe_difference(difference, *launch.machine.memory().find(difference.address, 0),
                              piece->bytes, usual_writers, other_writers);
      const auto array =
          std::find_if(arrays.begin(), arrays.end(), [&](const Differing& candidate) {
            return candidate.first.address == difference.address;
          });
      auto& facts = std::get<ScheduleFacts>(finding.facts);
      facts.runs = static_cast<std::uint32_t>(schedules_);
      facts.differing = static_cast<std::uint32_t>(array->seeds.size());
      facts.seed = seed;
      finding.schedules = array->seeds;
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

}  // namespace tilescope::inspect
