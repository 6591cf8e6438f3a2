#include "inspect/program/program_watch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <set>
#include <tilescope/error.hpp>
#include <utility>

#include "base/child_process.hpp"
#include "base/symbol_names.hpp"
#include "device/emulated/emulated_device.hpp"
#include "inspect/program/launch_names.hpp"
#include "inspect/program/launch_selection.hpp"
#include "inspect/program/object_names.hpp"
#include "inspect/program/program_journal.hpp"
#include "inspect/program/resumed_check.hpp"
#include "inspect/program/selected_observer.hpp"
#include "inspect/results/detail_observers.hpp"
#include "inspect/results/run_summary.hpp"
#include "inspect/results/schedule_runs.hpp"
#include "observe/check/check_observer.hpp"
#include "observe/findings.hpp"

namespace tilescope::inspect {

namespace {

using Clock = std::chrono::steady_clock;

/// Leaks and gaps leave the results right or are the program's own business.
Severity severity_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::leak:
    case FindingKind::unchecked_error:
    case FindingKind::copy_size:
      return Severity::warning;
    case FindingKind::uncovered_elements:
      return Severity::note;
    default:
      return Severity::error;
  }
}

// --- Ctrl-C: the launch that runs ends early, and what is known is written -----------------------

std::atomic<bool> cancelled{false}, launching{false};
std::atomic<int> cancelled_by{0};

void end_by(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

extern "C" void cancel_launch(int signal) {
  cancelled_by = signal;
  if (!launching || cancelled.exchange(true)) end_by(signal);
}

/// A program with a handler of its own keeps it.
void end_launches_on(int signal) {
  struct sigaction action = {};
  if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
  action.sa_handler = cancel_launch;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

/// The launch that this thread is about to run.
thread_local HostCall pending;

}  // namespace

struct ProgramWatch::State {
  explicit State(const ProgramSettings& settings)
      : journal(settings.journal),
        checker(settings.schedules > 1 ? 0 : settings.max_findings),
        seen([this](const ptx::Module& module) { return device->ptx_of(module); },
             settings.blocks) {}  // each order wants all

  void after_launch(const emulator::LaunchSummary& summary, const ProgramSettings& settings);
  void keep_findings(const std::vector<Finding>& found);
  void keep_counts();
  /// Whether the next launch is one that is watched.
  bool selects_next(const std::string& kernel, const ProgramSettings& settings) const;
  /// Whether an earlier run has checked the next launch.
  bool knows_next(const std::string& kernel, Dim3 grid, Dim3 block,
                  const ProgramSettings& settings);
  /// All findings of the launches so far are in the journal.
  void mark_checked(const ProgramSettings& settings);
  /// The observer for the launches that are watched.
  emulator::Observer* selected(emulator::Observer* observer);
  void add(JournalFinding finding);
  /// Writes what changes with every launch: at the first, second, fourth ... launch and every
  /// second, so that a crash loses little and many launches cost little.
  void flush_if_due();
  void flush();

  std::mutex mutex;
  JournalWriter journal;
  LaunchNames names;
  bool is_watched = true;    ///< the launch that runs
  bool has_changed = false;  ///< a launch was not that of the run that is resumed
  std::map<std::string, std::uint64_t> launches_of;  ///< by kernel
  std::vector<std::unique_ptr<SelectedObserver>> watching;
  observe::CheckObserver checker;
  device::EmulatedDevice* device = nullptr;
  DetailObservers seen;
  std::unique_ptr<ScheduleRuns> schedules;  ///< if there are several

  std::uint64_t launches = 0;
  std::uint64_t reported = 0;            ///< of these, their findings are known
  std::vector<JournalFinding> findings;  ///< as in the journal, but for the counts
  std::vector<std::uint64_t> repeats;    ///< of each, not yet written
  std::uint64_t serious = 0;             ///< findings that are no notes
  JournalCounts counts;
  std::map<std::pair<const emulator::Program*, std::uint64_t>, std::size_t> kernels;
  Limitation limitation = Limitation::none;
  std::set<std::string> notes;
  std::map<HostCall, std::string> allocations;
  std::vector<std::map<HostCall, std::string>::const_pointer> first_calls;  ///< of these, in order
  std::uint64_t next_flush = 1;
  Clock::time_point flushed = Clock::now();
  bool is_finished = false;
};

void ProgramWatch::State::add(JournalFinding found) {
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const JournalFinding& known = findings[i];
    if (known.first != found.first || known.second != found.second ||
        known.finding.kernel != found.finding.kernel ||
        !observe::is_same_defect(known.finding, found.finding)) {
      continue;
    }
    repeats[i] += found.finding.count;
    return;
  }
  journal.finding(found);
  if (found.finding.severity != Severity::note) ++serious;
  findings.push_back(std::move(found));
  repeats.push_back(0);
}

