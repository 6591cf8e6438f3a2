#include "inspect/program/program_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <span>
#include <tilescope/error.hpp>
#include <utility>

#include "base/file.hpp"
#include "inspect/program/launch_selection.hpp"
#include "inspect/program/object_names.hpp"
#include "inspect/program/program_process.hpp"
#include "inspect/program/resumed_check.hpp"
#include "inspect/results/finding_limit.hpp"
#include "inspect/results/run_summary.hpp"
#include "observe/findings.hpp"

namespace tilescope::inspect {
namespace {

/// Puts the source's lines and names in the place of the journal's numbers.
class SourceWords {
 public:
  explicit SourceWords(const Journal& journal)
      : places_(host_places(journal.stacks)), names_(object_names(journal, places_)) {}

  SourcePlace place(StackId stack) const {
    return stack == 0 ? SourcePlace{} : places_.at(stack).front();
  }
  static void name_place(SourcePlace& place) { place.file = short_path(place.file); }
  static void name_places(FindingAccess& access) {
    name_place(access.place);
    for (SourcePlace& call : access.called_from) name_place(call);
  }
  void name_object(std::string& object) const {
    const auto known = names_.find(object);
    if (known != names_.end()) object = known->second.name;
  }

  Finding finding(const JournalFinding& found) const {
    Finding finding = found.finding;
    name_places(finding.first);
    if (found.first != 0) finding.first.place = place(found.first);
    if (finding.second) name_places(*finding.second);
    if (finding.second && found.second != 0) finding.second->place = place(found.second);
    if (!finding.memory) return finding;
    if (auto* coverage = std::get_if<CoverageFacts>(&finding.facts)) {
      count_elements(*finding.memory, *coverage);
    }
    name_object(finding.memory->object);
    return finding;
  }

  void counts(LaunchCounts& counts) const {
    for (LineCounts& line : counts.lines) name_place(line.place);
    for (BufferTraffic& buffer : counts.footprint) name_object(buffer.name);
  }

  void details(ExplainDetails::OfLaunch& of) const {
    counts(of.counted);
    for (observe::InstructionCount& count : of.counted.instructions) name_place(count.place);
    for (std::vector<observe::LaneSample>* samples : {&of.samples, &of.rounds}) {
      for (observe::LaneSample& sample : *samples) {
        name_place(sample.place);
        name_object(sample.object);
      }
    }
    for (Pipeline& pipeline : of.pipelines) {
      name_place(pipeline.issue);
      name_place(pipeline.wait);
    }
    for (observe::CourseOfBlock& block : of.blocks) {
      for (std::vector<observe::WarpSpan>& warp : block.warps) {
        for (observe::WarpSpan& span : warp) name_place(span.place);
      }
    }
    for (observe::CodeLine& code : of.code) name_place(code.place);
  }

 private:
  /// The run time knows bytes, the source elements.
  void count_elements(MemoryPlace& memory, CoverageFacts& coverage) const {
    const auto known = names_.find(memory.object);
    if (known == names_.end()) return;
    const std::uint32_t size = known->second.element_bytes;
    if (size == 0) return;
    memory.element_bytes = size;
    coverage.elements /= size;
    coverage.missing /= size;
    coverage.first_missing /= size;
  }

