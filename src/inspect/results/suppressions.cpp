#include "inspect/results/suppressions.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/json_object.hpp"
#include "base/text.hpp"

namespace tilescope::inspect {
namespace {

using Json = nlohmann::json;

constexpr FindingKind last_kind = FindingKind::uncovered_elements;

class SuppressionFile {
 public:
  explicit SuppressionFile(const std::string& path) : origin_(tilescope::quoted(path)) {
    document_ = parse_json_object(read_text_file(path, std::uint64_t{1} << 24U), origin_);
    require_keys(document_, {"suppress", "severity"});
  }

  std::vector<Suppression> suppressions() const {
    std::vector<Suppression> read;
    const auto list = document_.find("suppress");
    if (list == document_.end()) return read;
    if (!list->is_array()) refuse("\"suppress\": expected a list");
    for (const Json& item : *list) read.push_back(suppression(item));
    return read;
  }

  std::map<FindingKind, Severity> severities() const {
    std::map<FindingKind, Severity> read;
    const auto object = document_.find("severity");
    if (object == document_.end()) return read;
    if (!object->is_object()) refuse("\"severity\": expected kinds and their severities");
    for (const auto& [kind, word] : object->items()) {
      const FindingKind of = kind_of(kind);
      bool known = false;
      for (const Severity severity : {Severity::error, Severity::warning, Severity::note}) {
        if (word != to_string(severity)) continue;
        read[of] = severity;
        known = true;
      }
      if (!known) refuse(fmt::format("\"{}\": expected error, warning or note", kind));
    }
    return read;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw input_error("{}: {}", origin_, why);
  }

  void require_keys(const Json& object, const std::vector<std::string_view>& keys) const {
    for (const auto& [key, unused] : object.items()) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      refuse(fmt::format("unknown key \"{}\"; the keys are {}", printable(key, 60),
                         fmt::join(keys, ", ")));
    }
  }

  std::string text(const Json& object, const char* key) const {
    const auto found = object.find(key);
    if (found == object.end()) return {};
    if (!found->is_string()) refuse(fmt::format("\"{}\": expected text", key));
    return found->get<std::string>();
  }

  FindingKind kind_of(const std::string& name) const {
    std::vector<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(last_kind); ++i) {
      names.push_back(to_string(static_cast<FindingKind>(i)));
      if (names.back() == name) return static_cast<FindingKind>(i);
    }
    const std::string_view near = nearest(name, names);
    refuse(fmt::format("there is no kind \"{}\"{}", printable(name, 60),
                       near.empty() ? "" : fmt::format(", did you mean {}?", near)));
  }

  Suppression suppression(const Json& item) const {
    if (!item.is_object()) refuse("\"suppress\": expected a list of {\"kind\", \"reason\", ...}");
    require_keys(item, {"kind", "kernel", "place", "reason"});
    Suppression read{.kind = kind_of(text(item, "kind")),
                     .kernel = text(item, "kernel"),
                     .file = text(item, "place"),
                     .reason = text(item, "reason")};
    if (trim(read.reason).empty()) {
      refuse(fmt::format("{} is suppressed without a \"reason\"; say why", to_string(read.kind)));
    }
    const std::size_t colon = read.file.rfind(':');
    if (colon == std::string::npos) return read;
    const char* const end = read.file.data() + read.file.size();
    const auto [stop, error] = std::from_chars(read.file.data() + colon + 1, end, read.line);
    if (error != std::errc() || stop != end || read.line == 0) {
      refuse(fmt::format("\"place\": expected FILE or FILE:LINE, got {}",
                         tilescope::quoted(read.file)));
    }
    read.file.resize(colon);
    return read;
  }

  std::string origin_;
  Json document_;
};

bool takes_place(const Suppression& suppression, const FindingAccess& access) {
  const std::string &file = access.place.file, &given = suppression.file;
  const bool is_named = file == given || file.ends_with('/' + given);
  return is_named && (suppression.line == 0 || suppression.line == access.place.line);
}

bool takes(const Suppression& suppression, const Finding& finding) {
  if (suppression.kind != finding.kind) return false;
  if (!suppression.kernel.empty() && suppression.kernel != finding.kernel) return false;
  return suppression.file.empty() || takes_place(suppression, finding.first) ||
         (finding.second && takes_place(suppression, *finding.second));
}

}  // namespace

std::string Suppression::name() const {
  std::string text(to_string(kind));
  if (!kernel.empty()) text += " in " + kernel;
  if (!file.empty()) text += " at " + file;
  if (line != 0) text += fmt::format(":{}", line);
  return text;
}

Suppressions::Suppressions(const std::string& path) {
  const SuppressionFile file(path);
  suppressions_ = file.suppressions();
  severities_ = file.severities();
}

void Suppressions::apply(CheckResult& result) {
  std::erase_if(result.findings, [&](const Finding& finding) {
    const auto taker = std::find_if(suppressions_.begin(), suppressions_.end(),
                                    [&](const Suppression& one) { return takes(one, finding); });
    if (taker == suppressions_.end()) return false;
    ++taker->used;
    return true;
  });
  for (Finding& finding : result.findings) {
    const auto chosen = severities_.find(finding.kind);
    if (chosen != severities_.end()) finding.severity = chosen->second;
  }
}

}  // namespace tilescope::inspect
