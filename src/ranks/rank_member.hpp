// The facts that ranks tell each other before they exchange parts of matrices.
#pragma once

#include <algorithm>
#include <vector>

#include "ranks/group.hpp"

namespace tilescope::ranks {

/// One rank, as the others know it.
struct Member {
  int host = 0;               ///< the first rank of its machine
  bool sees_operands = true;  ///< rank 0 sends the others their shares
};

/// Whether all ranks of a row or column of the grid can read its panels from one machine's memory.
inline bool share_files(const Group& line, const Member& mine) {
  const std::vector<Member> members = line.gather(mine);
  return std::all_of(members.begin(), members.end(), [&](const Member& member) {
    return member.sees_operands && member.host == mine.host;
  });
}

}  // namespace tilescope::ranks
