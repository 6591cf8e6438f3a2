// The one exception type of the library, and the exit codes that the command line maps it to.
#pragma once

#include <stdexcept>
#include <string>

namespace tilescope {

/// The kind of failure, by what the caller can do about it. The value is the exit code of the
/// command line.
enum class ErrorKind {
  wrong_result = 1,  ///< a result failed its verification, or defects were found
  usage = 2,         ///< arguments that contradict each other or a documented limit
  no_device = 3,     ///< no device, driver or compiler that can do the work
  bad_input = 4,     ///< a file that is missing, damaged or in an unsupported format
};

/// An error whose text is one line: which thing, which rule, which value, what to do.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}

  ErrorKind kind() const noexcept { return kind_; }
  int exit_code() const noexcept { return static_cast<int>(kind_); }

 private:
  ErrorKind kind_;
};

}  // namespace tilescope
