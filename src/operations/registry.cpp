#include "operations/registry.hpp"

#include <algorithm>
#include <utility>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "operations/blur/blur.hpp"
#include "operations/elementwise/elementwise.hpp"
#include "operations/gemm/ladder/gemm_operation.hpp"
#include "operations/histogram/histogram.hpp"
#include "operations/laplacian/laplacian.hpp"
#include "operations/matmul/matmul_operation.hpp"
#include "operations/reduction/reduction.hpp"
#include "operations/reverse/reverse.hpp"
#include "operations/rung/problem_options.hpp"
#include "operations/transpose/transpose.hpp"

namespace tilescope::operations {
namespace {

std::unique_ptr<Operation> make_matmul(const ProblemOptions& options) {
  constexpr std::int64_t most = std::int64_t{1} << 31U;
  const std::int64_t size = option_in_range("--size", options.size, 1024, 0, most);
  const MatmulShape shape{option_in_range("--rows", options.rows, size, 0, most),
                          option_in_range("--columns", options.columns, size, 0, most),
                          option_in_range("--inner", options.inner, size, 0, most)};
  for (const auto& [rows, columns] :
       {std::pair{shape.m, shape.k}, std::pair{shape.k, shape.n}, std::pair{shape.m, shape.n}}) {
    require_elements(rows, columns);
  }
  const Precision precision = parse_precision(options.precision.value_or("fp32"));
  if (precision == Precision::fp32) return std::make_unique<MatmulOperation>(shape, options.seed);
  if (precision == Precision::automatic) {
    throw usage_error("--precision auto: a ladder is climbed in one precision; name it");
  }
  return std::make_unique<GemmOperation>(shape, precision, options.seed);
}

// The given options, by the names that users know.
std::vector<std::string_view> given(const ProblemOptions& options) {
  std::vector<std::string_view> names;
  const auto add = [&](std::string_view name, bool is_given) {
    if (is_given) names.push_back(name);
  };
  add("--size", options.size.has_value());
  add("--rows", options.rows.has_value());
  add("--columns", options.columns.has_value());
  add("--inner", options.inner.has_value());
  add("--radius", options.radius.has_value());
  add("--channels", options.channels.has_value());
  add("--iterations", options.iterations.has_value());
  add("--bins", options.bins.has_value());
  add("--type", options.type.has_value());
  add("--data", options.data.has_value());
  add("--op", options.reduction.has_value());
  add("--precision", options.precision.has_value());
  return names;
}

}  // namespace

const std::vector<RegisteredOperation>& registered_operations() {
  static const std::vector<RegisteredOperation> all{
      {"matmul",
       "C = A * B",
       {"--size", "--rows", "--columns", "--inner", "--precision"},
       make_matmul},
      {"saxpb", "y = a * x + b", {"--size", "--type"}, make_saxpb},
      {"vector_add", "C = A + B", {"--size", "--type"}, make_vector_add},
      {"scale",
       "a picture times a number",
       {"--size", "--rows", "--columns", "--type"},
       make_scale},
      {"reverse", "a list backwards", {"--size", "--type"}, make_reverse},
      {"transpose",
       "rows and columns exchanged",
       {"--size", "--rows", "--columns", "--type"},
       make_transpose},
      {"blur",
       "means over boxes of a picture",
       {"--size", "--rows", "--columns", "--radius", "--channels"},
       make_blur},
      {"laplacian",
       "steps of a five-point stencil",
       {"--size", "--rows", "--columns", "--iterations", "--type"},
       make_laplacian},
      {"histogram",
       "how often elements fall into bins",
       {"--size", "--bins", "--type", "--data"},
       make_histogram},
      {"reduce", "sum, min, max or argmax of a list", {"--size", "--type", "--op"}, make_reduction},
  };
  return all;
}

const RegisteredOperation& registered_operation(std::string_view name) {
  if (name == "reduction") name = "reduce";  // the name in earlier versions
  std::vector<std::string_view> names;
  for (const RegisteredOperation& operation : registered_operations()) {
    if (operation.name == name) return operation;
    names.push_back(operation.name);
  }
  const std::string_view near = nearest(name, names);
  throw usage_error("there is no operation \"{}\"{}", printable(name),
                    near.empty() ? fmt::format("; there are {}", fmt::join(names, ", "))
                                 : fmt::format(", did you mean {}?", near));
}

std::unique_ptr<Operation> make_operation(std::string_view name, const ProblemOptions& options) {
  const RegisteredOperation& operation = registered_operation(name);
  for (const std::string_view option : given(options)) {
    if (std::find(operation.options.begin(), operation.options.end(), option) ==
        operation.options.end()) {
      throw usage_error("{} takes no {}; it takes {}", operation.name, option,
                        fmt::join(operation.options, ", "));
    }
  }
  return operation.make(options);
}

}  // namespace tilescope::operations
