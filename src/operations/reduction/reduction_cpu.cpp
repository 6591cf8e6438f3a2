#include <algorithm>
#include <array>
#include <limits>
#include <utility>
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

// The sum of at most a section, in the order of kernels/reduction/07_fixed_order.cu: `neighbours`
// elements a thread and step, then a thread's values, then halving trees over the lanes of a warp
// and over the warps.
template <std::size_t neighbours, typename Sum, typename T>
Sum sum_of_section(const T* x, std::size_t count) {
  constexpr std::size_t step = sum_threads * neighbours, warp = 32, warps = sum_threads / warp;
  std::array<Sum, step> sums{};
  std::size_t i = 0;
  for (; i + step <= count; i += step) {
    for (std::size_t j = 0; j < step; ++j) sums[j] += x[i + j];
  }
  for (std::size_t j = 0; i + j < count; ++j) sums[j] += x[i + j];
  std::array<Sum, sum_threads> of_threads{};
  for (std::size_t t = 0; t < sum_threads; ++t) {
    of_threads[t] = sums[t * neighbours];
    for (std::size_t e = 1; e < neighbours; ++e) of_threads[t] += sums[t * neighbours + e];
  }
  const auto halve = [](Sum* values, std::size_t lanes_left) {
    for (lanes_left /= 2; lanes_left > 0; lanes_left /= 2) {
      for (std::size_t l = 0; l < lanes_left; ++l) values[l] += values[l + lanes_left];
    }
    return values[0];
  };
  std::array<Sum, warps> of_warps{};
  for (std::size_t w = 0; w < warps; ++w) of_warps[w] = halve(of_threads.data() + w * warp, warp);
  return halve(of_warps.data(), warps);
}

template <std::size_t neighbours, typename Sum, typename T>
std::vector<Sum> sums_of_sections(const T* x, std::size_t count) {
  std::vector<Sum> sums((count + sum_section - 1) / sum_section);
  for_chunks(
      count,
      [&](std::size_t first, std::size_t end) {
        sums[first / sum_section] = sum_of_section<neighbours, Sum>(x + first, end - first);
      },
      sum_section);
  return sums;
}

template <typename Sum>
Sum sum_of_sums(std::vector<Sum> sums) {
  while (sums.size() > 1) sums = sums_of_sections<1, Sum>(sums.data(), sums.size());
  return sums.empty() ? Sum{} : sums.front();
}

// Elements in the 16 bytes that a thread of the GPU loads at a time.
template <typename T>
constexpr std::size_t pack = 16 / sizeof(T);

template <typename T, typename Sum>
Sum sum_of(const T* x, std::size_t count) {
  return sum_of_sums(sums_of_sections<pack<T>, Sum>(x, count));
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

void section_sums_on_cpu(const ConstArrayView& x, double* sums) {
  const std::vector<double> found =
      x.type == DataType::float64
          ? sums_of_sections<pack<double>, double>(static_cast<const double*>(x.data), x.count)
          : sums_of_sections<pack<float>, double>(static_cast<const float*>(x.data), x.count);
  std::copy(found.begin(), found.end(), sums);
}

double sum_of_sections(std::vector<double> sums) {
  return sum_of_sums(std::move(sums));
}

}  // namespace tilescope::operations
