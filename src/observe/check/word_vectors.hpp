// Eight words at a time, for code that is compiled for several instruction sets: all of it is
// inlined, and vectors go by reference, because how they are passed depends on the instruction set.
// Where there is no AVX2 the compiler makes two halves of them.
#pragma once

#include <cstdint>

namespace tilescope::observe {

/// May lie where single words are read and written too.
typedef std::uint32_t Words __attribute__((vector_size(32), may_alias));
typedef std::int32_t Truth __attribute__((vector_size(32)));  ///< all ones, or zero

[[gnu::always_inline]] inline Words& as_words(std::uint32_t* aligned) {
  return *reinterpret_cast<Words*>(aligned);
}
[[gnu::always_inline]] inline void load_words(Words& to, const std::uint32_t* from) {
  __builtin_memcpy(&to, from, sizeof to);
}

/// The words from number `begin` to number `end`, which may lie outside.
[[gnu::always_inline]] inline void words_between(std::int32_t begin, std::int32_t end,
                                                 Truth& result) {
  constexpr Truth kNumbers = {0, 1, 2, 3, 4, 5, 6, 7};
  result = (kNumbers >= begin) & (kNumbers < end);
}
[[gnu::always_inline]] inline bool any_of(const Truth& truth) {
  std::uint64_t halves[4];
  __builtin_memcpy(halves, &truth, sizeof halves);
  return (halves[0] | halves[1] | halves[2] | halves[3]) != 0;
}
/// One bit for each word.
[[gnu::always_inline]] inline std::uint64_t bits_of(const Truth& truth) {
  std::uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) bits |= static_cast<std::uint64_t>(truth[i] & 1) << i;
  return bits;
}

/// The better of two functions on this CPU: `wide` needs AVX2.
template <class Function>
Function choose_words(Function any, [[maybe_unused]] Function wide) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) return wide;
#endif
  return any;
}

#if defined(__x86_64__)
#define TILESCOPE_WIDE_WORDS [[gnu::target("avx2")]]
#else
#define TILESCOPE_WIDE_WORDS
#endif

}  // namespace tilescope::observe
