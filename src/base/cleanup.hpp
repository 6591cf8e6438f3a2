// Clean-up when a signal ends the process: temporary files are removed, and a bus error inside a
// mapped file is explained. The table has no locks and allocates nothing, so that a signal handler
// may walk it at any moment.
#pragma once

#include <cstddef>
#include <string>

namespace tilescope {

/// Registers a temporary file as long as it lives. It does not remove the file itself.
class TemporaryRegistration {
 public:
  /// `path` must be absolute. Throws Error(usage) when more than 256 temporaries exist at once.
  explicit TemporaryRegistration(const std::string& path);
  ~TemporaryRegistration();
  TemporaryRegistration(const TemporaryRegistration&) = delete;
  TemporaryRegistration& operator=(const TemporaryRegistration&) = delete;

 private:
  std::size_t slot_;
};

/// Registers the addresses of a mapping of the file `name`, to explain a bus error there. Beyond
/// 256 mappings at once a registration does nothing.
class MappingRegistration {
 public:
  MappingRegistration(const void* begin, std::size_t size, const std::string& name);
  ~MappingRegistration();
  MappingRegistration(const MappingRegistration&) = delete;
  MappingRegistration& operator=(const MappingRegistration&) = delete;

 private:
  std::size_t slot_;
};

/// Removes the registered temporaries of this process (not those of a parent that forked it).
/// Safe in a signal handler.
void remove_temporaries() noexcept;

/// The name of the file mapped at `address`, or nullptr. Safe in a signal handler.
const char* mapped_file_at(const void* address) noexcept;

}  // namespace tilescope
