// A file's bytes in the address space, read only and without a copy.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/cleanup.hpp"
#include "base/file.hpp"

namespace tilescope {

class MappedFile {
 public:
  /// Maps the whole of `path`. Throws Error(bad_input) as open_regular_file does.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const noexcept { return path_; }
  const FileDescriptor& descriptor() const noexcept { return file_; }
  /// The bytes; empty for an empty file. Pages are read when touched.
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

  /// Throws Error(bad_input) if the file was written to after it was mapped: the data read from it
  /// may be a mixture. Call it after the last use and before results are kept.
  void require_unchanged() const;

 private:
  std::string path_;
  FileDescriptor file_;
  FileStamp stamp_;
  std::span<const std::byte> bytes_;
  std::unique_ptr<MappingRegistration> registration_;
};

}  // namespace tilescope
