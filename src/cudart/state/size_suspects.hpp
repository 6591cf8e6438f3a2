// Copies whose size looks like a number of elements, or like that of a pointer. Suspect is the
// first copy that a buffer gets from the host, if it fills exactly a quarter or an eighth of it
// although the source has enough for all. It is reported when a kernel is launched before anything
// else has filled the buffer.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cudart/state/stream_operation.hpp"
#include "inspect/program/host_call.hpp"

namespace tilescope::cudart {

/// A buffer or variable that copies go to.
struct CopyTarget {
  std::string name;
  std::uint64_t address = 0;
  std::size_t bytes = 0;
  bool is_variable = false;
};

class SizeSuspects {
 public:
  struct Suspect {
    CopyTarget target;
    std::size_t bytes = 0;  ///< of the copy
    inspect::HostCall call;
  };

  /// The host fills the target: by a copy, or in another way if null.
  void filled(const CopyTarget& target, const CopyOperation* copy, const inspect::HostCall& call);
  /// A kernel is launched, which may fill any buffer.
  std::vector<Suspect> launched();
  /// A new allocation begins here.
  void allocated(std::uint64_t address) { targets_[address] = {}; }

 private:
  struct State {
    bool untouched = true;  ///< by copies and kernels
    std::optional<Suspect> suspect;
  };
  std::map<std::uint64_t, State> targets_;
  bool launched_ = false;  ///< variables that are not in targets_ may have been written
};

}  // namespace tilescope::cudart
