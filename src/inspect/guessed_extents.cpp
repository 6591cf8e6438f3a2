#include "inspect/guessed_extents.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace tilescope::inspect {
namespace {

using compile::HostValues;
using compile::Tokens;

constexpr std::uint32_t threads_per_warp = 32, usual_threads = 256, most_threads = 1024;

/// The extents in the brackets from `at`; empty if one of them is not known.
std::vector<std::int64_t> extents_at(std::size_t at, HostValues& values) {
  std::vector<std::int64_t> extents;
  const Tokens& tokens = values.tokens();
  while (values.is(at, "[")) {
    const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    const auto end = std::find(begin, tokens.end(), "]");
    const auto number = values.value(Tokens(begin, end));
    if (!number || number->integer <= 0 || end == tokens.end()) return {};
    extents.push_back(number->integer);
    at = static_cast<std::size_t>(end - tokens.begin()) + 1;
  }
  return extents;
}

/// The extents of every static __shared__ array in the source.
std::vector<std::vector<std::int64_t>> shared_arrays(HostValues& values) {
  std::vector<std::vector<std::int64_t>> arrays;
  const Tokens& tokens = values.tokens();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] != "__shared__") continue;
    while (i < tokens.size() && tokens[i] != ";" && tokens[i] != "[") ++i;
    arrays.push_back(extents_at(i, values));
  }
  return arrays;
}

/// The threads for which an array in one dimension has room: an element for each, or, in a short
/// one, an element for each warp.
std::uint32_t threads_for(std::int64_t elements) {
  constexpr std::int64_t fewest_warps = 4;
  if (elements < fewest_warps || elements >= usual_threads) return usual_threads;
  const auto count = static_cast<std::uint32_t>(elements);
  return count < threads_per_warp ? count * threads_per_warp
                                  : count / threads_per_warp * threads_per_warp;
}

}  // namespace

Dim3 guessed_grid(std::string_view source) {
  constexpr std::string_view signs[] = {"blockIdx", "gridDim", "this_grid",  "ctaid",
                                        "cluster",  "atom",    "#include \""};
  const bool may_differ = std::any_of(std::begin(signs), std::end(signs),
                                      [&](auto sign) { return source.find(sign) != source.npos; });
  return {may_differ ? 4u : 1u, 1, 1};
}

Dim3 guessed_block(std::string_view source, HostValues& values) {
  const bool is_flat = source.find("threadIdx.y") == source.npos;
  Dim3 block = is_flat ? Dim3{usual_threads, 1, 1} : Dim3{16, 16, 1};
  for (const std::vector<std::int64_t>& extents : shared_arrays(values)) {
    if (is_flat && extents.size() == 1) block.x = std::min(block.x, threads_for(extents[0]));
    if (is_flat || extents.size() != 2) continue;
    const std::int64_t side = std::min(extents[0], extents[1]);
    if (side * side > most_threads) continue;
    return {static_cast<std::uint32_t>(side), static_cast<std::uint32_t>(side), 1};
  }
  return block;
}

}  // namespace tilescope::inspect
