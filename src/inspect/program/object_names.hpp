// Names of a program's allocations, as its source has them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "inspect/program/host_places.hpp"
#include "inspect/program/program_journal.hpp"

namespace tilescope::inspect {

/// An allocation in the source's words.
struct ObjectName {
  std::string name;                 ///< "d_x"; "cudaMalloc in line 12" if the source does not say
  std::uint32_t element_bytes = 0;  ///< by the sizeof() in the call; 0: not known
};

/// The name and the element in a call such as `cudaMalloc((void**)&d_x, n * sizeof(float))`;
/// `function` is its name. No name if `code` has no such call of a variable's address. `index`: of
/// the calls in `code`, from 0.
ObjectName object_in_call(std::string_view code, std::string_view function, std::size_t index = 0);
/// How often the first line of `code` calls it.
std::size_t calls_in_line(std::string_view code, std::string_view function);

/// By JournalAllocation::name; the allocations are in the order of their first calls. Two with one
/// name, made by different calls of one function, get the line of the call behind it.
std::map<std::string, ObjectName> object_names(const Journal& journal, const HostPlaces& places);

}  // namespace tilescope::inspect
