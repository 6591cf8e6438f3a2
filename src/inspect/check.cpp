#include <algorithm>
#include <set>
#include <tilescope/check.hpp>
#include <tilescope/error.hpp>

#include "inspect/compiled_away.hpp"
#include "inspect/emulated_run.hpp"
#include "inspect/open_device.hpp"
#include "inspect/open_subject.hpp"
#include "inspect/program/program_results.hpp"
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
void find_defects(inspect::EmulatedRun& run, const Target& target, CheckResult& result) {
  observe::CheckObserver checker;
  run.launch({&checker}, [&] {
    for (Finding finding : checker.findings()) {
      finding.launch = result.ran.launches - 1;
      result.findings.push_back(std::move(finding));
    }
    if (!std::holds_alternative<LadderRung>(target)) {
      for (Finding& note :
           inspect::compiled_away(run.sources(), checker.kernel(), checker.shared_symbols())) {
        result.findings.push_back(std::move(note));
      }
    }
    result.limitation = std::max(result.limitation, checker.limitation());
  });
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
  CheckResult result;
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
  find_defects(run, target, result);
  std::set<std::string> files;
  for_each_access(result.findings,
                  [&](const FindingAccess& access) { files.insert(access.place.file); });
  run.keep_sources(files);
  return result;
}

}  // namespace tilescope
