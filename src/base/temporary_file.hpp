// Files for another process to read or write, which vanish at the end.
#pragma once

#include <string>
#include <string_view>

#include "base/cleanup.hpp"
#include "base/file.hpp"

namespace tilescope {

/// An empty file in the folder of temporary files ($TMPDIR), removed with the object or by a signal
/// that ends the process.
class TemporaryFile {
 public:
  /// The name begins with tilescope-`purpose` and ends with `ending`. Throws Error(bad_input) if
  /// the file cannot be made.
  TemporaryFile(std::string_view purpose, std::string_view ending);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  /// Appends. Throws Error(bad_input) if the system does not take it all.
  void write(std::string_view text);

 private:
  std::string path_;
  FileDescriptor file_;
  TemporaryRegistration registration_;
};

}  // namespace tilescope
