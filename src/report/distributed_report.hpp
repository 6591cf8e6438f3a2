// The page of `ladder distributed`: rungs of a product over many ranks.
#pragma once

#include <optional>
#include <string>
#include <tilescope/matrix.hpp>
#include <vector>

#include "ranks/ladder/measured_ladder.hpp"
#include "ranks/ladder/network_model.hpp"
#include "report/page/page.hpp"

namespace tilescope::report {

/// One rung, on real ranks or on the model.
struct DistributedResult {
  ranks::DistributedRungInfo info;
  ranks::Layout layout;
  ranks::NetworkModel model;
  ranks::PlayedRung played;
  std::optional<ranks::MeasuredRung> measured;
  bool is_right = true;  ///< of the run on real numbers
};

/// The efficiency of a rung on so many ranks.
struct ScalingPoint {
  std::size_t rung = 0;  ///< its number in the results
  int ranks = 1;
  double strong = 0.0;  ///< of the product itself
  double weak = 0.0;    ///< of one with as much memory a rank
};

struct DistributedContext {
  MatmulShape shape;
  int ranks = 1, hosts = 1;
  std::string precision, where;
  int verified_ranks = 0;  ///< on which a played rung's program ran on real numbers
  int samples = 0;         ///< of a measured rung
};

Page distributed_page(const DistributedContext& context,
                      const std::vector<DistributedResult>& results,
                      const std::vector<ScalingPoint>& scaling);

/// The names and ideas of the rungs.
Page distributed_list_page();

}  // namespace tilescope::report
