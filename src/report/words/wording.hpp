// The words of findings. finding_words.cpp has the table of all kinds: a row says the words, or
// names one of these functions, which choose them by the facts of the finding.
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

/// The facts of findings of this kind; all default if a finding has none.
template <class Facts>
Facts facts_of(const Finding& finding) {
  const Facts* facts = std::get_if<Facts>(&finding.facts);
  return facts == nullptr ? Facts{} : *facts;
}

/// The accessed memory; all default if a finding has none.
MemoryPlace memory_of(const Finding& finding);
/// "1,024 bytes"
std::string bytes_text(std::uint64_t bytes);
/// "3 threads"
std::string counted(std::uint64_t count, std::string_view noun);

Wording out_of_bounds_words(const Finding& finding);
Wording cluster_memory_words(const Finding& finding);
Wording wrong_space_words(const Finding& finding);
Wording uninitialised_read_words(const Finding& finding);
/// For races and unfinished copies.
Wording race_words(const Finding& finding);
Wording barrier_unreached_words(const Finding& finding);
Wording endless_wait_words(const Finding& finding);
Wording warp_mask_words(const Finding& finding);
/// For mistakes with the work of engines.
Wording async_words(const Finding& finding);
/// For mistakes with mbarriers.
Wording phase_words(const Finding& finding);
Wording named_barrier_words(const Finding& finding);
Wording local_arrive_words(const Finding& finding);
Wording tile_words(const Finding& finding);
Wording register_budget_words(const Finding& finding);
Wording schedule_words(const Finding& finding);
Wording texture_words(const Finding& finding);
Wording outside_surface_words(const Finding& finding);
Wording trap_words(const Finding& finding);

Wording copy_bounds_words(const Finding& finding);
Wording copy_size_words(const Finding& finding);
Wording host_pointer_words(const Finding& finding);
Wording unsynchronised_words(const Finding& finding);
Wording uncovered_words(const Finding& finding);

}  // namespace tilescope::report
