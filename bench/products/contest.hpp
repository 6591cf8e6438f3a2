// One product, computed by cuBLAS and by Tilescope's kernels: verified, timed in turns, verified
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
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
  std::string plan;              ///< its text, where every plan takes part
  double cycles = 0.0;           ///< expected by the model; 0: it has none
  std::vector<double> features;  ///< of such a plan of tensor_tiles, the model's cycles first
  bool is_peer = false;
  bool is_less_accurate = false;  ///< a peer with which nothing is compared
  bool dispatched = false;        ///< the library's own choice for the problem
  std::string trouble;  ///< why there is no time: refused, failed or wrong; empty if there is
  bool wrong = false;   ///< the trouble is a wrong result
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
  bool all_plans = false;  ///< every plan that the dispatcher considers, instead of `variants`
  std::size_t most_plans = std::numeric_limits<std::size_t>::max();  ///< those ranked first
  int samples = 15;                                                  ///< at least, of each variant
  double budget_ms = 260.0;  ///< of runs of each variant, in all rounds; peers get as much
  Data data = Data::uniform;
  std::uint64_t seed = 1;
};

/// One of our kernels that takes part.
struct Entry {
  Result result;
  std::function<std::unique_ptr<operations::GemmRun>(Device& device)> prepare;
};
/// The entries of a contest, the dispatcher's choice among them.
std::vector<Entry> entries_of(Device& device, const operations::GemmProblem& problem,
                              const ContestOptions& options);

/// The dispatcher's choice on such a GPU, then every other plan that its models distinguish, but
/// for those that they expect to be far slower. If variants are named, only theirs.
std::vector<Entry> plan_entries(const DeviceProperties& gpu, const operations::GemmProblem& problem,
                                const ContestOptions& options);

/// cuBLAS's results first: its fastest algorithm, then its default one where that is another, then
/// for 8-bit floats its fastest without promoted sums, whose errors may be larger.
/// Nothing is timed on a device that is no GPU. cuBLAS computes a problem without its bias and
/// scales.
std::vector<Result> contest(Device& device, const operations::GemmProblem& problem,
                            const ContestOptions& options);

}  // namespace tilescope::products
