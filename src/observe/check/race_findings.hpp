// From recorded races to findings.
#pragma once

#include <vector>

#include "observe/check/access_roles.hpp"
#include "observe/check/race_log.hpp"
#include "observe/check/update_pairs.hpp"
#include "observe/describe.hpp"

namespace tilescope::observe {

/// The program's accesses, as far as races depend on them.
struct RaceContext {
  const UpdatePairs& updates;
  const std::vector<AccessRole>& roles;
  bool fences;  ///< the program orders its blocks by fences (orders_blocks)
};

void describe_races(const RaceLog& log, const Describer& describer, const RaceContext& context,
                    std::vector<Finding>& findings);

}  // namespace tilescope::observe
