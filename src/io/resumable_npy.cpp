#include "io/resumable_npy.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/errors.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "io/npy_header.hpp"

namespace tilescope::io {
namespace {

constexpr std::string_view journal_magic = "tilescope-journal 1 ";

constexpr mode_t mode = 0666;

/// Whether `path` still names the file that is open.
bool is_still_named(const FileDescriptor& file, const std::string& path) {
  struct stat opened = {}, named = {};
  return fstat(file.get(), &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

// Names the file in the way, since names that begin with a dot are easily overlooked.
std::string open_failure(int code, const std::string& path, const std::string& folder) {
  std::error_code failed;
  if (!std::filesystem::exists(path, failed)) return explain_write_failure(code, folder);
  return fmt::format("{} is in the way ({}); remove it", quoted(path), system_error_text(code));
}

}  // namespace

void ResumableNpy::fail(const std::string& why) const {
  throw input_error("cannot write {}: {}", tilescope::quoted(path_), why);
}

ResumableNpy::ResumableNpy(const std::string& path, const NpyHeader& header,
                           const std::string& purpose, std::int64_t tiles)
    : path_(path),
      target_(resolve_output_target(path)),
      header_(header),
      done_(static_cast<std::size_t>(tiles), false) {
  const std::filesystem::path target(target_.path);
  folder_ = target.parent_path().string();
  const std::string stem = (target.parent_path() / ("." + target.filename().string())).string();
  partial_path_ = stem + ".partial";
  journal_path_ = stem + ".journal";
  const std::string front = npy_front(header), head = std::string(journal_magic) + purpose;
  data_offset_ = front.size();
  const std::size_t size = front.size() + header.bytes();

  open_journal();
  read_journal(head);
  struct stat partial = {};
  if (done_count_ > 0 && (stat(partial_path_.c_str(), &partial) != 0 ||
                          static_cast<std::size_t>(partial.st_size) != size)) {
    // The tiles that the journal lists are gone.
    done_.assign(done_.size(), false);
    done_count_ = 0;
  }
  try {
    if (done_count_ == 0) begin_journal(head);
    open_partial(size);
  } catch (...) {
    if (done_count_ == 0) {
      unlink(partial_path_.c_str());
      unlink(journal_path_.c_str());
    }
    throw;
  }
  std::memcpy(mapping_.data(), front.data(), front.size());
}

ResumableNpy::~ResumableNpy() {
  registration_.reset();
  if (!mapping_.empty()) munmap(mapping_.data(), mapping_.size());
}

void ResumableNpy::open_journal() {
  do {
    journal_ = FileDescriptor(open(journal_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, mode));
    if (!journal_.is_open()) fail(open_failure(errno, journal_path_, folder_));
    if (flock(journal_.get(), LOCK_EX | LOCK_NB) != 0) {
      throw usage_error("{} is being written by another process; wait for it",
                        tilescope::quoted(path_));
    }
    // A process that finished in between has removed the opened journal, which was its own.
  } while (!is_still_named(journal_, journal_path_));
}

void ResumableNpy::open_partial(std::size_t size) {
  const mode_t first_mode = target_.existing ? S_IRUSR | S_IWUSR : mode;
  partial_ = FileDescriptor(open(partial_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, first_mode));
  if (!partial_.is_open()) fail(open_failure(errno, partial_path_, folder_));
  if (const int code = target_.existing ? keep_permissions(partial_, *target_.existing) : 0) {
    fail(fmt::format("its permissions cannot be kept: {}", system_error_text(code)));
  }
  if (done_count_ == 0) {
    if (const std::string why = reserve_storage(partial_, size, folder_); !why.empty()) fail(why);
  }
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, partial_.get(), 0);
  if (memory == MAP_FAILED) fail_to_map(path_, size);
  mapping_ = {static_cast<std::byte*>(memory), size};
  registration_ = std::make_unique<MappingRegistration>(memory, size, partial_path_);
}

void ResumableNpy::begin_journal(const std::string& head) {
  // A file that an older attempt left is of unknown origin.
  unlink(partial_path_.c_str());
  if (ftruncate(journal_.get(), 0) != 0) fail(explain_write_failure(errno, folder_));
  journal_bytes_ = 0;
  append_to_journal(head + '\n');
}

void ResumableNpy::append_to_journal(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  if (const std::string why = write_to_storage(journal_, journal_bytes_, bytes, folder_);
      !why.empty()) {
    fail("its journal: " + why);
  }
  if (fdatasync(journal_.get()) != 0) fail(explain_write_failure(errno, folder_));
  journal_bytes_ += text.size();
}

void ResumableNpy::read_journal(const std::string& head) {
  const std::string text = read_text_file(journal_path_);
  // A line whose end is missing was being written when the process died.
  const std::string_view complete = std::string_view(text).substr(0, text.rfind('\n') + 1);
  if (complete.empty()) return;
  const std::vector<std::string_view> lines = split(complete, '\n');
  if (lines[0] != head) {
    throw usage_error(
        "{} belongs to another product (other inputs, sizes, limit or variant); remove it to start "
        "over",
        tilescope::quoted(journal_path_));
  }
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::size_t tile = done_.size();
    std::from_chars(lines[i].data(), lines[i].data() + lines[i].size(), tile);
    if (tile < done_.size() && !done_[tile]) {
      done_[tile] = true;
      ++done_count_;
    }
  }
  if (ftruncate(journal_.get(), static_cast<off_t>(complete.size())) != 0) {
    fail(explain_write_failure(errno, folder_));
  }
  journal_bytes_ = complete.size();
}

MatrixView ResumableNpy::matrix() {
  return dense_view(static_cast<void*>(mapping_.data() + data_offset_), header_.type,
                    static_cast<std::int64_t>(header_.shape.at(0)),
                    static_cast<std::int64_t>(header_.shape.at(1)),
                    header_.fortran_order ? Order::column_major : Order::row_major);
}

void ResumableNpy::mark_done(std::int64_t tile) {
  unwritten_ += fmt::format("{}\n", tile);
  done_[static_cast<std::size_t>(tile)] = true;
  ++done_count_;
  constexpr auto interval = std::chrono::milliseconds(500);
  if (std::chrono::steady_clock::now() - flushed_ >= interval) flush();
}

void ResumableNpy::flush() {
  if (msync(mapping_.data(), mapping_.size(), MS_SYNC) != 0) {
    fail(explain_write_failure(errno, folder_));
  }
  append_to_journal(unwritten_);
  unwritten_.clear();
  flushed_ = std::chrono::steady_clock::now();
}

void ResumableNpy::commit() {
  if (done_count_ != static_cast<std::int64_t>(done_.size())) {
    throw usage_error("{} of {} tiles of {} are missing",
                      done_.size() - static_cast<std::size_t>(done_count_), done_.size(),
                      tilescope::quoted(path_));
  }
  flush();
  if (std::rename(partial_path_.c_str(), target_.path.c_str()) != 0) {
    const int code = errno;
    fail(fmt::format("the finished file cannot be renamed to it: {}", system_error_text(code)));
  }
  unlink(journal_path_.c_str());
}

}  // namespace tilescope::io
