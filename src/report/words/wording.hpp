// What the words of a finding are made of. Each kind of finding has one function, which gives its
// message and its cure; finding_words.cpp has the table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "tilescope/finding.hpp"

namespace tilescope::report {

/// Two sentences without their full stops.
struct Wording {
  std::string message, cure;
};

/// The facts that findings of this kind carry; all default where a finding has none.
template <class Facts>
Facts facts_of(const Finding& finding) {
  const Facts* facts = std::get_if<Facts>(&finding.facts);
  return facts == nullptr ? Facts{} : *facts;
}

/// "1,024 bytes"
std::string bytes_text(std::uint64_t bytes);
/// "3 threads"
std::string counted(std::uint64_t count, std::string_view noun);

// memory_words.cpp
Wording out_of_bounds_words(const Finding& finding);
Wording misaligned_words(const Finding& finding);
Wording null_pointer_words(const Finding& finding);
Wording freed_memory_words(const Finding& finding);
Wording wrong_space_words(const Finding& finding);
Wording read_only_words(const Finding& finding);
Wording uninitialised_read_words(const Finding& finding);

// race_words.cpp; for unfinished copies too
Wording race_words(const Finding& finding);

// launch_words.cpp
Wording barrier_unreached_words(const Finding& finding);
Wording barrier_mismatch_words(const Finding& finding);
Wording bad_barrier_words(const Finding& finding);
Wording warp_mask_words(const Finding& finding);
Wording bad_call_words(const Finding& finding);
Wording bad_operand_words(const Finding& finding);
Wording trap_words(const Finding& finding);
Wording unfinished_words(const Finding& finding);
Wording wrote_nothing_words(const Finding& finding);
Wording illegal_launch_words(const Finding& finding);

}  // namespace tilescope::report