void ProgramWatch::State::keep_findings(const std::vector<Finding>& found) {
  for (Finding finding : found) {
    finding.launch += reported;
    add({std::move(finding)});
  }
  reported = launches;
  if (checker.limitation() > limitation) {
    limitation = checker.limitation();
    journal.limitation(limitation);
  }
}

void ProgramWatch::State::keep_counts() {
  counts.sum += seen.counted();
  const std::pair key(names.program, names.block.count());
  const auto [at, is_new] = kernels.try_emplace(key, counts.kernels.size());
  if (is_new) {
    ExplainDetails::OfLaunch& of = counts.kernels.emplace_back(seen.all());
    of.blocks.resize(std::min<std::size_t>(of.blocks.size(), 1));  // the one that pages draw
  } else {
    add_launch(counts.kernels[at->second], seen.counted(), seen.samples(), seen.pipelines());
  }
}

void ProgramWatch::State::after_launch(const emulator::LaunchSummary& summary,
                                       const ProgramSettings& settings) {
  const std::lock_guard lock(mutex);
  JournalLaunch launch{.kernel = names.kernel,
                       .grid = names.grid,
                       .block = names.block,
                       .ran = summary_of(summary),
                       .totals = {},
                       .stack = pending.depth > 0 ? journal.stack(pending) : 0,
                       .is_watched = is_watched};
  const bool counts_it = is_watched && settings.mode == ProgramMode::explain;
  if (counts_it) {
    launch.totals = seen.counted().totals;
    launch.blocks_counted = seen.counted().blocks_counted;
    launch.spread = seen.counted().spread;
  }
  journal.launch(launch);
  if (counts_it) keep_counts();
  ++launches;
  ++launches_of[names.kernel];
  if (settings.mode == ProgramMode::check && settings.schedules < 2) {
    const bool is_whole = summary.end != emulator::LaunchEnd::seen_enough;
    keep_findings(is_watched ? checker.findings() : std::vector<Finding>{});
    if (is_whole) mark_checked(settings);
  }
  flush_if_due();
}

bool ProgramWatch::State::selects_next(const std::string& kernel,
                                       const ProgramSettings& settings) const {
  const auto of_kernel = launches_of.find(kernel);
  return selects(settings.launches, launches, kernel,
                 of_kernel == launches_of.end() ? 0 : of_kernel->second);
}

bool ProgramWatch::State::knows_next(const std::string& kernel, Dim3 grid, Dim3 block,
                                     const ProgramSettings& settings) {
  if (has_changed || launches >= settings.checked.size()) return false;
  if (settings.checked[launches] == digest_of(kernel, grid, block)) return true;
  has_changed = true;
  journal.changed_at(launches);
  return false;
}

void ProgramWatch::State::mark_checked(const ProgramSettings& settings) {
  if (!settings.resume.empty() && !cancelled) journal.checked(launches);
}

emulator::Observer* ProgramWatch::State::selected(emulator::Observer* observer) {
  watching.push_back(std::make_unique<SelectedObserver>(*observer, is_watched));
  return watching.back().get();
}

void ProgramWatch::State::flush_if_due() {
  if (launches < next_flush && Clock::now() - flushed < std::chrono::seconds(1)) return;
  if (launches >= next_flush) next_flush = 2 * launches;
  flush();
}