  HostPlaces places_;
  std::map<std::string, ObjectName> names_;
};

std::string title_of(const Program& program) {
  std::string title;
  for (const std::string& file : program.files) title += (title.empty() ? "" : " ") + file;
  return title;
}

/// The part that all three results have.
ProgramRun take_run(const WatchedRun& run, const SourceWords& words, Inspection& result) {
  ProgramRun program{.exit_code = run.end.code, .signal = run.end.signal};
  for (const JournalLaunch& launch : run.journal.launches) {
    add(result.ran, launch.ran);
    program.launches.push_back({.kernel = launch.kernel,
                                .grid = launch.grid,
                                .block = launch.block,
                                .place = words.place(launch.stack),
                                .blocks = launch.ran.blocks,
                                .warp_instructions = launch.ran.warp_instructions,
                                .is_watched = launch.is_watched});
  }
  if (run.journal.enough) {
    result.ran.ending = Ending::found_enough;
  } else if (run.end.signal == SIGINT || run.end.signal == SIGTERM) {
    result.ran.ending = Ending::interrupted;
  } else if (run.end.signal != 0) {
    result.ran.ending = Ending::killed;
  }
  result.notes = run.journal.notes;
  return program;
}

/// The journal is for what only one of the results has.
struct Watched {
  Journal journal;
  SourceWords words;
  std::vector<Journal> earlier;
};

/// Runs the program and takes what all results have.
Watched watch(const Program& program, const Device& device, ProgramSettings settings,
              bool output_to_stderr, const InspectOptions& options, Inspection& result) {
  if (options.phases) {
    throw Error(ErrorKind::usage, "--phases is for one kernel, with --grid and --block");
  }
  result.target = title_of(program);
  result.device = device.id();
  result.properties = device.properties();
  settings.max_instructions = options.max_instructions;
  settings.launches = options.launches;
  settings.progress = options.progress;
  WatchedRun run = run_watched(program, device, settings, output_to_stderr, options.before_launch);
  if (settings.mode != ProgramMode::run && run.journal.launches.empty()) {
    run.journal.notes.emplace_back(
        run.journal.device.empty()
            ? "no launch was seen: the program did not call the shared CUDA run time"
            : "no launch was seen: the program launched no kernel; --kernel, --grid, --block and "
              "--arg run one without main()");
  }
  SourceWords words(run.journal);
  result.program = take_run(run, words, result);
  result.program->watched = options.launches;
  // A program that was ended early may not have come to all of them.
  if (run.end.signal == 0) {
    result.program->absent = absent_launches(options.launches, result.program->launches);
  }
  // Findings about other launches are shown before the command fails.
  if (std::ranges::none_of(run.journal.launches, &JournalLaunch::is_watched)) {
    require_selected(result);
  }
  return {std::move(run.journal), std::move(words), std::move(run.earlier)};
}

Finding launch_finding(const JournalFinding& found, const SourceWords& words) {
  Finding finding = words.finding(found);
  // A kernel of a program may have nothing to do in a launch.
  if (finding.kind == FindingKind::wrote_nothing) finding.severity = Severity::note;
  return finding;
}

/// Adds what earlier runs know of launches that this one did not watch, and leaves the file only if
/// there is something left to do.
void resume(const Watched& run, const std::string& path, CheckResult& result) {
  std::vector<Journal> journals = run.earlier;
  journals.push_back(run.journal);
  const std::vector<CheckedRun> runs = checked_runs(std::move(journals));
  const CheckedRun& last = runs.back();
  result.program->checked_before = last.first;
  for (const CheckedRun& earlier : std::span(runs).first(runs.size() - 1)) {
    const SourceWords words(earlier.journal);
    for (const JournalFinding& found : earlier.journal.findings) {
      const bool is_of_host = found.first != 0;  // the whole host code has run again
      const std::uint64_t launch = found.finding.launch;
      if (is_of_host || launch < earlier.first || launch >= earlier.last) continue;
      result.findings.push_back(launch_finding(found, words));
    }
    result.limitation = std::max(result.limitation, earlier.journal.limitation);
    const auto& launches = earlier.journal.launches;
    for (std::uint64_t i = earlier.first;
         i < std::min<std::uint64_t>(earlier.last, launches.size()); ++i) {
      if (i < result.program->launches.size()) {
        result.program->launches[i].is_watched = launches[i].is_watched;
      }
    }
  }
  if (last.journal.changed_at) {
    result.notes.push_back(
        fmt::format("launch {} was another one in the earlier run; from there on launches were "
                    "checked again",
                    *last.journal.changed_at));
  }
  if (result.program->signal == 0) {
    std::filesystem::remove(path);
  } else if (last.last > 0) {
    result.notes.push_back(fmt::format(
        "{} keeps what is known of the first {} launches; the same command goes on behind them",
        quoted(path), last.last));
  }
}

/// Launches that nobody watched fail without a finding, and the program goes on.
void note_unwatched_failures(const Journal& journal, CheckResult& result) {
  constexpr std::uint64_t most = 3;
  std::uint64_t failed = 0;
  for (std::size_t i = 0; i < journal.launches.size(); ++i) {
    const JournalLaunch& launch = journal.launches[i];
    const RunSummary& ran = launch.ran;
    const bool gave_up = ran.ending == Ending::trapped || ran.ending == Ending::unfinished;
    if (result.program->launches[i].is_watched) continue;
    if (ran.faults == 0 && ran.deadlocked_blocks == 0 && !gave_up) continue;
    if (++failed > most) continue;
    const std::string what = ran.faults == 1 ? "a faulty access was left out"
                             : ran.faults > 1
                                 ? fmt::format("{} faulty accesses were left out", ran.faults)
                                 : ran.message;
    result.notes.push_back(
        fmt::format("launch {}, {}, failed and was not watched: {}; --launches {} says more", i,
                    launch.kernel, what, i));
  }
  if (failed > most) {
    result.notes.push_back(fmt::format("{} more launches failed unwatched", failed - most));
  }
}

}  // namespace

CheckResult check_program(const Program& program, const Device& device,
                          const InspectOptions& options) {
  CheckResult result;
  result.schedules = options.schedule ? 1 : std::max<std::uint64_t>(1, options.schedules);
  const ProgramSettings settings{.mode = ProgramMode::check,
                                 .max_findings = options.max_findings,
                                 .schedules = result.schedules,
                                 .schedule = options.schedule,
                                 .resume = options.resume};
  const Watched run = watch(program, device, settings, true, options, result);
  const Journal& journal = run.journal;
  for (const JournalFinding& found : journal.findings) {
    result.findings.push_back(launch_finding(found, run.words));
  }
  result.limitation = journal.limitation;
  if (!options.resume.empty()) resume(run, options.resume, result);
  if (!options.launches.empty()) note_unwatched_failures(journal, result);
  observe::fold(result.findings);
  if (journal.enough) {
    result.left_out = LeftOut{.findings = keep_first(result.findings, options.max_findings),
                              .blocks = *journal.enough};
  }
  return result;
}

ExplainResult explain_program(const Program& program, const Device& device,
                              const InspectOptions& options) {
  ExplainResult result;
  auto [journal, words, earlier] =
      watch(program, device,
            {.mode = ProgramMode::explain, .blocks = options.blocks, .pictures = options.pictures},
            true, options, result);
  result.sample = options.blocks;
  for (const JournalLaunch& launch : journal.launches) {
    result.launches.push_back({.kernel = launch.kernel,
                               .grid = launch.grid,
                               .block = launch.block,
                               .totals = launch.totals,
                               .lines = {},
                               .footprint = {},
                               .blocks_counted = launch.blocks_counted,
                               .blocks = launch.is_watched ? launch.grid.count() : 0,
                               .spread = launch.spread});
  }
  result.counts = std::move(journal.counts.sum);
  words.counts(result.counts);
  const auto details = std::make_shared<ExplainDetails>();
  details->launches = std::move(journal.counts.kernels);
  for (ExplainDetails::OfLaunch& of : details->launches) words.details(of);
  result.details = details;
  result.pipelines = details->pipelines();
  return result;
}

RunResult run_program(const Program& program, const Device& device, const InspectOptions& options) {
  if (options.trace && device.kind() != DeviceKind::emulated) {
    throw Error(ErrorKind::usage,
                fmt::format("--trace: on {} the launches of a program are not seen; use "
                            "--device emulated",
                            device.id()));
  }
  RunResult result;
  watch(program, device, {.mode = ProgramMode::run}, program.output_to_stderr, options, result);
  return result;
}

}  // namespace tilescope::inspect
