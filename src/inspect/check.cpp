#include <algorithm>
#include <set>
#include <tilescope/check.hpp>
#include <tilescope/error.hpp>

#include "inspect/compiled_away.hpp"
#include "inspect/emulated_run.hpp"
#include "inspect/open_device.hpp"
#include "inspect/open_subject.hpp"
#include "inspect/program/program_results.hpp"
#include "inspect/results/finding_limit.hpp"
#include "inspect/results/schedule_runs.hpp"
#include "observe/check/check_observer.hpp"
#include "observe/findings.hpp"

namespace tilescope {
namespace {

bool is_ptx(const Target& target) {
  if (const auto* text = std::get_if<SourceText>(&target)) {
    return text->language == SourceLanguage::ptx;
  }
  const auto* file = std::get_if<SourceFile>(&target);
  return file && file->path.ends_with(".ptx");
}

std::string source_name(const Target& target) {
  const auto* text = std::get_if<SourceText>(&target);
  return text ? text->name : std::get<SourceFile>(target).path;
}

template <typename Function>
void for_each_access(std::vector<Finding>& findings, Function&& function) {
  for (Finding& finding : findings) {
    function(finding.first);
    if (finding.second) function(*finding.second);
  }
}

/// Runs the target and collects the findings of each launch.
void find_defects(inspect::EmulatedRun& run, const Target& target, std::uint64_t max_findings,
                  CheckResult& result) {
  const bool several = result.schedules > 1;
  observe::CheckObserver checker(several ? 0 : max_findings);  // in each order all are wanted
  LeftOut left_out;
  std::uint64_t reported = 0;  // launches
  const auto keep = [&](std::vector<Finding> findings) {
    for (Finding& finding : findings) {
      finding.launch += reported;
      result.findings.push_back(std::move(finding));
    }
    reported = result.ran.launches;
  };
  const auto note = [&](std::string text) {
    if (std::find(result.notes.begin(), result.notes.end(), text) == result.notes.end()) {
      result.notes.push_back(std::move(text));
    }
  };
  inspect::ScheduleRuns schedules(checker, result.schedules, keep, note);
  const auto after_launch = [&] {
    left_out.blocks = checker.blocks_left_out();
    if (!several) keep(checker.findings());
    if (!std::holds_alternative<LadderRung>(target)) {
      for (Finding& note :
           inspect::compiled_away(run.sources(), checker.kernel(), checker.shared_symbols())) {
        result.findings.push_back(std::move(note));
      }
    }
    result.limitation = std::max(result.limitation, checker.limitation());
  };
  const auto leaves_out = [&] {
    if (!inspect::reaches_limit(result.findings, max_findings)) return false;
    ++left_out.launches;
    return true;
  };
  run.launch({&checker}, {.after = after_launch,
                          .before = nullptr,
                          .leaves_out = leaves_out,
                          .schedules = several ? &schedules : nullptr});
  observe::fold(result.findings);
  if (is_ptx(target)) {  // without a line table it is its own source
    for_each_access(result.findings, [name = source_name(target)](FindingAccess& access) {
      if (access.place.line == 0) access.place = {name, access.ptx_line};
    });
  }
  if (std::holds_alternative<LadderRung>(target)) {
    // Rungs write nothing if there is nothing to write: a reversed list of one element.
    std::erase_if(result.findings, [](const Finding& finding) {
      return finding.kind == FindingKind::wrote_nothing;
    });
  }
  if (inspect::reaches_limit(result.findings, max_findings)) {
    left_out.findings = inspect::keep_first(result.findings, max_findings);
    const bool any = left_out.findings + left_out.blocks + left_out.launches != 0;
    if (any && result.complete()) result.ran.ending = Ending::found_enough;
  }
  if (result.ran.ending == Ending::found_enough) result.left_out = left_out;
}

}  // namespace

bool CheckResult::clean() const {
  return complete() && std::all_of(findings.begin(), findings.end(), [](const Finding& finding) {
           return finding.severity == Severity::note;
         });
}

CheckResult check(const Target& target, const LaunchDescription& launch,
                  const InspectOptions& options) {
  if (const auto* program = std::get_if<Program>(&target)) {
    inspect::require_no_launch(launch, program->files);
    return inspect::check_program(*program, *inspect::open_emulated(options.device), options);
  }
  if (!options.resume.empty()) {
    throw Error(ErrorKind::usage, "--resume is for programs: it continues behind a launch");
  }
  CheckResult result;
  result.schedules = options.schedule ? 1 : std::max<std::uint64_t>(1, options.schedules);
  inspect::EmulatedRun run(target, launch, options, result);
  try {
    run.require_launchable();
  } catch (const Error& error) {
    result.ran.ending = Ending::refused;
    result.ran.message = error.what();
    Finding& refusal = result.findings.emplace_back();
    refusal.kind = FindingKind::illegal_launch;
    refusal.facts = LaunchRefusal{error.what()};
    return result;
  }
  find_defects(run, target, options.max_findings, result);
  std::set<std::string> files;
  for_each_access(result.findings,
                  [&](const FindingAccess& access) { files.insert(access.place.file); });
  run.keep_sources(files);
  return result;
}

}  // namespace tilescope
