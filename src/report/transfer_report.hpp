// The page of `transfer`: the link's rates, and pipelines with who was busy when.
#pragma once

#include <string>
#include <vector>

#include "measure/link.hpp"
#include "measure/pipelines.hpp"
#include "report/page/page.hpp"

namespace tilescope::report {

struct TransferContext {
  std::string device;  ///< empty: the pipelines were played on a model
  std::string where;   ///< the device or the model, in words
  int samples = 0;
  std::uint64_t total_bytes = 0;  ///< of A, B and C together
};

/// `rates` is a row a size; what was not measured is "-".
Page transfer_page(const TransferContext& context, const std::vector<measure::LinkRate>& rates,
                   const std::vector<measure::PipelineResult>& pipelines);

}  // namespace tilescope::report
