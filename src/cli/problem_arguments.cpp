#include "cli/problem_arguments.hpp"

namespace tilescope::cli {

void declare_problem(const Options& command, ProblemOptions& options) {
  const Options add = command.in_group("Problem");
  add("--size N", options.size, "Elements of a list; every extent of a matrix or picture");
  add("-m,--rows N", options.rows, "Rows (default: --size)");
  add("-n,--columns N", options.columns, "Columns (default: --size)");
  add("-k,--inner N", options.inner, "Columns of A and rows of B in a product (default: --size)");
  add("--radius N", options.radius, "Radius of a blur");
  add("--channels N", options.channels, "Samples of a pixel: 1 or 3");
  add("--iterations N", options.iterations, "Steps of the Laplacian");
  add("--bins N", options.bins, "Bins of a histogram");
  add("--type NAME", options.type, "Type of the elements, such as float32 or uint8");
  add("--data NAME", options.data, "Data of a histogram: random, constant, zipf or sorted");
  add("--op NAME", options.reduction, "Reduction: sum, min, max or argmax");
  add("--precision NAME", options.precision,
      "Arithmetic of a product: fp32 (default), fp32_fast, tf32, bf16, fp16 or fp64");
  add("--seed N", options.seed, "Seed of the random data", shown);
}

}  // namespace tilescope::cli
