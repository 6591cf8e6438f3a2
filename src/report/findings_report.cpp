#include "report/findings_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/format.hpp"
#include "report/text/wrap.hpp"
#include "report/words/wording.hpp"

namespace tilescope::report {
namespace {

/// Empty for a finding about no line.
std::string place_text(const FindingAccess& access) {
  if (access.place.line == 0 && access.ptx_line == 0) return "";
  if (access.place.line == 0) return fmt::format("line {} of the PTX", access.ptx_line);
  return fmt::format("{}:{}", access.place.file, access.place.line);
}

/// "        write of 4 bytes: block (0,0,0), thread (1,0,0)"; empty if there is nothing to report.
std::string actor_text(const FindingAccess& access) {
  if (!access.thread) return {};
  const std::string who = to_string(*access.thread);
  const std::string what = action(access);
  return fmt::format("        {}\n", what.empty() ? who : what + ": " + who);
}

/// "   12 | source text" and below it the thread and its action.
std::string access_text(const FindingAccess& access, SourceTexts& sources) {
  std::string text;
  const std::string quoted = sources.line(access.place.file, access.place.line);
  if (!quoted.empty()) {
    constexpr std::size_t margin = 8;
    text +=
        fmt::format("{:>5} | {}\n", access.place.line, clipped(quoted, terminal_columns - margin));
  }
  return text + actor_text(access);
}

std::string paragraph(std::string_view text) {
  return "  " + hang(text, 2, terminal_columns - 2) + '\n';
}

std::string sentence(std::string text) {
  if (!text.empty() && text.back() != '.' && text.back() != '?') text += '.';
  return text;
}

nlohmann::json thread_json(const std::optional<ThreadName>& name) {
  if (!name) return nullptr;
  return {{"block", {name->block.x, name->block.y, name->block.z}},
          {"thread", {name->thread.x, name->thread.y, name->thread.z}}};
}

nlohmann::json access_json(const FindingAccess& access, SourceTexts& sources) {
  return {
      {"file", access.place.file},   {"line", access.place.line},
      {"ptx_line", access.ptx_line}, {"source", sources.line(access.place.file, access.place.line)},
      {"action", action(access)},    {"thread", thread_json(access.thread)}};
}

}  // namespace

std::string finding_text(const Finding& finding, SourceTexts& sources) {
  std::string place = place_text(finding.first);
  const bool other_place = finding.second && finding.second->place != finding.first.place;
  if (other_place) {
    const bool same_file = finding.second->place.file == finding.first.place.file;
    place += " and " + (same_file && finding.second->place.line != 0
                            ? std::to_string(finding.second->place.line)
                            : place_text(*finding.second));
  }
  std::string text = fmt::format("{}: {}{}\n", to_string(finding.severity), to_string(finding.kind),
                                 place.empty() ? "" : " at " + place);
  text += access_text(finding.first, sources);
  // Does not quote the same line twice.
  if (finding.second) {
    text += other_place ? access_text(*finding.second, sources) : actor_text(*finding.second);
  }
  std::string what = sentence(message(finding));
  if (finding.count > 1) what += fmt::format(" {} times in all.", format_count(finding.count));
  text += paragraph(what);
  if (const std::string what_to_do = cure(finding); !what_to_do.empty()) {
    text += paragraph("Cure: " + sentence(what_to_do));
  }
  return text;
}

std::string findings_text(const std::vector<Finding>& findings, SourceTexts& sources) {
  constexpr std::size_t most = 3;  // for a kind and variable
  std::map<std::pair<FindingKind, std::string>, std::vector<const Finding*>> groups;
  const auto key = [](const Finding& f) {
    return std::pair(f.kind, f.memory ? object_name(*f.memory) : std::string());
  };
  for (const Finding& finding : findings) groups[key(finding)].push_back(&finding);
  std::string text;
  for (const Finding& finding : findings) {
    const std::string object = key(finding).second;
    const auto& group = groups[key(finding)];
    // Shows a group completely if it has only one more than the limit.
    const std::size_t shown = group.size() <= most + 1 ? group.size() : most;
    const auto at =
        static_cast<std::size_t>(std::find(group.begin(), group.end(), &finding) - group.begin());
    if (at < shown) text += finding_text(finding, sources) + '\n';
    if (at != shown) continue;
    const std::string about = object.empty() ? "" : " about " + object;
    std::string lines;
    for (std::size_t i = shown; i < group.size(); ++i) {
      lines += (i == shown ? "" : ", ") + std::to_string(group[i]->first.place.line);
      if (group[i]->second) lines += " and " + std::to_string(group[i]->second->place.line);
    }
    text += hang(fmt::format("{} more of kind {}{}, in lines {} (--json has all)",
                             group.size() - shown, to_string(finding.kind), about, lines),
                 0, terminal_columns) +
            "\n\n";
  }
  return text;
}

std::string findings_foot(const std::vector<Finding>& findings) {
  if (findings.empty()) return "no defects found";
  const auto errors = static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [](const Finding& f) { return f.severity == Severity::error; }));
  const std::size_t warnings = findings.size() - errors;
  if (warnings == 0) return counted(errors, "error");
  if (errors == 0) return counted(warnings, "warning");
  return counted(errors, "error") + ", " + counted(warnings, "warning");
}

nlohmann::json findings_json(const std::vector<Finding>& findings, SourceTexts& sources) {
  nlohmann::json list = nlohmann::json::array();
  for (const Finding& finding : findings) {
    nlohmann::json report = access_json(finding.first, sources);
    report["kind"] = to_string(finding.kind);
    report["severity"] = to_string(finding.severity);
    report["kernel"] = finding.kernel;
    report["launch"] = finding.launch;
    report["address"] = finding.memory ? to_string(*finding.memory) : "";
    report["message"] = message(finding);
    report["cure"] = cure(finding);
    report["count"] = finding.count;
    report["other"] = finding.second ? access_json(*finding.second, sources) : nlohmann::json();
    list.push_back(std::move(report));
  }
  return list;
}

}  // namespace tilescope::report
