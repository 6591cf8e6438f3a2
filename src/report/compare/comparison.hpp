// The differences of two snapshots: which counters moved, in all and on which lines, and which
// findings came and went.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/compare/snapshot.hpp"

namespace tilescope::report {

/// A counter that moved: of estimates, by more than chance explains.
struct Move {
  std::string counter;
  double before = 0.0, after = 0.0;
};

/// A source line with moves. Lines are the same if their text is; without such a line, if their
/// numbers are.
struct LineMoves {
  const SnapshotLine* before = nullptr;  ///< null: nothing of the line ran before
  const SnapshotLine* after = nullptr;
  std::vector<Move> moves;  ///< the largest first

  const SnapshotLine& line() const { return after != nullptr ? *after : *before; }
};

struct Comparison {
  std::vector<Move> totals;
  std::map<std::string, std::vector<Move>> kernels;  ///< that ran before and after
  std::vector<std::string> new_kernels, gone_kernels;
  std::vector<LineMoves> lines;  ///< the order is that of `after`, then lines that are gone
  std::vector<const SnapshotFinding*> new_findings, gone_findings;

  bool same() const;
  /// The line in which the counter moved most; null if it moved on no line.
  const LineMoves* most_moved(const std::string& counter) const;
};

/// Refers to both snapshots, which must outlive it.
Comparison compare(const Snapshot& before, const Snapshot& after);

}  // namespace tilescope::report
