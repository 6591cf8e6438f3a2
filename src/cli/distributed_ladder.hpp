// `ladder distributed`: a product over many ranks, under mpirun or on a model.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "operations/registry.hpp"

namespace tilescope::cli {

/// The options of the model, beside those of every ladder.
struct DistributedOptions {
  int ranks = 1024;
  double link_gbps = 50.0, latency_us = 5.0, tflops = 750.0;

  void declare(const Options& add);
};

/// Climbs the rungs named in `variants`, or all, and shows the page. Returns the exit code.
int climb_distributed(const ProblemOptions& problem, const std::vector<std::string>& variants,
                      int samples, const DistributedOptions& options, const Outputs& outputs);

}  // namespace tilescope::cli
