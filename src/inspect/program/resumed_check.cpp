#define XXH_INLINE_ALL  // header-only: nothing to find at run time
#include "inspect/program/resumed_check.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <span>
#include <tilescope/error.hpp>
#include <utility>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/mapped_file.hpp"

namespace tilescope::inspect {
namespace {

namespace fs = std::filesystem;

/// A line without its end was cut by the end of its writer.
void drop_torn_line(const std::string& path) {
  std::size_t whole = 0;
  {
    const MappedFile file(path);
    const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                                file.bytes().size());
    const std::size_t end = text.rfind('\n');
    whole = end == std::string_view::npos ? 0 : end + 1;
    if (whole == text.size()) return;
  }
  fs::resize_file(path, whole);
}

std::uint64_t launches_known(const CheckedRun& run) {
  return std::max(run.last, run.first);
}

}  // namespace

std::uint64_t digest_of(const std::string& kernel, Dim3 grid, Dim3 block) {
  const std::string text = fmt::format("{} {},{},{} {},{},{}", kernel, grid.x, grid.y, grid.z,
                                       block.x, block.y, block.z);
  return XXH3_64bits(text.data(), text.size());
}

std::string check_key(const std::vector<std::string>& words, const std::string& library,
                      const std::string& options) {
  std::vector<std::string> files{library, words.front()};
  std::ranges::copy_if(words, std::back_inserter(files),
                       [](const std::string& word) { return word.ends_with(".py"); });
  std::string text = options;
  for (const std::string& path : files) {
    std::error_code failed;
    if (!fs::is_regular_file(path, failed)) continue;
    const MappedFile file(path);
    text += fmt::format(" {:016x}", XXH3_64bits(file.bytes().data(), file.bytes().size()));
  }
  // The place of a program that was compiled from sources says nothing.
  for (const std::string& word : std::span(words).subspan(1)) text += '\n' + word;
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

std::vector<CheckedRun> checked_runs(std::vector<Journal> journals) {
  std::vector<CheckedRun> runs;
  for (Journal& journal : journals) {
    CheckedRun run{.journal = std::move(journal)};
    const std::uint64_t end = runs.empty() ? 0 : std::ranges::max(runs, {}, &launches_known).last;
    run.first = std::min(run.journal.run ? run.journal.run->first : 0, end);
    if (run.journal.changed_at) run.first = std::min(run.first, *run.journal.changed_at);
    run.last = std::max(run.first, run.journal.checked);
    for (CheckedRun& earlier : runs) {
      if (!run.journal.changed_at) continue;
      earlier.last = std::max(earlier.first, std::min(earlier.last, *run.journal.changed_at));
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<std::uint64_t> begin_resumed_run(const std::string& path, const std::string& key) {
  std::vector<std::uint64_t> digests;
  std::error_code failed;
  if (fs::exists(path, failed)) {
    drop_torn_line(path);
    std::vector<Journal> journals = read_journals(path);
    if (journals.empty() || !journals.front().run) {
      throw usage_error("--resume {}: the file keeps no check; name another one", quoted(path));
    }
    const bool is_one_process = std::ranges::all_of(
        journals, [](const Journal& journal) { return journal.processes <= 1; });
    for (const Journal& journal : journals) {
      if (journal.run->key == key) continue;
      throw usage_error(
          "--resume {}: the file keeps another check (its program, arguments or options differ); "
          "delete it, or name another one",
          quoted(path));
    }
    std::uint64_t known = 0;
    for (const CheckedRun& run : checked_runs(journals)) known = std::max(known, run.last);
    for (const Journal& journal : journals) {  // a later run knows better
      const std::size_t shared = std::min<std::size_t>(known, journal.launches.size());
      digests.resize(std::max(digests.size(), shared));
      for (std::size_t i = 0; i < shared; ++i) {
        const JournalLaunch& launch = journal.launches[i];
        digests[i] = digest_of(launch.kernel, launch.grid, launch.block);
      }
    }
    // Launches of several processes have no common order.
    if (!is_one_process) digests.clear();
  }
  JournalWriter(path).run({key, digests.size()});
  return digests;
}

}  // namespace tilescope::inspect
