// A check of a long program that goes on after it was cut short (InspectOptions::resume).
//
// Memory cannot be kept between runs, so the program runs again from its begin. But launches that
// an earlier run has checked run unwatched, and their findings come from that run's records. A file
// holds the journals of all runs, one behind the other, each behind a line that says what it checks
// and from which launch on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "inspect/program/program_journal.hpp"

namespace tilescope::inspect {

/// Tells a launch from another, as far as launches of two runs can be compared.
std::uint64_t digest_of(const std::string& kernel, Dim3 grid, Dim3 block);

/// Says which check a file belongs to: the program and its arguments, which are `words`, the run
/// time that watches it, and the options that results depend on.
std::string check_key(const std::vector<std::string>& words, const std::string& library,
                      const std::string& options);

/// A run of the check, and the launches whose findings are taken from it.
struct CheckedRun {
  Journal journal;
  std::uint64_t first = 0, last = 0;  ///< the launches from `first` to before `last`
};

/// The runs of `journals`, which lie one behind the other in a file: where two know of a launch,
/// the later one, which saw that the launch had changed, has it.
std::vector<CheckedRun> checked_runs(std::vector<Journal> journals);

/// Prepares the file for the next run of the check `key`: writes the line that begins it. Returns
/// the digests of the launches that need not be watched again. Throws Error(usage) for a file of
/// another check, Error(bad_input) for one that cannot be read or written.
std::vector<std::uint64_t> begin_resumed_run(const std::string& path, const std::string& key);

}  // namespace tilescope::inspect
