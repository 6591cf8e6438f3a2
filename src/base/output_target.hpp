// The target of an output file, judged before anything is written.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>

#include "base/cleanup.hpp"
#include "base/file.hpp"

namespace tilescope {

struct OutputTarget {
  std::string path;                     ///< absolute, all symbolic links of the last part followed
  std::optional<struct stat> existing;  ///< the file that will be replaced
};

/// Throws one-line errors for every `path` that cannot become a regular file; see OutputFile.
OutputTarget resolve_output_target(const std::string& path);

/// A new, empty file beside `target`, named `.NAME.XXXXXX.tmp`, and known to the signal handlers.
struct Temporary {
  FileDescriptor file;
  std::string path;
  std::unique_ptr<TemporaryRegistration> registration;
};
Temporary create_temporary(const OutputTarget& target, const std::string& path);

/// Gives `file` the owner and the permissions of the file that it will replace, so that a private
/// file stays private. Keeping the owner needs privileges; without them the writer owns the file,
/// as any new one. Returns 0, or the errno of permissions that cannot be kept.
int keep_permissions(const FileDescriptor& file, const struct stat& old);

/// The line for errno `code` met while writing to `path`.
std::string explain_write_failure(int code, const std::string& folder);
/// The same for `path` in that folder, which cannot be opened. It names a file that is in the way,
/// since names that begin with a dot are easily overlooked.
std::string explain_open_failure(int code, const std::string& path, const std::string& folder);

}  // namespace tilescope
