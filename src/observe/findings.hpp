// What the checks find, as plain values that a report prints or turns into JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "observe/source_place.hpp"
#include "tilescope/launch.hpp"

namespace tilescope::observe {

enum class FindingKind : std::uint8_t {
  out_of_bounds,
  misaligned,
  null_pointer,
  freed_memory,
  wrong_space,
  read_only,
  uninitialised_read,
  race,
  unfinished_copy,    ///< cp.async data used before the copy was waited for
  barrier_unreached,  ///< threads wait at a barrier that others never reach
  barrier_mismatch,   ///< threads met at different barrier instructions
  bad_barrier,
  warp_mask,  ///< a member mask names lanes that do not come, or not the lane itself
  bad_call,
  bad_operand,
  trap,        ///< the kernel gave up: a trap, a failed assertion, calls nested too deep
  unfinished,  ///< the limit of instructions was reached before the end
  wrote_nothing,
};

/// "out-of-bounds", "race", ...: what reports and JSON call it.
std::string_view to_string(FindingKind kind);

/// Warnings are worth a look: the results may still be right. Both make `check` fail.
enum class Severity : std::uint8_t { error, warning };

struct ThreadName {
  Dim3 block{0, 0, 0};
  Dim3 thread{0, 0, 0};
};
/// "block (1,0,0), thread (3,2,0)"
std::string to_string(const ThreadName& name);

/// One side of a finding.
struct FindingAccess {
  SourcePlace place;
  std::uint32_t instruction = 0;     ///< InstructionId
  std::uint32_t ptx_line = 0;        ///< in the text of the PTX
  std::string action;                ///< "write of 4 bytes"
  std::optional<ThreadName> thread;  ///< nothing: the finding is about no thread in particular
};

struct Finding {
  FindingKind kind = FindingKind::race;
  Severity severity = Severity::error;
  FindingAccess first;
  std::optional<FindingAccess> second;  ///< of a race, or where the others met
  std::string address;                  ///< "tile[17]", "c + 4096 bytes"; empty where there is none
  std::string message;                  ///< one sentence, without place
  std::string cure;                     ///< what to do about it
  std::uint64_t count = 1;              ///< how often; the rest is about the first in block order
  /// Of findings that become one the heaviest speaks for all: its cure cures the others too.
  std::uint8_t weight = 0;
};

/// Findings of the same kind with the same pair of source lines become one, with the counts added;
/// sorted by kind, file and line.
void fold(std::vector<Finding>& findings);

}  // namespace tilescope::observe
