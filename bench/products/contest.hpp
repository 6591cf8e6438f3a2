// One product, computed by cuBLAS and by Tilescope's kernels: verified, timed in turns, verified
// again.
#pragma once

#include <optional>
#include <string>
#include <tilescope/device.hpp>
#include <vector>

#include "operands.hpp"
#include "samples.hpp"

namespace tilescope::products {

/// The result of one of them.
struct Result {
  std::string variant;
  bool is_peer = false;
  bool dispatched = false;  ///< the library's own choice for the problem
  std::string trouble;      ///< why there is no time: refused, failed or wrong; empty if there is
  bool wrong = false;       ///< the trouble is a wrong result
  std::string note;
  Accuracy accuracy;
  std::vector<double> samples_ms;  ///< ascending

  double median_ms() const;
};

struct ContestOptions {
  /// Names of variants, "dispatched" among them; empty: all.
  std::vector<std::string> variants;
  /// Tiles to compare the model's choice with, as parse_tensor_tile() takes them.
  std::vector<std::string> tiles;
  int samples = 15;  ///< at least, of each variant
  Data data = Data::uniform;
  std::uint64_t seed = 1;
};

/// cuBLAS's results first: its fastest algorithm, then its default one where that is another.
/// Nothing is timed on a device that is no GPU.
std::vector<Result> contest(Device& device, const operations::GemmProblem& problem,
                            const ContestOptions& options);

}  // namespace tilescope::products
