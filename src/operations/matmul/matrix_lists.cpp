#include "operations/matmul/matrix_lists.hpp"

#include <algorithm>
#include <optional>

#include "base/errors.hpp"
#include "operations/gemm/problem/overlap.hpp"
#include "operations/matmul/matmul_choice.hpp"

namespace tilescope::operations {
namespace {

/// The distance of matrices that are equally far apart, in elements; nothing if they are not.
template <typename View>
std::optional<std::int64_t> distance_of(std::span<const View> list) {
  const auto at = [&](std::size_t i) { return reinterpret_cast<std::intptr_t>(list[i].data); };
  const std::int64_t bytes = list.size() < 2 ? 0 : at(1) - at(0);
  const auto element = static_cast<std::int64_t>(size_of(list.front().type));
  for (std::size_t i = 1; i < list.size(); ++i) {
    if (at(i) - at(i - 1) != bytes) return std::nullopt;
  }
  if (bytes < 0 || bytes % element != 0) return std::nullopt;
  return bytes / element;
}

template <typename View>
bool are_alike(std::span<const View> list) {
  const ConstMatrixView& first = list.front();
  return std::all_of(list.begin(), list.end(), [&](const ConstMatrixView& one) {
    return one.rows == first.rows && one.columns == first.columns && one.order == first.order &&
           one.leading == first.leading;
  });
}

template <typename View>
void require_one_type(std::span<const View> list, const char* name) {
  const DataType type = list.front().type;
  for (std::size_t i = 1; i < list.size(); ++i) {
    if (list[i].type == type) continue;
    throw usage_error(
        "the matrices of {} differ: product 0 has {}, product {} {}; a list needs "
        "one type",
        name, name_of(type), i, name_of(list[i].type));
  }
}

// The values of a bias belong to columns of C, which its order decides for the kernels.
void require_one_bias(std::span<const MatrixView> c) {
  for (const MatrixView& one : c) {
    if (one.columns == c.front().columns && one.order == c.front().order) continue;
    throw usage_error(
        "a bias goes with matrices of C that have as many columns each, and one order");
  }
}

}  // namespace

std::vector<HostProblem> MatrixLists::problems(const Device& device,
                                               const MatmulOptions& options) const {
  if (a.size() != c.size() || b.size() != c.size() || c.empty()) {
    throw usage_error(
        "the lists have {}, {} and {} matrices: A, B and C need equally many, and at least one",
        a.size(), b.size(), c.size());
  }
  require_one_type(a, "A");
  require_one_type(b, "B");
  require_one_type(c, "C");
  if (!options.bias.empty()) require_one_bias(c);
  std::vector<HostProblem> all;
  for (std::size_t i = 0; i < c.size(); ++i) {
    try {
      all.push_back(checked_anywhere(device, {a[i]}, {b[i]}, {c[i]}, options));
    } catch (const Error& error) {
      if (c.size() == 1) throw;
      throw Error(error.kind(), fmt::format("product {} of the lists: {}", i, error.what()));
    }
  }
  if (any_overlaps(c, a) || any_overlaps(c, b)) {
    throw usage_error(
        "a matrix of C shares memory with A, B or another of C: give it memory of its own");
  }
  if (!options.bias.empty()) {
    for (const HostProblem& one : all) require_own_memory(one);
  }
  return all;
}

bool MatrixLists::is_alike() const {
  return are_alike(a) && are_alike(b) && are_alike(c);
}

bool MatrixLists::is_batch() const {
  if (!is_alike()) return false;
  const auto of_c = distance_of(c);
  // Matrices between each other's rows, or in one place, are no batch of C.
  const bool is_apart = c.size() < 2 || (of_c && *of_c >= c[0].vectors() * c[0].leading);
  return is_apart && distance_of(a) && distance_of(b);
}

HostProblem MatrixLists::batch(const HostProblem& first) const {
  HostProblem problem = first;
  const auto count = static_cast<std::int64_t>(c.size());
  problem.a = {a.front(), count, *distance_of(a)};
  problem.b = {b.front(), count, *distance_of(b)};
  problem.c = {c.front(), count, *distance_of(c)};
  return problem;
}

}  // namespace tilescope::operations
