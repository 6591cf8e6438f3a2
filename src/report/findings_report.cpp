#include "report/findings_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/format.hpp"
#include "report/assumptions.hpp"
#include "report/inspection_outcome.hpp"
#include "report/program_report.hpp"
#include "report/race_figure.hpp"
#include "report/words/rules.hpp"
#include "report/words/wording.hpp"

namespace tilescope::report {
namespace {

/// Empty for a finding about no line. Host code without a line table has the name of a function, or
/// an address in a file.
std::string place_text(const FindingAccess& access) {
  if (access.place.line == 0 && access.ptx_line == 0) return access.place.file;
  if (access.place.line == 0) return fmt::format("line {} of the PTX", access.ptx_line);
  return fmt::format("{}:{}", access.place.file, access.place.line);
}

/// "called from k.cu:30, from k.cu:52": the nearest calls, if the line was inlined.
std::string calls_text(const FindingAccess& access) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, access.called_from.size()); ++i) {
    const SourcePlace& call = access.called_from[i];
    text += fmt::format("{} {}:{}", i == 0 ? "called from" : ", from", call.file, call.line);
  }
  return access.called_from.size() > most ? text + ", ..." : text;
}

/// The line, unless it is quoted already, and below it who did what.
Diagnostic::Place place_of(const FindingAccess& access, SourceTexts& sources, bool is_quoted) {
  Diagnostic::Place place{.text = place_text(access), .line = access.place.line};
  if (!is_quoted) place.quoted = sources.line(access.place.file, access.place.line);
  if (access.thread) {
    const std::string who = to_string(*access.thread), what = action(access);
    place.who = what.empty() ? who : what + ": " + who;
  }
  place.calls = calls_text(access);
  return place;
}

/// The same for other tools, which have no numbered lines of the PTX.
AnnotatedPlace annotated(const FindingAccess& access, SourceTexts& sources) {
  AnnotatedPlace place{.file = access.place.file,
                       .line = access.place.line,
                       .source = sources.line(access.place.file, access.place.line),
                       .text = place_of(access, sources, true).who};
  const auto append = [&](const std::string& words) {
    if (!words.empty()) place.text += (place.text.empty() ? "" : ", ") + words;
  };
  append(calls_text(access));
  if (place.line == 0 && access.ptx_line != 0) append(place_text(access));
  return place;
}

std::string sentence(std::string text) {
  if (!text.empty() && text.back() != '.' && text.back() != '?') text += '.';
  return text;
}

std::string what_happened(const Finding& finding) {
  std::string what = sentence(message(finding));
  if (finding.count > 1) what += fmt::format(" {} times in all.", format_count(finding.count));
  return what;
}

Record access_record(const FindingAccess& access, SourceTexts& sources) {
  Value thread;
  if (access.thread) {
    thread = Record{{"block", access.thread->block}, {"thread", access.thread->thread}};
  }
  std::vector<Record> calls;
  for (const SourcePlace& call : access.called_from) {
    calls.push_back({{"file", call.file}, {"line", call.line}});
  }
  return {{"file", access.place.file},
          {"line", access.place.line},
          {"ptx_line", access.ptx_line},
          {"source", sources.line(access.place.file, access.place.line)},
          {"action", action(access)},
          {"thread", std::move(thread)},
          {"called_from", std::move(calls)}};
}

/// The phase of an mbarrier that the finding is about.
Value phase_value(const Finding& finding) {
  const auto* phase = std::get_if<PhaseFacts>(&finding.facts);
  if (phase == nullptr) return {};
  return Record{{"barrier", phase->barrier},
                {"phase", phase->phase},
                {"expected_arrivals", phase->expected_arrivals},
                {"arrivals", phase->arrivals},
                {"expected_bytes", phase->expected_bytes},
                {"bytes", phase->bytes}};
}

Record finding_record(const Finding& finding, SourceTexts& sources) {
  Record record = access_record(finding.first, sources);
  record.set_all({{"kind", to_string(finding.kind)},
                  {"severity", to_string(finding.severity)},
                  {"kernel", finding.kernel},
                  {"launch", finding.launch},
                  {"address", finding.memory ? to_string(*finding.memory) : ""},
                  {"message", message(finding)},
                  {"cure", cure(finding)},
                  {"count", finding.count},
                  {"phase", phase_value(finding)},
                  {"other", Value()}});
  if (finding.second) record.set("other", access_record(*finding.second, sources));
  if (!finding.schedules.empty()) record.set("schedules", finding.schedules);
  return record;
}

