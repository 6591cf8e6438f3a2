#include "base/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <tilescope/error.hpp>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace tilescope {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw input_error("cannot read {}: {}", quoted(path), why);
}

std::string explain_open_failure(int code) {
  switch (code) {
    case ENOENT:
      return "no such file; check the name and the current folder";
    case EACCES:
    case EPERM:
      return "permission denied; make it readable (chmod +r)";
    case ENOTDIR:
      return "a part of the path is a file, not a folder";
    case ELOOP:
      return "its symbolic links form a loop";
    case ENAMETOOLONG:
      return "the name is too long for the file system";
    default:
      return system_error_text(code);
  }
}

}  // namespace

bool FileDescriptor::close() noexcept {
  if (descriptor_ < 0) return true;
  // Not repeated on EINTR: Linux has released the descriptor by then.
  return ::close(std::exchange(descriptor_, -1)) == 0 || errno == EINTR;
}

std::string quoted(const std::string& path) {
  return fmt::format("'{}'", printable(path));
}

std::string system_error_text(int code) {
  return std::error_code(code, std::generic_category()).message();
}

void fail_to_map(const std::string& path, std::size_t bytes) {
  const int code = errno;
  throw Error(code == ENOMEM ? ErrorKind::no_device : ErrorKind::bad_input,
              fmt::format("cannot map {} ({} bytes) into memory: {}{}", quoted(path), bytes,
                          system_error_text(code),
                          code == ENOMEM   ? "; raise this process's limit (ulimit -v)"
                          : code == ENODEV ? "; copy it to another file and name that"
                                           : ""));
}

FileStamp stamp_of(const FileDescriptor& file, const std::string& path) {
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) refuse(path, system_error_text(errno));
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = static_cast<std::uint64_t>(status.st_size),
          .modified_s = status.st_mtim.tv_sec,
          .modified_ns = status.st_mtim.tv_nsec};
}

FileDescriptor open_regular_file(const std::string& path) {
  if (path.empty()) refuse(path, "the name is empty");
  if (path == "-") {
    refuse(path, "standard input is not supported here; save it to a file and name that");
  }
  if (path.find('\0') != std::string::npos) refuse(path, "the name contains a NUL byte");
  // O_NONBLOCK: opening a pipe without a writer must not wait.
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) refuse(path, explain_open_failure(errno));
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) refuse(path, system_error_text(errno));
  if (S_ISDIR(status.st_mode)) refuse(path, "it is a folder; name a file in it");
  if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) {
    refuse(path, "it is a pipe, and a regular file is needed; save it to a file and name that");
  }
  if (!S_ISREG(status.st_mode)) refuse(path, "it is a device, and a regular file is needed");
  return file;
}

std::size_t read_at(const FileDescriptor& file, const std::string& path, std::uint64_t offset,
                    std::span<std::byte> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got = ::pread(file.get(), into.data() + done, into.size() - done,
                                static_cast<off_t>(offset + done));
    if (got == 0) break;
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      refuse(path, system_error_text(errno));
    }
  }
  return done;
}

std::string read_text_file(const std::string& path, std::uint64_t limit) {
  const FileDescriptor file = open_regular_file(path);
  const std::uint64_t size = stamp_of(file, path).size;
  if (size > limit) {
    refuse(path, fmt::format("it has {} bytes; at most {} are accepted here", size, limit));
  }
  // One byte more than announced: files of /proc announce 0, and a file may have grown.
  std::string text(static_cast<std::size_t>(limit < size + 65536 ? limit : size + 65536), '\0');
  text.resize(read_at(file, path, 0, std::as_writable_bytes(std::span(text))));
  text.erase(0, text.size() - without_byte_order_mark(text).size());
  return text;
}

}  // namespace tilescope
