#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <vector>

#include "report/formats/tool_formats.hpp"

namespace tilescope::report {
namespace {

/// `text` as XML's character data and attribute values. Bytes that XML cannot hold become '?'.
std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += byte < ' ' && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return out;
}

/// `text` with U+FFFD for bytes that are no UTF-8.
std::string valid_utf8(const std::string& text) {
  using Json = nlohmann::json;
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace))
      .get<std::string>();
}

/// "2026-01-31T12:00:00", UTC.
std::string time_stamp() {
  const char* const fixed = std::getenv("SOURCE_DATE_EPOCH");
  const std::time_t seconds = fixed ? std::strtoll(fixed, nullptr, 10) : std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return text;
}

/// One kernel or budget, with what was found there.
struct TestCase {
  std::string name;
  std::vector<const Annotation*> failures, remarks;
};

std::vector<TestCase> cases_of(const Outcome& outcome) {
  std::vector<TestCase> cases;
  const auto named = [&](const std::string& name) -> TestCase& {
    const auto found = std::find_if(cases.begin(), cases.end(),
                                    [&](const TestCase& one) { return one.name == name; });
    if (found != cases.end()) return *found;
    return cases.emplace_back(TestCase{name, {}, {}});
  };
  for (const std::string& name : outcome.cases) named(name);
  for (const Annotation& annotation : outcome.annotations) {
    TestCase& one = named(annotation.test_case);
    (annotation.fails ? one.failures : one.remarks).push_back(&annotation);
  }
  return cases;
}

std::string text_of(const std::vector<const Annotation*>& annotations, const Outcome& outcome) {
  std::string text;
  for (const Annotation* annotation : annotations) text += lines_of(*annotation, outcome);
  return text;
}

std::string failure_text(const TestCase& one, const Outcome& outcome) {
  const Annotation& first = *one.failures.front();
  const std::string more =
      one.failures.size() == 1 ? "" : fmt::format(" (and {} more)", one.failures.size() - 1);
  return fmt::format("      <failure type=\"{}\" message=\"{}{}\">{}</failure>\n", xml(first.kind),
                     xml(first.message), more, xml(text_of(one.failures, outcome)));
}

}  // namespace

std::string render_junit(const Outcome& outcome, const FormatContext& context) {
  const std::vector<TestCase> cases = cases_of(outcome);
  const std::string suite = xml("tilescope " + context.command);
  std::string body, remarks;
  std::size_t failures = 0;
  for (const TestCase& one : cases) {
    remarks += text_of(one.remarks, outcome);
    const std::string head = fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"0\"",
                                         xml(outcome.target), xml(one.name));
    if (one.failures.empty()) {
      body += head + "/>\n";
      continue;
    }
    ++failures;
    body += head + ">\n" + failure_text(one, outcome) + "    </testcase>\n";
  }
  const bool broken = !outcome.broken.empty();
  if (broken) {
    body += fmt::format(
        "    <testcase classname=\"{}\" name=\"complete run\" time=\"0\">\n"
        "      <error type=\"incomplete\" message=\"{}\"/>\n    </testcase>\n",
        xml(outcome.target), xml(outcome.broken));
  }
  const std::size_t tests = cases.size() + (broken ? 1 : 0);
  return valid_utf8(fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites>\n"
      "  <testsuite id=\"0\" package=\"tilescope\" name=\"{}\" timestamp=\"{}\" "
      "hostname=\"localhost\"\n"
      "      tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"0\">\n"
      "    <properties>\n      <property name=\"version\" value=\"{}\"/>\n    </properties>\n"
      "{}    <system-out>{}</system-out>\n    <system-err>{}</system-err>\n"
      "  </testsuite>\n</testsuites>\n",
      suite, time_stamp(), tests, failures, broken ? 1 : 0, xml(context.version), body,
      xml(outcome.foot), xml(remarks)));
}

}  // namespace tilescope::report