/// Says in which of the schedules the finding appeared; empty if in all.
std::string schedules_sentence(const Finding& finding, std::uint64_t schedules) {
  if (finding.schedules.empty() || finding.schedules.size() >= schedules) return {};
  const std::uint64_t first = finding.schedules.front();
  std::string text = fmt::format(" In {} of {} schedules", finding.schedules.size(), schedules);
  return first == 0 ? text + ", the usual order among them."
                    : text + fmt::format(", first in schedule {0} (--schedule {0}).", first);
}

Diagnostic diagnostic(const Finding& finding, SourceTexts& sources, std::uint64_t schedules) {
  Diagnostic found{.severity = std::string(to_string(finding.severity)),
                   .kind = std::string(to_string(finding.kind)),
                   .where = place_text(finding.first),
                   .places = {place_of(finding.first, sources, false)},
                   .paragraphs = {}};
  if (finding.second) {
    const bool other_place = finding.second->place != finding.first.place;
    const bool same_file = finding.second->place.file == finding.first.place.file;
    found.places.push_back(place_of(*finding.second, sources, !other_place));
    if (other_place) {
      found.where += " and " + (same_file && finding.second->place.line != 0
                                    ? std::to_string(finding.second->place.line)
                                    : place_text(*finding.second));
    }
  }
  found.paragraphs.push_back(what_happened(finding) + schedules_sentence(finding, schedules));
  if (const std::string what_to_do = cure(finding); !what_to_do.empty()) {
    found.paragraphs.push_back("Cure: " + sentence(what_to_do));
  }
  return found;
}

Annotation annotation(const Finding& finding, const CheckResult& result, const CheckWishes& wishes,
                      SourceTexts& sources) {
  const bool fails = finding.severity == Severity::error ||
                     (finding.severity == Severity::warning && !wishes.allow_warnings);
  Annotation one{.severity = std::string(to_string(finding.severity)),
                 .fails = fails,
                 .kind = std::string(to_string(finding.kind)),
                 .rule = std::string(rule_of(finding.kind)),
                 .kernel = finding.kernel,
                 .test_case = test_case_of(result, finding.kernel),
                 .message = what_happened(finding),
                 .cure = sentence(cure(finding)),
                 .places = {annotated(finding.first, sources)}};
  if (finding.second) one.places.push_back(annotated(*finding.second, sources));
  return one;
}

/// "2 errors, 1 warning", or "no defects found, 1 note". A program that launched nothing has not
/// been found free of defects.
std::string foot_of(const CheckResult& result) {
  const std::vector<Finding>& findings = result.findings;
  std::string text;
  for (const Severity severity : {Severity::error, Severity::warning, Severity::note}) {
    const auto count = std::count_if(findings.begin(), findings.end(),
                                     [&](const Finding& f) { return f.severity == severity; });
    if (severity == Severity::note && text.empty()) {
      const bool none_ran = result.program && result.program->launches.empty();
      text = none_ran ? "no kernel was checked" : "no defects found";
    }
    if (count == 0) continue;
    text += (text.empty() ? "" : ", ") +
            counted(static_cast<std::uint64_t>(count), to_string(severity));
  }
  if (!result.guessed.empty()) {
    text += fmt::format(", with guesses for {}", fmt::join(result.guessed, ", "));
  }
  return text;
}

/// The last sentence: what was found, and in how much work.
std::string foot_sentence(const CheckResult& result) {
  std::string text = "{foot}; ";
  if (result.program) text += "{launches} launch{launches:es} of {kernels} kernel{kernels:s}, ";
  text += "{blocks} block{blocks:s}, {warp_instructions} warp instructions";
  if (result.schedules > 1) text += ", in {schedules} schedules";
  return text + (result.complete() ? "" : " (a part of the run)");
}

Record left_out_record(const CheckResult& result) {
  const LeftOut& rest = *result.left_out;
  return {{"findings", rest.findings},
          {"blocks", rest.blocks},
          {"launches", result.program ? Value() : Value(rest.launches)}};
}

/// The part that a limit of findings left out.
std::string left_out_sentence(const CheckResult& result) {
  const LeftOut& rest = *result.left_out;
  std::vector<std::string> parts;
  if (rest.findings != 0) parts.push_back(counted(rest.findings, "more finding"));
  if (rest.blocks != 0) parts.push_back(counted(rest.blocks, "block") + " of the last launch");
  if (rest.launches != 0) parts.push_back(counted(rest.launches, "launch"));
  if (result.program) parts.emplace_back("the rest of the program");
  return fmt::format("stopped after --max-findings; left out: {}", fmt::join(parts, ", "));
}

