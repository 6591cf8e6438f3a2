// A target on a device: compiled, with its data in place, ready to be launched.
#pragma once

#include <string>
#include <tilescope/target.hpp>
#include <vector>

namespace tilescope::inspect {

class Subject {
 public:
  virtual ~Subject() = default;
  /// Launches, and waits for the end.
  virtual void launch() = 0;
  /// Throws Error(usage) when the launch breaks a limit of the device.
  virtual void require_launchable() const = 0;

  std::string title;                        ///< as Inspection::target
  std::vector<std::string> notes;           ///< as Inspection::notes
  std::vector<std::string> guessed, unset;  ///< as those of Inspection
  std::vector<SourceText> sources;          ///< by their names in line tables
};

}  // namespace tilescope::inspect
