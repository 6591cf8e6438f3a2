// An access in the source: its text, and the part of its index that carries threadIdx.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "observe/source_place.hpp"
#include "report/source_text.hpp"

namespace tilescope::report {

/// An access in the text of its line.
struct WrittenAccess {
  std::string text;     ///< "A[row * k + i]"
  bool member = false;  ///< a member of a structure: "points[i].x"
};

/// The access to `object` in `line`: NAME[...] by the object's name. If the line does not name it
/// (it uses a pointer with another name), the only access of its direction in the line, unless that
/// is to one of `others`. Empty if there is none.
WrittenAccess written_access(const std::string& line, const std::string& object, bool is_store,
                             const std::set<std::string>& others = {});

/// The term of an index that carries one component of threadIdx, and its factor there.
struct CarryingTerm {
  std::string term;    ///< "row * k"
  std::string factor;  ///< "k"; empty if it is not multiplied by a single factor
};

/// Finds threadIdx.x (`axis` 0), .y or .z in the last index of `access`, through the definitions
/// (`int row = ...;`) above `place`. Nothing if the source is too complex for this parser.
std::optional<CarryingTerm> carrying_term(const std::string& access, std::size_t axis,
                                          const SourcePlace& place, SourceTexts& sources);

}  // namespace tilescope::report
