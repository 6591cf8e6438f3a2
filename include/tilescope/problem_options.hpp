// The sizes and choices that make a problem of an operation, as in the options of `tilescope
// ladder`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tilescope {

/// A problem of an operation. Every operation takes some of these and has a default for each;
/// `tilescope ladder OPERATION --help` lists them.
struct ProblemOptions {
  std::optional<std::int64_t> size = {};  ///< elements, or the extent in every dimension
  std::optional<std::int64_t> rows = {}, columns = {};  ///< m, n
  std::optional<std::int64_t> inner = {};               ///< k
  std::optional<std::int64_t> radius = {}, channels = {}, iterations = {}, bins = {};
  std::optional<std::string> type = {};  ///< type of the elements, such as "float64"
  std::optional<std::string> data = {};  ///< distribution of the elements: random, constant, ...
  std::optional<std::string> reduction = {};  ///< sum, min, max, argmax
  std::optional<std::string> precision = {};  ///< precision of a product: fp32, bf16, ...
  std::uint64_t seed = 1;
};

}  // namespace tilescope
