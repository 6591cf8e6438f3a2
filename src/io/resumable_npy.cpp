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
#include <tilescope/error.hpp>

#include "base/text.hpp"
#include "io/npy_header.hpp"

namespace tilescope::io {
namespace {

constexpr std::string_view magic = "tilescope-journal 1 ";

std::string beside(const std::string& target, const char* ending) {
  const std::filesystem::path path(target);
  return (path.parent_path() / ("." + path.filename().string() + ending)).string();
}

}  // namespace

void ResumableNpy::fail(const std::string& what) const {
  throw Error(ErrorKind::bad_input,
              fmt::format("cannot write {}: {}: {}", tilescope::quoted(target_), what,
                          system_error_text(errno)));
}

ResumableNpy::ResumableNpy(const std::string& path, const NpyHeader& header,
                           const std::string& purpose, std::int64_t tiles)
    : target_(path),
      partial_path_(beside(path, ".partial")),
      journal_path_(beside(path, ".journal")),
      header_(header),
      done_(static_cast<std::size_t>(tiles), false) {
  if (std::filesystem::is_directory(path)) {
    throw Error(ErrorKind::bad_input, fmt::format("cannot write {}: it is a folder; name a file",
                                                  tilescope::quoted(path)));
  }
  constexpr mode_t mode = 0666;
  journal_ = FileDescriptor(open(journal_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, mode));
  if (!journal_.is_open()) fail("its journal " + tilescope::quoted(journal_path_));
  if (flock(journal_.get(), LOCK_EX | LOCK_NB) != 0) {
    throw Error(ErrorKind::usage, fmt::format("{} is being written by another process; wait for it",
                                              tilescope::quoted(target_)));
  }
  read_journal(purpose);

  const std::string front = npy_front(header);
  data_offset_ = front.size();
  const std::size_t size = front.size() + header.bytes();
  partial_ = FileDescriptor(open(partial_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, mode));
  if (!partial_.is_open()) fail("its partial file " + tilescope::quoted(partial_path_));
  if (const int failed = posix_fallocate(partial_.get(), 0, static_cast<off_t>(size))) {
    errno = failed;
    fail(fmt::format("{} bytes on disk", size));
  }
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, partial_.get(), 0);
  if (memory == MAP_FAILED) fail("mapping it");
  mapping_ = {static_cast<std::byte*>(memory), size};
  std::memcpy(mapping_.data(), front.data(), front.size());
}

ResumableNpy::~ResumableNpy() {
  if (!mapping_.empty()) munmap(mapping_.data(), mapping_.size());
}

void ResumableNpy::read_journal(const std::string& purpose) {
  const std::string head = std::string(magic) + purpose;
  const std::string text = read_text_file(journal_path_);
  // A line whose end is missing was being written when the process died.
  const std::string_view complete = std::string_view(text).substr(0, text.rfind('\n') + 1);
  if (complete.empty()) {
    const std::string line = head + '\n';
    if (ftruncate(journal_.get(), 0) != 0 ||
        pwrite(journal_.get(), line.data(), line.size(), 0) != static_cast<ssize_t>(line.size()) ||
        fsync(journal_.get()) != 0) {
      fail("its journal " + tilescope::quoted(journal_path_));
    }
    // What an older attempt left is of unknown origin.
    unlink(partial_path_.c_str());
    lseek(journal_.get(), 0, SEEK_END);
    return;
  }
  const std::vector<std::string_view> lines = split(complete, '\n');
  if (lines[0] != head) {
    throw Error(
        ErrorKind::usage,
        fmt::format("{} belongs to another product (other inputs, sizes, limit or variant); "
                    "remove it to start over",
                    tilescope::quoted(journal_path_)));
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
    fail("its journal " + tilescope::quoted(journal_path_));
  }
  lseek(journal_.get(), 0, SEEK_END);
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
  if (msync(mapping_.data(), mapping_.size(), MS_SYNC) != 0) fail("its contents");
  const auto size = static_cast<ssize_t>(unwritten_.size());
  if (write(journal_.get(), unwritten_.data(), unwritten_.size()) != size ||
      fdatasync(journal_.get()) != 0) {
    fail("its journal " + tilescope::quoted(journal_path_));
  }
  unwritten_.clear();
  flushed_ = std::chrono::steady_clock::now();
}

void ResumableNpy::commit() {
  if (done_count_ != static_cast<std::int64_t>(done_.size())) {
    throw Error(ErrorKind::usage, fmt::format("{} of {} tiles of {} are missing",
                                              done_.size() - static_cast<std::size_t>(done_count_),
                                              done_.size(), tilescope::quoted(target_)));
  }
  flush();
  if (std::rename(partial_path_.c_str(), target_.c_str()) != 0) fail("giving it its name");
  unlink(journal_path_.c_str());
}

}  // namespace tilescope::io
