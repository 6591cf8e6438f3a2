#include "base/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <new>
#include <vector>

#include "base/errors.hpp"
#include "base/output_target.hpp"

namespace tilescope {
namespace {

constexpr std::uint64_t zeros_at_once = 1 << 20;

// 0 or an errno. A write may be partial, or interrupted by a signal.
int write_at(int file, std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    offset += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

// Writes zeros from `first` up to `end`. 0 or an errno.
int write_zeros(int file, std::uint64_t first, std::uint64_t end) {
  const std::vector<std::byte> zeros(
      static_cast<std::size_t>(std::min(end - first, zeros_at_once)));
  while (first < end) {
    const std::uint64_t piece = std::min<std::uint64_t>(zeros.size(), end - first);
    if (const int code = write_at(file, first, std::span(zeros).first(piece))) return code;
    first += piece;
  }
  return 0;
}

// Past the process's own limit the kernel would end it with SIGXFSZ instead of reporting.
std::string over_limit(std::uint64_t size) {
  struct rlimit limit = {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      size <= limit.rlim_cur) {
    return {};
  }
  return fmt::format("it would have {} bytes, and this process may write at most {} (ulimit -f)",
                     size, limit.rlim_cur);
}

}  // namespace

std::string reserve_storage(const FileDescriptor& file, std::uint64_t size,
                            const std::string& folder) {
  if (size > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) {
    return fmt::format("{} bytes are more than a file can have", size);
  }
  if (std::string why = over_limit(size); !why.empty()) return why;
  // Checked first: a file system without enough space would be filled before it reports that, and
  // other processes would find it full meanwhile.
  struct statvfs volume {};
  if (::fstatvfs(file.get(), &volume) == 0 && volume.f_bavail > 0 &&
      size / volume.f_frsize > volume.f_bavail) {
    return fmt::format("{} bytes are needed: {}", size, explain_write_failure(ENOSPC, folder));
  }
  int code = EINTR;
  while (code == EINTR) code = ::posix_fallocate(file.get(), 0, static_cast<off_t>(size));
  // The slow way, for a file system that cannot allocate ahead.
  if (code == EOPNOTSUPP || code == EINVAL) code = write_zeros(file.get(), 0, size);
  if (code == 0) return {};
  return fmt::format("{} bytes are needed: {}", size, explain_write_failure(code, folder));
}

std::string write_to_storage(const FileDescriptor& file, std::uint64_t offset,
                             std::span<const std::byte> bytes, const std::string& folder) {
  if (std::string why = over_limit(offset + bytes.size()); !why.empty()) return why;
  const int code = write_at(file.get(), offset, bytes);
  return code ? explain_write_failure(code, folder) : std::string();
}

OutputFile::OutputFile(const std::string& path) : path_(path), owner_(::getpid()) {
  const OutputTarget target = resolve_output_target(path);
  target_ = target.path;
  Temporary temporary = create_temporary(target, path);
  file_ = std::move(temporary.file);
  temporary_ = std::move(temporary.path);
  registration_ = std::move(temporary.registration);
  if (!target.existing) return;
  if (const int code = keep_permissions(file_, *target.existing)) {
    discard();
    fail(fmt::format("its permissions cannot be kept: {}", system_error_text(code)));
  }
}

OutputFile::~OutputFile() {
  discard();
}

OutputFile::OutputFile(OutputFile&& other) noexcept {
  *this = std::move(other);
}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this == &other) return *this;
  discard();
  path_ = other.path_;
  target_ = std::move(other.target_);
  temporary_ = std::exchange(other.temporary_, {});
  owner_ = other.owner_;
  file_ = std::move(other.file_);
  registration_ = std::move(other.registration_);
  mapping_registration_ = std::move(other.mapping_registration_);
  mapping_ = std::exchange(other.mapping_, {});
  reserved_ = other.reserved_;
  appended_ = other.appended_;
  return *this;
}

void OutputFile::discard() noexcept {
  mapping_registration_.reset();
  if (!mapping_.empty()) ::munmap(mapping_.data(), mapping_.size());
  mapping_ = {};
  file_.close();
  if (!temporary_.empty() && owner_ == ::getpid()) ::unlink(temporary_.c_str());
  temporary_.clear();
  registration_.reset();  // last: a signal in between removes the file again, which is harmless
}

void OutputFile::fail(const std::string& why) const {
  throw input_error("cannot write {}: {}", quoted(path_), why);
}

void OutputFile::reserve(std::uint64_t size) {
  if (reserved_ != 0 || size == 0) return;
  const std::string folder = std::filesystem::path(target_).parent_path().string();
  if (const std::string why = reserve_storage(file_, size, folder); !why.empty()) fail(why);
  reserved_ = size;
}

void OutputFile::fill_with_zeros() noexcept {
  constexpr std::uint64_t most = 256 << 20;  // more might go to the disk before it has values
  if (appended_ >= reserved_ || reserved_ - appended_ > most || !mapping_.empty()) return;
  try {
    write_zeros(file_.get(), appended_, reserved_);
  } catch (const std::bad_alloc&) {  // pages come one by one then
  }
}

std::span<std::byte> OutputFile::map() {
  if (!mapping_.empty() || reserved_ == 0) return mapping_;
  const auto size = static_cast<std::size_t>(reserved_);
  void* const begin = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (begin == MAP_FAILED) fail_to_map(path_, size);
  mapping_ = {static_cast<std::byte*>(begin), size};
  mapping_registration_ = std::make_unique<MappingRegistration>(begin, size, temporary_);
  return mapping_;
}

void OutputFile::append(std::span<const std::byte> bytes) {
  const std::string folder = std::filesystem::path(target_).parent_path().string();
  if (const std::string why = write_to_storage(file_, appended_, bytes, folder); !why.empty()) {
    fail(why);
  }
  appended_ += bytes.size();
}

void OutputFile::append(std::string_view text) {
  append(std::as_bytes(std::span(text)));
}

void OutputFile::commit() {
  mapping_registration_.reset();
  if (!mapping_.empty()) ::munmap(mapping_.data(), mapping_.size());
  mapping_ = {};
  if (!file_.close()) fail(fmt::format("the system lost data: {}", system_error_text(errno)));
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    const int code = errno;
    fail(fmt::format("the finished file cannot be renamed to it: {}", system_error_text(code)));
  }
  temporary_.clear();
  registration_.reset();
}

}  // namespace tilescope
