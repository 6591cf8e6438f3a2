// What the source says about an access: how it is written, and which part of its index carries
// threadIdx.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "observe/source_place.hpp"
#include "report/source_text.hpp"

namespace tilescope::report {

/// An access as its line writes it.
struct WrittenAccess {
  std::string text;     ///< "A[row * k + i]"
  bool member = false;  ///< of a structure: "points[i].x"
};

/// The access to `object` in `line`: NAME[...] by the object's name. If the line does not name it
/// (a pointer with another name was used), the only access of its direction that the line has,
/// unless that is to one of `others`. Empty when there is none.
WrittenAccess written_access(const std::string& line, const std::string& object, bool is_store,
                             const std::set<std::string>& others = {});

/// The term of an index that carries one component of threadIdx, and what multiplies it there.
struct CarryingTerm {
  std::string term;    ///< "row * k"
  std::string factor;  ///< "k"; empty when it is not multiplied by one thing
};

/// Looks for threadIdx.x (`axis` 0), .y or .z in the last index of `access`, through the
/// definitions
/// (`int row = ...;`) that stand above `place`. Nothing when the source is beyond this reading.
std::optional<CarryingTerm> carrying_term(const std::string& access, std::size_t axis,
                                          const SourcePlace& place, SourceTexts& sources);

}  // namespace tilescope::report
