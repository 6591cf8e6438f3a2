#include "cli/problem_arguments.hpp"

namespace tilescope::cli {

void add_problem_options(CLI::App& command, ProblemOptions& options) {
  const auto number = [&](const char* flags, std::optional<std::int64_t>& target,
                          const char* help) {
    command.add_option(flags, target, help)->type_name("N")->group("Problem");
  };
  const auto word = [&](const char* flags, std::optional<std::string>& target, const char* help) {
    command.add_option(flags, target, help)->type_name("NAME")->group("Problem");
  };
  number("--size", options.size, "Elements of a list; every extent of a matrix or picture");
  number("-m,--rows", options.rows, "Rows (default: --size)");
  number("-n,--columns", options.columns, "Columns (default: --size)");
  number("-k,--inner", options.inner, "Columns of A and rows of B in a product (default: --size)");
  number("--radius", options.radius, "Radius of a blur");
  number("--channels", options.channels, "Samples of a pixel: 1 or 3");
  number("--iterations", options.iterations, "Steps of the Laplacian");
  number("--bins", options.bins, "Bins of a histogram");
  word("--type", options.type, "Type of the elements, such as float32 or uint8");
  word("--data", options.data, "Data of a histogram: random, constant, zipf or sorted");
  word("--op", options.reduction, "Reduction: sum, min, max or argmax");
  word("--precision", options.precision,
       "Arithmetic of a product: fp32 (default), fp32_fast, tf32, bf16, fp16 or fp64");
  command.add_option("--seed", options.seed, "Seed of the random data")
      ->type_name("N")
      ->group("Problem")
      ->capture_default_str();
}

}  // namespace tilescope::cli
