// Opening and reading files, with errors that say what is wrong in one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace tilescope {

/// Owns a file descriptor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int descriptor) noexcept : descriptor_(descriptor) {}
  ~FileDescriptor() { close(); }
  FileDescriptor(FileDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      close();
      descriptor_ = std::exchange(other.descriptor_, -1);
    }
    return *this;
  }

  int get() const noexcept { return descriptor_; }
  bool is_open() const noexcept { return descriptor_ >= 0; }
  /// Closes it; false, with errno set, when the system reports that written data was lost.
  bool close() noexcept;

 private:
  int descriptor_ = -1;
};

/// Identifies a state of a file: another value means that the file was written to.
struct FileStamp {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t modified_s = 0, modified_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// The state of an open file; `path` is for the message.
FileStamp stamp_of(const FileDescriptor& file, const std::string& path);

/// `path` in quotes, safe for one line of a message.
std::string quoted(const std::string& path);

/// The system's own words for the error `code` (errno): "Permission denied".
std::string system_error_text(int code);

/// Throws the Error for a file whose `bytes` bytes cannot be mapped into memory, which errno
/// explains: no_device where this process may have no more memory, else bad_input.
[[noreturn]] void fail_to_map(const std::string& path, std::size_t bytes);

/// Opens a regular file for reading. Throws Error(bad_input) with one line when it is missing, a
/// folder, a pipe or device (standard input "-" included), or not permitted.
FileDescriptor open_regular_file(const std::string& path);

/// Reads exactly `into.size()` bytes at `offset`, or fewer if the file ends before. Returns the
/// number read. Throws Error(bad_input) when the system cannot read.
std::size_t read_at(const FileDescriptor& file, const std::string& path, std::uint64_t offset,
                    std::span<std::byte> into);

/// A whole file as text, without a byte order mark at its beginning. Throws Error(bad_input) as
/// above, or when it has more than `limit` bytes.
std::string read_text_file(const std::string& path, std::uint64_t limit = 64u << 20);

}  // namespace tilescope