void ProgramWatch::State::flush() {
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    if (repeats[i] > 0) journal.repeated(i, std::exchange(repeats[i], 0));
  }
  if (!counts.kernels.empty()) journal.counts(counts);
  flushed = Clock::now();
}

ProgramWatch* ProgramWatch::instance() {
  // Never destroyed: the run time finishes it after the program's static objects are gone.
  static ProgramWatch* const watch = []() -> ProgramWatch* {
    const char* const path = std::getenv(program_variable);
    if (path == nullptr || *path == '\0') return nullptr;
    try {
      return new ProgramWatch(read_program_settings(path));
    } catch (const Error& error) {
      fmt::print(stderr, "tilescope: {}\n", error.what());
      ::_exit(error.exit_code());
    }
  }();
  return watch;
}

ProgramWatch::ProgramWatch(ProgramSettings settings)
    : settings_(std::move(settings)), state_(std::make_unique<State>(settings_)) {
  end_with_parent(settings_.watcher);
}

ProgramWatch::~ProgramWatch() = default;

void ProgramWatch::attach(device::EmulatedDevice& device) {
  State& state = *state_;
  device::EmulationOptions options{.max_instructions = settings_.max_instructions,
                                   .cancel = &cancelled,
                                   .progress = settings_.progress,
                                   .after_launch =
                                       [this, &state](const emulator::LaunchSummary& summary) {
                                         state.after_launch(summary, settings_);
                                         if (state.schedules) return;
                                         end_if_enough();
                                         end_if_cancelled();
                                       },
                                   .tolerant = tolerant()};
  options.observers = {&state.names};
  if (settings_.mode == ProgramMode::check) {
    options.observers.push_back(state.selected(&state.checker));
  }
  choose_launches(options);
  options.schedule = settings_.schedule.value_or(0);
  if (settings_.schedules > 1) {
    state.schedules = std::make_unique<ScheduleRuns>(
        state.checker, settings_.schedules,
        [this, &state](const std::vector<Finding>& found) {
          {
            const std::lock_guard lock(state.mutex);
            state.keep_findings(found);
            state.mark_checked(settings_);
          }
          end_if_enough();
          end_if_cancelled();
        },
        [this](const std::string& text) { note(text); });
    options.conduct = [this, &state, conduct = state.schedules->conductor()](
                          emulator::Machine& machine, const emulator::LaunchOptions& usual,
                          const device::LaunchOnce& once) {
      if (state.is_watched) return conduct(machine, usual, once);
      once(usual);
      {
        const std::lock_guard lock(state.mutex);
        state.keep_findings({});
      }
      end_if_cancelled();
    };
  }
  if (settings_.mode == ProgramMode::explain) {
    state.device = &device;
    for (emulator::Observer* observer : state.seen.wanted(settings_.pictures)) {
      options.observers.push_back(state.selected(observer));
    }
  }
  device.set_options(std::move(options));
  end_launches_on(SIGINT);
  end_launches_on(SIGTERM);
  const std::lock_guard lock(state.mutex);
  state.journal.device(device.id());
}

/// Says before each launch whether it is watched. With several orders the grids that a kernel
/// launches go with it, because they run again with it.
void ProgramWatch::choose_launches(device::EmulationOptions& options) {
  State& state = *state_;
  const auto choose = [this, &state](const std::string& kernel, Dim3 grid, Dim3 block) {
    const std::lock_guard lock(state.mutex);
    const bool is_known = state.knows_next(kernel, grid, block, settings_);
    state.is_watched = !is_known && state.selects_next(kernel, settings_);
  };
  options.before_launch = [choose](const Kernel& kernel, const Launch& launch) {
    choose(function_name(kernel.name()), launch.grid, launch.block);
  };
  if (settings_.schedules > 1) return;
  state.names.on_begin = [choose](const emulator::LaunchInfo& launch) {
    if (launch.child != 0) {
      choose(function_name(std::string(launch.kernel)), launch.grid, launch.block);
    }
  };
}

