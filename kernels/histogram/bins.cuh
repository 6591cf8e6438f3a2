// Which bin an element belongs to; a negative number for none. The constants say how:
//   BINS                 how many bins there are
//   LETTERS              text: four letters a bin, a-d, e-h, ..., y-z, capital or small
//   LOWER, RANGE         integers: to bin floor((x - LOWER) * BINS / RANGE) where
//                        LOWER <= x < LOWER + RANGE
//   LOWER, UPPER, SCALE  numbers: to bin floor((x - LOWER) * SCALE) where LOWER <= x <= UPPER, and
//                        x = UPPER to the last; each operation is rounded by itself, so that every
//                        device agrees
#pragma once

#if defined(LETTERS)
__device__ inline int bin_of(ELEMENT x) {
  const int letter = (static_cast<int>(x) | 32) - 'a';  // 32 is what sets small letters apart
  return letter >= 0 && letter < 26 ? letter / 4 : -1;
}
#elif defined(SCALE)
__device__ inline float above_in_bins(float x) {
  return __fmul_rn(__fsub_rn(x, LOWER), SCALE);
}
__device__ inline double above_in_bins(double x) {
  return __dmul_rn(__dsub_rn(x, LOWER), SCALE);
}
__device__ inline int bin_of(ELEMENT x) {
  if (!(x >= LOWER && x <= UPPER)) return -1;  // NaN too
  const int bin = static_cast<int>(above_in_bins(x));
  return bin < BINS ? bin : BINS - 1;
}
#else
__device__ inline int bin_of(ELEMENT x) {
  constexpr long long lower = LOWER, range = RANGE;
  const long long above = static_cast<long long>(x) - lower;
  if (above < 0 || above >= range) return -1;
  // Divisions by constants, which are multiplications; mostly not even those.
  const unsigned natural = static_cast<unsigned>(above);
  if constexpr (range == BINS) return static_cast<int>(natural);
  if constexpr (range % BINS == 0) return static_cast<int>(natural / (range / BINS));
  return static_cast<int>(above * BINS / range);
}
#endif