/// Lists what a project accepts, so that it is seen, and what it no longer needs to accept.
void add_suppressions(Page& page, const inspect::Suppressions& suppressions) {
  List list;
  for (const inspect::Suppression& one : suppressions.all()) {
    list.push_back(Record{{"suppression", one.name()}, {"reason", one.reason}, {"used", one.used}});
    page.add(Text{one.used == 0 ? fmt::format("not needed: the suppression of {} ({})", one.name(),
                                              one.reason)
                                : fmt::format("suppressed: {}: {} ({})",
                                              counted(one.used, "finding"), one.name(), one.reason),
                  0, 2});
  }
  page.data.set("suppressions", std::move(list));
}

}  // namespace

void add_findings(Page& page, const std::vector<Finding>& findings, SourceTexts& sources,
                  std::uint64_t schedules) {
  constexpr std::size_t most = 3;  // of a kind and variable
  std::map<std::pair<FindingKind, std::string>, std::vector<const Finding*>> groups;
  const auto key = [](const Finding& f) {
    return std::pair(f.kind, f.memory ? object_name(*f.memory) : std::string());
  };
  for (const Finding& finding : findings) groups[key(finding)].push_back(&finding);
  for (const Finding& finding : findings) {
    const std::string object = key(finding).second;
    const auto& group = groups[key(finding)];
    // A group of one more than is shown is shown whole.
    const std::size_t shown = group.size() <= most + 1 ? group.size() : most;
    const auto at =
        static_cast<std::size_t>(std::find(group.begin(), group.end(), &finding) - group.begin());
    if (at < shown) page.add(diagnostic(finding, sources, schedules));
    if (at != shown) continue;
    const std::string about = object.empty() ? "" : " about " + object;
    std::string lines;
    for (std::size_t i = shown; i < group.size(); ++i) {
      lines += (i == shown ? "" : ", ") + std::to_string(group[i]->first.place.line);
      if (group[i]->second) lines += " and " + std::to_string(group[i]->second->place.line);
    }
    page.add(Text{fmt::format("{} more of kind {}{}, in lines {} (--json has all)",
                              group.size() - shown, to_string(finding.kind), about, lines)});
    page.gap();
  }
}

Page check_page(const CheckResult& result, const CheckWishes& wishes) {
  SourceTexts sources(result.sources);
  Page page("check");
  page.outcome = outcome_of(result);
  page.outcome.file = wishes.file;
  List reports;
  for (const Finding& finding : result.findings) {
    reports.push_back(finding_record(finding, sources));
    page.outcome.annotations.push_back(annotation(finding, result, wishes, sources));
  }
  page.data = {{"target", result.target},
               {"device", result.device},
               {"complete", result.complete()},
               {"limitation", message(result.limitation)},
               {"launches", result.ran.launches},
               {"blocks", result.ran.blocks},
               {"warp_instructions", result.ran.warp_instructions},
               {"reports", std::move(reports)}};
  if (result.schedules > 1) page.data.set("schedules", result.schedules);
  if (result.program) page.data.set_all(program_record(*result.program));
  page.data.set_all(assumptions(result));
  page.data.let("foot", foot_of(result));
  if (wishes.pictures) add_finding_figures(page, result.findings, sources);
  page.say("check {target} on {device}" + guesses(result));
  add_findings(page, result.findings, sources, result.schedules);
  if (wishes.suppressions) add_suppressions(page, *wishes.suppressions);
  if (result.ran.ending == Ending::refused) {
    page.say("{foot}");
    return page;
  }
  if (result.limitation != Limitation::none) page.say("{limitation}");
  if (result.ran.ending == Ending::interrupted) page.say("interrupted: the findings so far");
  if (result.left_out) {
    page.data.set("left_out", left_out_record(result));
    page.say(left_out_sentence(result));
  } else if (result.program) {
    if (const std::string end = end_in_words(*result.program); !end.empty()) {
      page.add(Text{end});
    }
  }
  if (result.program && result.program->checked_before != 0) {
    page.data.set("checked_before", result.program->checked_before);
    page.say(
        "the first {checked_before} launches were checked by the run before; their memory "
        "counts as initialised");
  }
  if (result.program && !result.program->watched.empty()) {
    page.add(Text{watched_sentence(*result.program)});
  }
  page.say(foot_sentence(result));
  page.outcome.foot = page.data.fill(foot_sentence(result));
  return page;
}

}  // namespace tilescope::report
