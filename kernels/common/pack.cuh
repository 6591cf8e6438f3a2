// Several elements as one value that a single instruction loads or stores, 16 bytes at the most.
#pragma once

template <typename E, int N>
struct __align__(sizeof(E) * N) Pack {
  E at[N];
};

/// The most elements of type E that one instruction moves.
template <typename E>
constexpr int pack_size = 16 / sizeof(E);

template <int BYTES>
struct Word;
template <>
struct Word<16> {
  using type = uint4;
};
template <>
struct Word<8> {
  using type = uint2;
};
template <>
struct Word<4> {
  using type = unsigned;
};
template <>
struct Word<2> {
  using type = unsigned short;
};
template <>
struct Word<1> {
  using type = unsigned char;
};

// Loads and stores of data that is used once: marked as the first to leave the caches.
template <typename T>
__device__ inline T load_once(const T* from) {
  using W = typename Word<sizeof(T)>::type;
  const W word = __ldcs(reinterpret_cast<const W*>(from));
  return reinterpret_cast<const T&>(word);
}
template <typename T>
__device__ inline void store_once(T* to, const T& value) {
  using W = typename Word<sizeof(T)>::type;
  __stcs(reinterpret_cast<W*>(to), reinterpret_cast<const W&>(value));
}
