// Words of shared memory into registers, in one instruction each.
//
// Where a load is written as a pointer to a vector, the compiler may split it, and which one it
// splits can differ from one compilation to the next: the same source would then be counted
// differently.
#pragma once

// `count` words, 2 or 4, from an address that is a multiple of as many. Loads, stores, copies and
// barriers that are `asm volatile` keep their order with it.
template <int count>
__device__ inline void load_words(float* to, unsigned from) {
  static_assert(count == 2 || count == 4, "vectors of words");
  if constexpr (count == 4) {
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
                 : "r"(from));
  } else {
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(to[0]), "=f"(to[1]) : "r"(from));
  }
}