/// The launch is over, in all its orders.
void ProgramWatch::end_if_cancelled() {
  launching = false;
  if (!cancelled) return;
  finish();
  end_by(cancelled_by);
}

/// Ends the program when it has as many findings as are wanted.
void ProgramWatch::end_if_enough() {
  {
    const std::lock_guard lock(state_->mutex);
    if (settings_.max_findings == 0 || state_->serious < settings_.max_findings) return;
    state_->journal.enough(state_->checker.blocks_left_out());
  }
  finish();
  end_by(SIGTERM);
}

std::string ProgramWatch::allocation_name(const HostCall& call) {
  const std::lock_guard lock(state_->mutex);
  const auto [known, is_new] = state_->allocations.try_emplace(call);
  if (is_new) {
    known->second = fmt::format("{} {}", call.name, state_->allocations.size());
    state_->first_calls.push_back(&*known);
    state_->journal.allocation({known->second, state_->journal.stack(call)});
  }
  return known->second;
}

std::string ProgramWatch::in_source_words(std::string text) {
  Journal named;
  {
    const std::lock_guard lock(state_->mutex);
    for (const auto* const allocation : state_->first_calls) {
      const auto& [call, name] = *allocation;
      const auto id = static_cast<StackId>(named.stacks.size() + 1);
      named.stacks[id] = {call.name, addresses_of(call)};
      named.allocations.push_back({name, id});
    }
  }
  if (std::ranges::none_of(named.allocations, [&](const JournalAllocation& allocation) {
        return text.find(fmt::format("'{}'", allocation.name)) != text.npos;
      })) {
    return text;
  }
  for (const auto& [name, object] : object_names(named, host_places(named.stacks))) {
    const std::string quoted = fmt::format("'{}'", name);
    for (std::size_t at = text.find(quoted); at != text.npos; at = text.find(quoted, at + 1)) {
      text.replace(at, quoted.size(), fmt::format("'{}'", object.name));
    }
  }
  return text;
}

void ProgramWatch::before_launch(const HostCall& call) {
  pending = call;
  launching = true;
}

void ProgramWatch::before_read(DeviceAddress from, std::size_t bytes, const HostCall& call) {
  if (settings_.mode != ProgramMode::check || state_->names.memory == nullptr) return;
  const emulator::Allocation* memory = state_->names.memory->find(from, bytes);
  if (memory == nullptr || memory->kind() != emulator::AllocationKind::host) return;
  const std::uint64_t offset = from - memory->address();
  const std::uint64_t missing = bytes - memory->initialised_in(offset, bytes);
  if (missing == 0) return;
  std::uint64_t first = offset;
  while (memory->initialised(first, 1)) ++first;
  Finding finding;
  finding.kind = FindingKind::uncovered_elements;
  finding.memory = MemoryPlace{.address = memory->address() + first,
                               .object = memory->name(),
                               .object_bytes = memory->bytes(),
                               .offset = static_cast<std::int64_t>(first)};
  finding.facts = CoverageFacts{call.name, bytes, missing, first};
  report(std::move(finding), call);
}

void ProgramWatch::report(Finding finding, const HostCall& call, const HostCall* other) {
  if (settings_.mode != ProgramMode::check) return;
  std::unique_lock lock(state_->mutex);
  finding.severity = severity_of(finding.kind);
  finding.launch = state_->launches;
  if (other != nullptr) finding.second.emplace();
  const StackId first = state_->journal.stack(call);
  state_->add({std::move(finding), first, other == nullptr ? 0 : state_->journal.stack(*other)});
  lock.unlock();
  end_if_enough();
}

void ProgramWatch::note(const std::string& text) {
  const std::lock_guard lock(state_->mutex);
  if (state_->notes.insert(text).second) state_->journal.note(text);
}

void ProgramWatch::finish() {
  const std::lock_guard lock(state_->mutex);
  if (std::exchange(state_->is_finished, true)) return;
  state_->flush();
  state_->journal.finished();
}

}  // namespace tilescope::inspect
