#include "io/resumable_npy.hpp"

#include <fcntl.h>
#include <fmt/format.h>
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
#include "io/npy_header.hpp"

namespace tilescope::io {
namespace {

constexpr std::string_view journal_magic = "tilescope-journal 1 ";

constexpr mode_t mode = 0666;

}  // namespace

void ResumableNpy::fail(const std::string& why) const {
  throw input_error("cannot write {}: {}", tilescope::quoted(path_), why);
}

ResumableNpy::ResumableNpy(const std::string& path, const NpyHeader& header,
                           const std::string& purpose, std::int64_t tiles, std::string_view subject)
    : path_(path),
      target_(resolve_output_target(path)),
      header_(header),
      done_(static_cast<std::size_t>(tiles), false) {
  const std::filesystem::path target(target_.path);
  folder_ = target.parent_path().string();
  const std::string stem = (target.parent_path() / ("." + target.filename().string())).string();
  partial_path_ = stem + ".partial";
  const std::string front = npy_front(header), head = std::string(journal_magic) + purpose;
  data_offset_ = front.size();
  const std::size_t size = front.size() + header.bytes();

  journal_.emplace(stem + ".journal", path_);
  read_journal(head, subject);
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
      journal_->remove();
    }
    throw;
  }
  std::memcpy(mapping_.data(), front.data(), front.size());
}

ResumableNpy::~ResumableNpy() {
  registration_.reset();
  if (!mapping_.empty()) munmap(mapping_.data(), mapping_.size());
}

void ResumableNpy::open_partial(std::size_t size) {
  const mode_t first_mode = target_.existing ? S_IRUSR | S_IWUSR : mode;
  partial_ = FileDescriptor(open(partial_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, first_mode));
  if (!partial_.is_open()) fail(explain_open_failure(errno, partial_path_, folder_));
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
  journal_->clear();
  journal_->append(head + '\n');
}

void ResumableNpy::read_journal(const std::string& head, std::string_view subject) {
  const std::vector<std::string> lines = journal_->read().lines;
  if (lines.empty()) return;
  if (lines[0] != head) {
    throw usage_error(
        "{} belongs to another {} (other inputs, sizes, limit or variant); remove it to start over",
        tilescope::quoted(journal_->path()), subject);
  }
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const char* const end = lines[i].data() + lines[i].size();
    std::size_t tile = 0;
    const auto [read_to, code] = std::from_chars(lines[i].data(), end, tile);
    if (code != std::errc() || read_to != end || tile >= done_.size()) journal_->fail_damaged(i);
    if (done_[tile]) continue;
    done_[tile] = true;
    ++done_count_;
  }
}

std::byte* ResumableNpy::elements() {
  return mapping_.data() + data_offset_;
}

MatrixView ResumableNpy::matrix() {
  return dense_view(static_cast<void*>(elements()), header_.type,
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
  journal_->append(unwritten_);
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
  journal_->remove();
}

}  // namespace tilescope::io
