#include <cmath>
#include <limits>
#include <vector>

#include "operations/chunks.hpp"
#include "operations/reduction/reduction.hpp"

namespace tilescope::operations {
namespace {

template <typename T>
bool is_nan(T x) {
  return x != x;  // never, for integers
}

// The index of the first element of [first, end) that no other comes before; `before(a, b)` says
// whether a is to be taken over b.
template <typename T, typename Before>
std::size_t first_best(const T* x, std::size_t first, std::size_t end, const Before& before) {
  std::size_t best = first;
  for (std::size_t i = first + 1; i < end; ++i) {
    if (before(x[i], x[best])) best = i;
  }
  return best;
}

template <typename T, typename Before>
std::size_t find_best(const T* x, std::size_t count, const Before& before) {
  constexpr std::size_t chunk = 1 << 16;
  std::vector<std::size_t> found((count + chunk - 1) / chunk);
  for_chunks(
      count,
      [&](std::size_t first, std::size_t end) {
        found[first / chunk] = first_best(x, first, end, before);
      },
      chunk);
  std::size_t best = found[0];
  for (const std::size_t i : found) {
    if (before(x[i], x[best])) best = i;
  }
  return best;
}

template <typename T, typename Sum>
Sum sum_of(const T* x, std::size_t count) {
  constexpr std::size_t chunk = 1 << 12;  // short pieces keep the error of a sum of doubles small
  std::vector<Sum> sums((count + chunk - 1) / chunk);
  for_chunks(count, [&](std::size_t first, std::size_t end) {
    for (std::size_t start = first; start < end; start += chunk) {
      Sum sum{};
      for (std::size_t i = start; i < std::min(end, start + chunk); ++i) sum += x[i];
      sums[start / chunk] = sum;
    }
  });
  Sum all{};
  for (const Sum sum : sums) all += sum;
  return all;
}

template <typename T, typename Sum>
void reduce_type(const T* x, std::size_t count, Reduction reduction, void* result) {
  const auto above = [](T a, T b) { return a > b || (is_nan(a) && !is_nan(b)); };
  const auto below = [](T a, T b) { return a < b || (is_nan(a) && !is_nan(b)); };
  switch (reduction) {
    case Reduction::sum:
      *static_cast<Sum*>(result) = sum_of<T, Sum>(x, count);
      return;
    case Reduction::min:
      *static_cast<T*>(result) = x[find_best(x, count, below)] + T{};  // never -0
      return;
    case Reduction::max:
      *static_cast<T*>(result) = x[find_best(x, count, above)] + T{};
      return;
    case Reduction::argmax:
      *static_cast<std::int64_t*>(result) = static_cast<std::int64_t>(find_best(x, count, above));
      return;
  }
}

}  // namespace

void reduce_on_cpu(const ConstArrayView& x, Reduction reduction, void* result) {
  switch (x.type) {
    case DataType::float32:
      return reduce_type<float, double>(static_cast<const float*>(x.data), x.count, reduction,
                                        result);
    case DataType::float64:
      return reduce_type<double, double>(static_cast<const double*>(x.data), x.count, reduction,
                                         result);
    default:
      return reduce_type<std::int32_t, std::int64_t>(static_cast<const std::int32_t*>(x.data),
                                                     x.count, reduction, result);
  }
}

}  // namespace tilescope::operations
