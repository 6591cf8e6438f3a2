#include "report/compare/snapshot.hpp"

#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/json_object.hpp"
#include "base/text.hpp"
#include "report/json/json_renderer.hpp"

namespace tilescope::report {
namespace {

using Json = nlohmann::json;

/// The reading of one document; what is missing is empty, what is of another type is refused.
class SnapshotReader {
 public:
  explicit SnapshotReader(const std::string& origin) : origin_(origin) {}

  std::string text(const Json& object, const char* key) const {
    const Json& value = member(object, key);
    if (value.is_null()) return {};
    if (!value.is_string()) refuse(key);
    return value.get<std::string>();
  }

  /// A device is a name, or an object with its `id`.
  std::string device(const Json& object) const {
    const Json& value = member(object, "device");
    return value.is_object() ? text(value, "id") : text(object, "device");
  }

  std::uint64_t line(const Json& object) const {
    const Json& value = member(object, "line");
    if (value.is_null()) return 0;
    if (!value.is_number_unsigned()) refuse("line");
    return value.get<std::uint64_t>();
  }

  const Json& list(const Json& object, const char* key) const {
    static const Json none = Json::array();
    const Json& value = member(object, key);
    if (value.is_null()) return none;
    if (!value.is_array()) refuse(key);
    for (const Json& item : value) {
      if (!item.is_object()) refuse(key);
    }
    return value;
  }

  /// All numbers of `object` but line numbers.
  static void add_counters(Counters& counters, const Json& object) {
    if (!object.is_object()) return;
    for (const auto& [key, value] : object.items()) {
      if (value.is_number() && key != "line" && key != "version") counters[key] = value;
    }
  }

  [[noreturn]] void refuse(std::string_view key) const {
    throw input_error("{}: \"{}\" is not as tilescope writes it", origin_, key);
  }

  static const Json& member(const Json& object, const char* key) {
    static const Json null;
    const auto found = object.find(key);
    return found == object.end() ? null : *found;
  }

 private:
  const std::string& origin_;
};

}  // namespace

std::string SnapshotFinding::key() const {
  std::string text;
  for (const std::string& part : {kind, kernel, file, source, other_source}) {
    text += trim(part);
    text += '\n';
  }
  return text;
}

Snapshot snapshot_of(const Json& document, const std::string& origin) {
  const SnapshotReader reader(origin);
  if (!document.is_object() || !document.contains("command")) reader.refuse("command");
  const Json& version = SnapshotReader::member(document, "version");
  if (version != json_version) {
    throw input_error("{}: version {} of the report is needed, this is {}", origin, json_version,
                      printable(version.dump(), 40));
  }
  Snapshot shot{.origin = origin,
                .command = reader.text(document, "command"),
                .target = reader.text(document, "target"),
                .device = reader.device(document),
                .complete = SnapshotReader::member(document, "complete") == true};
  if (shot.command != "explain" && shot.command != "check") {
    throw input_error("{}: a report of explain or check is needed, this is of {}", origin,
                      printable(shot.command, 40));
  }
  if (document.contains("error")) {
    throw input_error("{}: the run failed, its report has no results", origin);
  }
  SnapshotReader::add_counters(shot.totals, document);
  SnapshotReader::add_counters(shot.totals, SnapshotReader::member(document, "totals"));
  for (const Json& line : reader.list(document, "lines")) {
    SnapshotLine& read = shot.lines.emplace_back();
    read.file = reader.text(line, "file");
    read.source = reader.text(line, "source");
    read.line = reader.line(line);
    SnapshotReader::add_counters(read.counters, line);
    SnapshotReader::add_counters(read.spread, SnapshotReader::member(line, "spread"));
  }
  if (const Json& estimate = SnapshotReader::member(document, "estimate"); estimate.is_object()) {
    shot.is_estimate = true;
    shot.has_intervals = estimate.contains("confidence");
    SnapshotReader::add_counters(shot.spread, SnapshotReader::member(estimate, "spread"));
  }
  for (const Json& kernel : reader.list(document, "by_kernel")) {
    Counters& counters = shot.kernels[reader.text(kernel, "kernel")];
    SnapshotReader::add_counters(counters, kernel);
    SnapshotReader::add_counters(counters, SnapshotReader::member(kernel, "totals"));
  }
  // The registers of the only kernel are those of the run.
  if (shot.kernels.size() == 1) {
    const Counters& only = shot.kernels.begin()->second;
    shot.totals.insert(only.begin(), only.end());
  }
  const bool is_check = shot.command == "check";
  for (const Json& finding : reader.list(document, is_check ? "reports" : "findings")) {
    SnapshotFinding& read = shot.findings.emplace_back();
    read.kind = reader.text(finding, "kind");
    read.severity = is_check ? reader.text(finding, "severity") : "note";
    read.kernel = reader.text(finding, "kernel");
    read.file = reader.text(finding, "file");
    read.source = reader.text(finding, "source");
    read.message = reader.text(finding, "message");
    read.line = reader.line(finding);
    const Json& other = SnapshotReader::member(finding, "other");
    if (other.is_object()) read.other_source = reader.text(other, "source");
  }
  return shot;
}

Snapshot read_snapshot(const std::string& path) {
  return snapshot_of(parse_json(read_text_file(path, std::uint64_t{1} << 28U), quoted(path)),
                     quoted(path));
}

bool is_file(std::string_view path, std::string_view given) {
  return path == given || (path.ends_with(given) && path[path.size() - given.size() - 1] == '/');
}

}  // namespace tilescope::report
