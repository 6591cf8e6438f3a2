#include "operations/gemm/problem/shape_text.hpp"

#include <charconv>
#include <vector>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace tilescope::operations {

MatmulShape parse_shape(std::string_view text) {
  const auto parts = split(text, 'x');
  std::vector<std::int64_t> extents;
  for (const std::string_view part : parts) {
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(part.data(), part.data() + part.size(), value);
    const bool is_whole = failure == std::errc{} && end == part.data() + part.size();
    if (is_whole && value > 0) extents.push_back(value);
  }
  if (extents.size() != 3 || parts.size() != 3) {
    throw usage_error("--shape {}: give MxNxK, extents of at least 1, such as 1000x999x1001",
                      printable(text, 40));
  }
  return {extents[0], extents[1], extents[2]};
}

}  // namespace tilescope::operations
