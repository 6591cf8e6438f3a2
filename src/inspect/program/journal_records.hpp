// The records of a journal: what happened in a watched program, in a form that another process
// reads.
#pragma once

#include <cstdint>
#include <string>
#include <tilescope/finding.hpp>
#include <tilescope/inspection.hpp>
#include <vector>

#include "inspect/program/host_call.hpp"
#include "inspect/results/explain_details.hpp"

namespace tilescope::inspect {

/// A call of the run time as another process reads it.
struct HostStack {
  std::string call;  ///< the function's name
  std::vector<HostAddress> frames;
};

/// Number of a HostStack in the journal, from 1; 0: none.
using StackId = std::uint32_t;

struct JournalLaunch {
  std::string kernel;
  Dim3 grid, block;
  RunSummary ran;
  Counts totals;  ///< zero unless the program is explained
  StackId stack = 0;
  bool is_watched = true;
  std::uint64_t blocks_counted = 0;  ///< if the program is explained
  Spreads spread = {};               ///< of the totals
};

/// The begin of a run of a check that may be resumed.
struct JournalRun {
  std::string key;          ///< says which check it is
  std::uint64_t first = 0;  ///< launches before this one are not watched again
};

struct JournalFinding {
  Finding finding;
  StackId first = 0, second = 0;  ///< for places that are still to be resolved
};

/// The name that an allocation has in findings and counts.
struct JournalAllocation {
  std::string name;
  StackId stack = 0;
};

/// The counts by line so far; each such record replaces the one before.
struct JournalCounts {
  LaunchCounts sum;
  std::vector<ExplainDetails::OfLaunch> kernels;
};

}  // namespace tilescope::inspect
