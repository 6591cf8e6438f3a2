// One piece of advice on a launch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "observe/source_place.hpp"

namespace tilescope::report {

enum class AdviceKind : std::uint8_t {
  uncoalesced,       ///< neighbouring threads lie apart
  split_rows,        ///< a warp spans several short rows of the block
  misaligned,        ///< neighbours, but off the start of a sector
  narrow,            ///< a byte or two a thread
  contended_atomic,  ///< many lanes change one word
  bank_conflict,
  local_memory,
  divergence,
  partial_warps,
};
std::string_view to_string(AdviceKind kind);

struct Advice {
  AdviceKind kind = AdviceKind::uncoalesced;
  SourcePlace place;    ///< line 0: about the launch as a whole
  std::string message;  ///< sentences, without the place
  double weight = 0.0;  ///< how much of the launch's cost of this kind it is about, 0 to 1
};

}  // namespace tilescope::report
