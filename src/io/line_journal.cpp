#include "io/line_journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <span>

#include "base/errors.hpp"
#include "base/output_file.hpp"
#include "base/output_target.hpp"
#include "base/text.hpp"

namespace tilescope::io {
namespace {

/// Whether `path` still names the file that is open.
bool is_still_named(const FileDescriptor& file, const std::string& path) {
  struct stat opened = {}, named = {};
  return fstat(file.get(), &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

}  // namespace

LineJournal::LineJournal(const std::string& path, const std::string& subject)
    : path_(path), subject_(subject), folder_(std::filesystem::path(path).parent_path().string()) {
  constexpr mode_t mode = 0666;
  do {
    file_ = FileDescriptor(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, mode));
    if (!file_.is_open()) fail(explain_open_failure(errno, path_, folder_));
    if (flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
      throw usage_error("{} is being written by another process; wait for it",
                        tilescope::quoted(subject_));
    }
    // A process that finished in between has removed the opened journal, which was its own.
  } while (!is_still_named(file_, path_));
}

LineJournal::Text LineJournal::read() {
  constexpr std::uint64_t most_bytes = std::uint64_t{2} << 30U;
  const std::string text = read_text_file(path_, most_bytes);
  const std::size_t end = text.rfind('\n') + 1;
  bytes_ = end;
  Text found{.lines = {}, .torn = text.substr(end)};
  if (end == 0) return found;
  for (const std::string_view line : split(std::string_view(text).substr(0, end - 1), '\n')) {
    found.lines.emplace_back(line);
  }
  return found;
}

void LineJournal::clear() {
  if (ftruncate(file_.get(), 0) != 0) fail(explain_write_failure(errno, folder_));
  bytes_ = 0;
}

void LineJournal::append(std::string_view lines) {
  if (ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0) {
    fail(explain_write_failure(errno, folder_));
  }
  const auto bytes = std::as_bytes(std::span(lines));
  if (const std::string why = write_to_storage(file_, bytes_, bytes, folder_); !why.empty()) {
    fail("its journal: " + why);
  }
  if (fdatasync(file_.get()) != 0) fail(explain_write_failure(errno, folder_));
  bytes_ += lines.size();
}

void LineJournal::remove() {
  if (is_still_named(file_, path_)) unlink(path_.c_str());
}

void LineJournal::fail_damaged(std::size_t line) const {
  throw input_error("{} is damaged in line {}; remove it to start over", tilescope::quoted(path_),
                    line + 1);
}

void LineJournal::fail(const std::string& why) const {
  throw input_error("cannot write {}: {}", tilescope::quoted(subject_), why);
}

}  // namespace tilescope::io
