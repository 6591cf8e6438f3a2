#include <array>
#include <limits>
#include <vector>

#include "operations/numerics/chunks.hpp"
#include "operations/reduction/reduction.hpp"

namespace tilescope::operations {
namespace {

// Elements for a core at a time; the results of the chunks are combined in their order.
constexpr std::size_t chunk = 1 << 16;
// Separate values for this many neighbouring elements: no operation waits for the one before, and
// the compiler vectorises them.
constexpr std::size_t lanes = 16;

template <typename T>
bool is_nan(T x) {
  return x != x;  // never, for integers
}

// The largest element of a part of the list (the least, with `sign` -1), ignoring NaN.
template <typename T>
struct Extreme {
  T value{};
  bool any_nan = false;
};

template <typename T, int sign>
bool beyond(T a, T b) {
  return sign > 0 ? a > b : a < b;
}

template <typename T, int sign>
Extreme<T> extreme_of(const T* x, std::size_t first, std::size_t end) {
  using Limits = std::numeric_limits<T>;
  constexpr T worst = Limits::has_infinity ? (sign > 0 ? -Limits::infinity() : Limits::infinity())
                                           : (sign > 0 ? Limits::lowest() : Limits::max());
  std::array<T, lanes> best;
  std::array<std::int32_t, lanes> nans{};
  best.fill(worst);
  std::size_t i = first;
  for (; i + lanes <= end; i += lanes) {
    for (std::size_t l = 0; l < lanes; ++l) {
      best[l] = beyond<T, sign>(x[i + l], best[l]) ? x[i + l] : best[l];
      nans[l] += is_nan(x[i + l]) ? 1 : 0;
    }
  }
  for (; i < end; ++i) {
    best[0] = beyond<T, sign>(x[i], best[0]) ? x[i] : best[0];
    nans[0] += is_nan(x[i]) ? 1 : 0;
  }
  Extreme<T> all{.value = worst};
  std::size_t nan_count = 0;
  for (std::size_t l = 0; l < lanes; ++l) {
    if (beyond<T, sign>(best[l], all.value)) all.value = best[l];
    nan_count += static_cast<std::size_t>(nans[l]);
  }
  all.any_nan = nan_count > 0;
  return all;
}

// The index of the first extreme element, or of the first NaN.
template <typename T, int sign>
std::size_t find_extreme(const T* x, std::size_t count) {
  std::vector<Extreme<T>> found((count + chunk - 1) / chunk);
  for_chunks(
      count,
      [&](std::size_t first, std::size_t end) {
        found[first / chunk] = extreme_of<T, sign>(x, first, end);
      },
      chunk);
  std::size_t best = 0;
  for (std::size_t c = 0; c < found.size(); ++c) {
    if (found[c].any_nan) {
      best = c;
      break;
    }
    if (beyond<T, sign>(found[c].value, found[best].value)) best = c;
  }
  const Extreme<T>& here = found[best];
  std::size_t i = best * chunk;
  while (here.any_nan ? !is_nan(x[i]) : x[i] != here.value) ++i;
  return i;
}

template <typename T, typename Sum>
Sum sum_of(const T* x, std::size_t count) {
  constexpr std::size_t piece = 1 << 12;  // short pieces keep the error of a sum of doubles small
  std::vector<Sum> sums((count + piece - 1) / piece);
  for_chunks(
      count,
      [&](std::size_t first, std::size_t end) {
        for (std::size_t start = first; start < end; start += piece) {
          const std::size_t stop = std::min(end, start + piece);
          std::array<Sum, lanes> sum{};
          std::size_t i = start;
          for (; i + lanes <= stop; i += lanes) {
            for (std::size_t l = 0; l < lanes; ++l) sum[l] += x[i + l];
          }
          for (; i < stop; ++i) sum[0] += x[i];
          Sum all{};
          for (const Sum lane : sum) all += lane;
          sums[start / piece] = all;
        }
      },
      chunk);
  Sum all{};
  for (const Sum sum : sums) all += sum;
  return all;
}

template <typename T, typename Sum>
void reduce_type(const T* x, std::size_t count, Reduction reduction, void* result) {
  switch (reduction) {
    case Reduction::sum:
      *static_cast<Sum*>(result) = sum_of<T, Sum>(x, count);
      return;
    case Reduction::min:
      *static_cast<T*>(result) = x[find_extreme<T, -1>(x, count)] + T{};  // never -0
      return;
    case Reduction::max:
      *static_cast<T*>(result) = x[find_extreme<T, 1>(x, count)] + T{};
      return;
    case Reduction::argmax:
      *static_cast<std::int64_t*>(result) = static_cast<std::int64_t>(find_extreme<T, 1>(x, count));
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
