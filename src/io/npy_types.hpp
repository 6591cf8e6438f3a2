// NumPy's names of element types ("descr" in a header) and DataType.
#pragma once

#include <string>
#include <string_view>
#include <tilescope/types.hpp>

namespace tilescope::io {

/// The type named by `descr`, such as "<f4". Throws Error(bad_input), with `path` in front and
/// advice, for big-endian, object, text, date, complex and any other type.
DataType type_of_descr(std::string_view descr, const std::string& path);

/// "<f4" for float32. Throws Error(usage) for bfloat16, which NumPy does not have.
std::string descr_of(DataType type);

}  // namespace tilescope::io
