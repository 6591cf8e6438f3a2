// A file that goes with its process, even where nothing of the process can run any more.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/file.hpp"

namespace tilescope {

/// Removes a file, if it still exists, when this object or the process has ended: by SIGKILL too,
/// which some launchers send to all ranks when one has died. A small process of its own session
/// (`/bin/sh`) waits for that. Where it cannot be started, nothing is removed.
class RemovalAtDeath {
 public:
  /// `path` must be absolute.
  explicit RemovalAtDeath(const std::string& path);
  ~RemovalAtDeath();
  RemovalAtDeath(const RemovalAtDeath&) = delete;
  RemovalAtDeath& operator=(const RemovalAtDeath&) = delete;

 private:
  FileDescriptor alive_;  ///< a pipe that closes with this process
  pid_t watcher_ = -1;
};

}  // namespace tilescope
