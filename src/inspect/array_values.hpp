// The elements of arrays in a launch: their initial values, and their text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tilescope/launch_description.hpp>
#include <tilescope/types.hpp>

namespace tilescope::inspect {

/// The number of elements that `fill_elements` makes from one random state: pieces begin at
/// multiples of it.
inline constexpr std::uint64_t values_per_piece = 1 << 16;

/// Writes elements `first`, `first + 1`, ... of the array that `argument` describes; `first` is a
/// multiple of values_per_piece. Not for Initial::file and Initial::uninitialised.
void fill_elements(const LaunchArgument& argument, std::uint64_t first,
                   std::span<std::byte> elements);

/// One element as text: integers exactly, floating-point numbers with 6 digits.
std::string element_text(DataType type, const std::byte* element);

/// One element as a number, for comparisons.
double element_value(DataType type, const std::byte* element);

}  // namespace tilescope::inspect
