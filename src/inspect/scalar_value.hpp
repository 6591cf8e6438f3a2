// One value of a kernel parameter, from text to the bytes that the kernel reads.
#pragma once

#include <cstddef>
#include <string_view>
#include <tilescope/types.hpp>
#include <vector>

namespace tilescope::inspect {

/// The bytes of `text` as a value of `type`: decimal or 0x integers with an optional sign; decimal
/// or 0x floating-point numbers, inf and nan. Throws Error(usage), one line, if `text` is no such
/// value or is out of the type's range (a float is rounded, but never to infinity).
std::vector<std::byte> parse_scalar(std::string_view text, DataType type);

/// The short name of a type in kernel code: "f32", "u8".
std::string_view short_name_of(DataType type);

}  // namespace tilescope::inspect
