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

// The same if `exists`, by an instruction with a predicate, not by a branch.
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
// An element of 16 or 32 bits.
template <typename Element>
__device__ inline void store_if(Element* to, const Element& element, bool exists) {
  if constexpr (sizeof(Element) == 2) {
    unsigned short bits;
    memcpy(&bits, &element, sizeof bits);
    asm volatile(
        "{\n"
        ".reg .pred exists;\n"
        "setp.ne.u32 exists, %2, 0;\n"
        "@exists st.global.b16 [%0], %1;\n"
        "}" ::"l"(to), "h"(bits), "r"(static_cast<unsigned>(exists))
        : "memory");
  } else {
    static_assert(sizeof(Element) == 4, "an element of 16 or 32 bits");
    unsigned bits;
    memcpy(&bits, &element, sizeof bits);
    asm volatile(
        "{\n"
        ".reg .pred exists;\n"
        "setp.ne.u32 exists, %2, 0;\n"
        "@exists st.global.b32 [%0], %1;\n"
        "}" ::"l"(to), "r"(bits), "r"(static_cast<unsigned>(exists))
        : "memory");
  }
}
