#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "report/formats/tool_formats.hpp"

namespace tilescope::report {
namespace {

using Json = nlohmann::ordered_json;

/// GitHub shows no more results of a run than these, and refuses longer texts of a rule.
constexpr std::size_t most_results = 5000, most_rule_text = 1000;

std::string percent_encoded(const std::string& path) {
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       std::string_view("-._~/+").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return out;
}

Json artifact_location(const std::string& file) {
  const std::string path = path_of(file);
  if (std::filesystem::path(path).is_absolute())
    return {{"uri", "file://" + percent_encoded(path)}};
  return {{"uri", percent_encoded(path)}, {"uriBaseId", "%SRCROOT%"}};
}

Json location_of(const AnnotatedPlace& place, const Outcome& outcome) {
  const std::string& file = place.file.empty() ? outcome.file : place.file;
  Json location = Json::object();
  if (!file.empty()) {
    location["physicalLocation"]["artifactLocation"] = artifact_location(file);
    if (place.line != 0) {
      Json& region = location["physicalLocation"]["region"];
      region = {{"startLine", place.line}, {"startColumn", column_of(place)}};
      if (!place.source.empty()) region["snippet"]["text"] = place.source;
    }
  }
  if (!place.text.empty()) location["message"]["text"] = place.text;
  return location;
}

/// Equal for the same finding in a file in which lines were added elsewhere: line numbers are no
/// part of it, the text of the lines is.
std::string fingerprint_of(const Annotation& annotation, const Outcome& outcome) {
  std::string text = annotation.kind + '\n' + annotation.kernel;
  for (const AnnotatedPlace& place : annotation.places) {
    text += '\n' + path_of(place.file.empty() ? outcome.file : place.file) + '\n';
    text += trim(place.source);
  }
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

class SarifRun {
 public:
  SarifRun(const Outcome& outcome, const FormatContext& context)
      : outcome_(outcome), context_(context) {}

  Json document() {
    std::vector<const Annotation*> chosen;
    for (const Annotation& annotation : outcome_.annotations) chosen.push_back(&annotation);
    const auto rank = [](const Annotation* a) {
      return a->severity == "error" ? 0 : a->severity == "warning" ? 1 : 2;
    };
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
    chosen.resize(std::min(chosen.size(), most_results));
    Json results = Json::array();
    for (const Annotation* annotation : chosen) results.push_back(result_of(*annotation));
    const Json driver = {{"name", "Tilescope"},
                         {"version", context_.version},
                         {"semanticVersion", context_.version},
                         {"rules", rules_}};
    const Json run = {{"tool", {{"driver", driver}}},
                      {"automationDetails", {{"id", "tilescope/" + context_.command + "/"}}},
                      {"invocations", Json::array({invocation(chosen.size())})},
                      {"columnKind", "unicodeCodePoints"},
                      {"results", results}};
    return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
            {"version", "2.1.0"},
            {"runs", Json::array({run})}};
  }

 private:
  std::size_t rule_of(const Annotation& annotation) {
    const auto [entry, is_new] = rule_numbers_.emplace(annotation.kind, rules_.size());
    if (is_new) {
      const std::string text = annotation.rule.substr(0, most_rule_text);
      rules_.push_back({{"id", annotation.kind},
                        {"shortDescription", {{"text", text}}},
                        {"help",
                         {{"text", text + " See \"" + annotation.kind + "\" in docs/" +
                                       context_.command + ".md of Tilescope."}}},
                        {"defaultConfiguration", {{"level", annotation.severity}}}});
    }
    return entry->second;
  }

  Json result_of(const Annotation& annotation) {
    std::string text = annotation.message;
    if (!annotation.cure.empty()) text += " Cure: " + annotation.cure;
    AnnotatedPlace place = annotation.places.front();
    place.text.clear();
    Json result = {{"ruleId", annotation.kind},
                   {"ruleIndex", rule_of(annotation)},
                   {"level", annotation.severity},
                   {"message", {{"text", text}}},
                   {"locations", Json::array({location_of(place, outcome_)})}};
    Json related = Json::array();
    for (const AnnotatedPlace& other : annotation.places) {
      if (other.text.empty()) continue;
      Json location = {{"id", related.size() + 1}};
      location.update(location_of(other, outcome_));
      related.push_back(std::move(location));
    }
    if (!related.empty()) result["relatedLocations"] = std::move(related);
    const std::string print = fingerprint_of(annotation, outcome_);
    result["partialFingerprints"]["tilescope/v1"] =
        fmt::format("{}:{}", print, ++fingerprints_[print]);
    if (!annotation.kernel.empty()) result["properties"]["kernel"] = annotation.kernel;
    return result;
  }

  Json invocation(std::size_t shown) const {
    Json notifications = Json::array();
    const auto notify = [&](const char* level, const std::string& text) {
      notifications.push_back({{"level", level}, {"message", {{"text", text}}}});
    };
    if (!outcome_.broken.empty()) notify("error", outcome_.broken);
    if (const std::size_t left_out = outcome_.annotations.size() - shown; left_out > 0) {
      notify("warning", fmt::format("{} more findings are left out; --json has all", left_out));
    }
    Json invocation = {{"executionSuccessful", outcome_.broken.empty()}};
    if (!notifications.empty()) invocation["toolExecutionNotifications"] = notifications;
    return invocation;
  }

  const Outcome& outcome_;
  const FormatContext& context_;
  Json rules_ = Json::array();
  std::map<std::string, std::size_t> rule_numbers_;
  std::map<std::string, int> fingerprints_;  ///< how often each occurred
};

}  // namespace

std::string render_sarif(const Outcome& outcome, const FormatContext& context) {
  return SarifRun(outcome, context).document().dump(2, ' ', false, Json::error_handler_t::replace) +
         '\n';
}

}  // namespace tilescope::report
