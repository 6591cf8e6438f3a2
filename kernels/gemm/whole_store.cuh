// Stores of several words to global memory in one instruction. Of an assignment, above all one that is
// not reached by every iteration of an unrolled loop, the compiler may make one store for each word:
// four times the requests, each for a quarter of the bytes of every sector.
#pragma once

template <typename Words>
__device__ inline void store_whole(Words* to, const Words& words) {
  *to = words;
}
__device__ inline void store_whole(uint2* to, const uint2& words) {
  asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(words.x), "r"(words.y) : "memory");
}
__device__ inline void store_whole(uint4* to, const uint4& words) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(words.x), "r"(words.y),
               "r"(words.z), "r"(words.w)
               : "memory");
}

// The same if `exists`: an instruction with a predicate, not a branch.
__device__ inline void store_if(uint4* to, const uint4& words, bool exists) {
  asm volatile(
      "{\n"
      ".reg .pred exists;\n"
      "setp.ne.u32 exists, %5, 0;\n"
      "@exists st.global.v4.u32 [%0], {%1, %2, %3, %4};\n"
      "}" ::"l"(to), "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w),
      "r"(static_cast<unsigned>(exists))
      : "memory");
}
__device__ inline void store_if(unsigned short* to, unsigned short word, bool exists) {
  asm volatile(
      "{\n"
      ".reg .pred exists;\n"
      "setp.ne.u32 exists, %2, 0;\n"
      "@exists st.global.b16 [%0], %1;\n"
      "}" ::"l"(to), "h"(word), "r"(static_cast<unsigned>(exists))
      : "memory");
}
__device__ inline void store_if(unsigned* to, unsigned word, bool exists) {
  asm volatile(
      "{\n"
      ".reg .pred exists;\n"
      "setp.ne.u32 exists, %2, 0;\n"
      "@exists st.global.b32 [%0], %1;\n"
      "}" ::"l"(to), "r"(word), "r"(static_cast<unsigned>(exists))
      : "memory");
}

template <int bytes>
struct WordOf;
template <>
struct WordOf<2> {
  using type = unsigned short;
};
template <>
struct WordOf<4> {
  using type = unsigned;
};
