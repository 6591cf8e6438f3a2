// Which bin an element belongs to; a negative number for none. The constants say how:
//   BINS             how many bins there are
//   LETTERS          text: four letters a bin, a-d, e-h, ..., y-z, capital or small
//   LOWER, WIDTH     integers: element x belongs to bin (x - LOWER) / WIDTH, if there is one
//   LOWER, UPPER, SCALE  numbers: to bin floor((x - LOWER) * SCALE) where LOWER <= x < UPPER, and
//                    x = UPPER to the last; each operation is rounded, so that every device agrees
#pragma once

// An integer type that holds every difference of two elements.
template <typename E>
struct Difference {
  using type = int;
  using natural = unsigned;
};
template <>
struct Difference<int> {
  using type = long long;
  using natural = unsigned long long;
};
template <>
struct Difference<unsigned> {
  using type = long long;
  using natural = unsigned long long;
};

#if defined(LETTERS)
__device__ inline int bin_of(ELEMENT x) {
  const int letter = (static_cast<int>(x) | 32) - 'a';  // 32 is what sets small letters apart
  return letter >= 0 && letter < 26 && x < 128 ? letter / 4 : -1;
}
#elif defined(SCALE)
__device__ inline int bin_of(ELEMENT x) {
  const float upper = UPPER, lower = LOWER;
  if (!(x >= lower && x <= upper)) return -1;  // NaN too
  const int bin = static_cast<int>(__fmul_rn(__fsub_rn(x, lower), SCALE));
  return bin < BINS ? bin : BINS - 1;
}
#else
__device__ inline int bin_of(ELEMENT x) {
  using D = typename Difference<ELEMENT>::type;
  using N = typename Difference<ELEMENT>::natural;
  const D above = static_cast<D>(x) - static_cast<D>(LOWER);
  // As a natural number what lies below LOWER lies beyond every bin.
  const N bin = static_cast<N>(above) / static_cast<N>(WIDTH);
  return above >= 0 && bin < BINS ? static_cast<int>(bin) : -1;
}
#endif
