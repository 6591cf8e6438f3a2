#include "inspect/program/program_journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <tilescope/error.hpp>

#include "base/text.hpp"
#include "inspect/program/journal_json.hpp"

namespace tilescope::inspect {
namespace {

using nlohmann::json;

void take(const json& value, const std::string& kind, Journal& journal) {
  if (kind == "device") {
    value.get_to(journal.device);
    ++journal.processes;
  }
  if (kind == "run") journal.run = value.get<JournalRun>();
  if (kind == "checked") value.get_to(journal.checked);
  if (kind == "changed_at") journal.changed_at = value.get<std::uint64_t>();
  if (kind == "stack") value.at(1).get_to(journal.stacks[value.at(0).get<StackId>()]);
  if (kind == "launch") journal.launches.push_back(value.get<JournalLaunch>());
  if (kind == "finding") journal.findings.push_back(value.get<JournalFinding>());
  if (kind == "repeated") {
    journal.findings.at(value.at(0).get<std::size_t>()).finding.count +=
        value.at(1).get<std::uint64_t>();
  }
  if (kind == "allocation") journal.allocations.push_back(value.get<JournalAllocation>());
  if (kind == "note") journal.notes.push_back(value.get<std::string>());
  if (kind == "counts") journal.counts = value.get<JournalCounts>();
  if (kind == "limitation") value.get_to(journal.limitation);
  if (kind == "enough") journal.enough = value.get<std::uint64_t>();
  if (kind == "finished") journal.finished = true;
}

}  // namespace

JournalWriter::JournalWriter(const std::string& path)
    : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
  if (!file_.is_open()) {
    throw Error(ErrorKind::bad_input, fmt::format("cannot write the journal {} ({})", quoted(path),
                                                  system_error_text(errno)));
  }
}

template <typename T>
void JournalWriter::append(const char* kind, const T& value) {
  json record;
  record[kind] = value;
  std::string line = record.dump(-1, ' ', false, json::error_handler_t::replace);
  line += '\n';
  // A full disk loses what the reader would be told; the program itself goes on.
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t written = ::write(file_.get(), line.data() + at, line.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    at += static_cast<std::size_t>(written);
  }
}

void JournalWriter::device(const std::string& specification) {
  append("device", specification);
}

StackId JournalWriter::stack(const HostCall& call) {
  const auto [at, is_new] = stacks_.try_emplace(call, static_cast<StackId>(stacks_.size() + 1));
  if (is_new) {
    append("stack", json::array({at->second, HostStack{call.name, addresses_of(call)}}));
  }
  return at->second;
}

void JournalWriter::launch(const JournalLaunch& launch) {
  append("launch", launch);
}

void JournalWriter::finding(const JournalFinding& finding) {
  append("finding", finding);
}

void JournalWriter::repeated(std::size_t index, std::uint64_t count) {
  append("repeated", json::array({index, count}));
}

void JournalWriter::allocation(const JournalAllocation& allocation) {
  append("allocation", allocation);
}

void JournalWriter::note(const std::string& text) {
  append("note", text);
}

void JournalWriter::counts(const JournalCounts& counts) {
  append("counts", counts);
}

void JournalWriter::limitation(Limitation limitation) {
  append("limitation", limitation);
}

void JournalWriter::enough(std::uint64_t blocks_left_out) {
  append("enough", blocks_left_out);
}

void JournalWriter::run(const JournalRun& run) {
  append("run", run);
}

void JournalWriter::checked(std::uint64_t launches) {
  append("checked", launches);
}

void JournalWriter::changed_at(std::uint64_t launch) {
  append("changed_at", launch);
}

void JournalWriter::finished() {
  append("finished", true);
}

Journal read_journal(const std::string& path) {
  return std::move(read_journals(path).back());
}

std::vector<Journal> read_journals(const std::string& path) {
  constexpr std::uint64_t most = std::uint64_t{4} << 30U;
  const std::string text = read_text_file(path, most);
  std::vector<Journal> journals(1);
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;  // torn
    ++number;
    try {
      const json record = json::parse(text.begin() + static_cast<std::ptrdiff_t>(at),
                                      text.begin() + static_cast<std::ptrdiff_t>(end));
      for (const auto& [kind, value] : record.items()) {
        if (kind == "run" && at != 0) journals.emplace_back();
        take(value, kind, journals.back());
      }
    } catch (const std::exception& error) {
      throw Error(ErrorKind::bad_input,
                  fmt::format("journal {}, line {} is damaged: {}", quoted(path), number,
                              printable(error.what(), 200)));
    }
    at = end + 1;
  }
  return journals;
}

}  // namespace tilescope::inspect
