#include "cli/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/errors.hpp"
#include "base/precision.hpp"
#include "base/text.hpp"
#include "cli/show.hpp"

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
      fmt::format("Arithmetic of a product, fp32 by default: {}",
                  fmt::join(precision_names().subspan(1), ", ")));
  add("--seed N", options.seed, "Seed of the random data", shown);
}

void ReasoningOptions::declare(const Options& add, bool with_gpu) {
  if (with_gpu) {
    add("--gpu NAME|FILE.json", gpu_name,
        "A GPU of the table (tilescope devices --all) or your own as FILE.json", shown);
  }
  add("--show", show, "Show the arithmetic step by step");
  add.outputs(outputs);
}

int ReasoningOptions::finish(report::Page page) const {
  page.with_steps = show;
  cli::show(page, outputs);
  return 0;
}

std::vector<std::int64_t> parse_numbers(const std::string& text, std::string_view option) {
  std::string commas = text;
  std::replace(commas.begin(), commas.end(), 'x', ',');
  std::vector<std::int64_t> numbers;
  for (const std::string_view part : split(commas, ',')) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size()) {
      throw usage_error("{} {}: expected whole numbers such as 16,16", option, printable(text, 60));
    }
    numbers.push_back(value);
  }
  return numbers;
}

Dim3 parse_dimensions(const std::string& text, std::string_view option) {
  const std::vector<std::int64_t> numbers = parse_numbers(text, option);
  const bool fits = numbers.size() <= 3 && std::all_of(numbers.begin(), numbers.end(), [](auto n) {
                      return n >= 1 && n <= 0x7fffffff;
                    });
  if (!fits) {
    throw usage_error("{} {}: one to three extents from 1 to 2,147,483,647 are allowed", option,
                      printable(text, 60));
  }
  Dim3 extents;
  extents.x = static_cast<std::uint32_t>(numbers[0]);
  if (numbers.size() > 1) extents.y = static_cast<std::uint32_t>(numbers[1]);
  if (numbers.size() > 2) extents.z = static_cast<std::uint32_t>(numbers[2]);
  return extents;
}

std::map<std::string, std::string> parse_definitions(const std::vector<std::string>& pairs) {
  std::map<std::string, std::string> result;
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    const std::string name(trim(pair.substr(0, std::min(equals, pair.size()))));
    if (equals == std::string::npos || name.empty() || equals + 1 == pair.size()) {
      throw usage_error("--let {}: write it as NAME=EXPRESSION, such as n=1024",
                        printable(pair, 60));
    }
    result[name] = pair.substr(equals + 1);
  }
  return result;
}

void AccessOptions::declare(const Options& add) {
  add("--block X[,Y[,Z]]", block, "Extents of a block", shown);
  add("--grid X[,Y[,Z]]", grid, "Extents of the grid", shown);
  add("--let NAME=EXPRESSION", definitions, "Value of a name in the index");
  add("--element-bytes N", element_bytes, "Bytes of an element: 1, 2, 4, 8, 16", shown);
  add("--columns N", columns, "Elements of a row, for two subscripts",
      within(std::int64_t{0}, std::int64_t{1} << 31));
  add("--warp N", warp, "Which warp of the block", shown, within(0, 31));
}

gpu::AccessQuestion AccessOptions::question(int shared_banks) const {
  return {.expression = expression,
          .definitions = parse_definitions(definitions),
          .launch = {.grid = parse_dimensions(grid, "--grid"),
                     .block = parse_dimensions(block, "--block")},
          .element_bytes = element_bytes,
          .columns = columns,
          .warp = static_cast<std::uint64_t>(warp),
          .shared_banks = shared_banks};
}

}  // namespace tilescope::cli
