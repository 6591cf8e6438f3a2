// Operators of a reduction. One makes a value of an element, combines two values, and makes the
// result of the last value. NaN is never lost: a sum with a NaN is NaN, so is a minimum
// or maximum, and argmax gives the first NaN's index, as NumPy does. Zeros of either sign are equal:
// argmax takes the first of them, and a result that is zero is +0, whichever was met first.
#pragma once

// The type in which elements are summed, and that of the result.
template <typename E>
struct SumOf {
  using Value = E;
  using Result = double;
};
template <>
struct SumOf<int> {
  using Value = long long;
  using Result = long long;
};

template <typename E>
struct Sum {
  using Value = typename SumOf<E>::Value;
  using Result = typename SumOf<E>::Result;
  static __device__ Value nothing() { return 0; }
  static __device__ Value of(E x, long long) { return x; }
  static __device__ Value both(Value a, Value b) { return a + b; }
  static __device__ Result result(Value v) { return v; }
};

template <typename E>
struct Limits;  // the values that no other is below or above
template <>
struct Limits<float> {
  static __device__ float least() { return -__int_as_float(0x7f800000); }
  static __device__ float most() { return __int_as_float(0x7f800000); }
};
template <>
struct Limits<double> {
  static __device__ double least() { return -__longlong_as_double(0x7ff0000000000000LL); }
  static __device__ double most() { return __longlong_as_double(0x7ff0000000000000LL); }
};
template <>
struct Limits<int> {
  static __device__ int least() { return -2147483647 - 1; }
  static __device__ int most() { return 2147483647; }
};

template <typename E>
__device__ inline bool is_nan(E x) {
  return x != x;  // never, for integers
}

template <typename E>
struct Min {
  using Value = E;
  using Result = E;
  static __device__ Value nothing() { return Limits<E>::most(); }
  static __device__ Value of(E x, long long) { return x; }
  static __device__ Value both(Value a, Value b) { return b < a || is_nan(b) ? b : a; }
  static __device__ Result result(Value v) { return v + Value{0}; }
};

template <typename E>
struct Max {
  using Value = E;
  using Result = E;
  static __device__ Value nothing() { return Limits<E>::least(); }
  static __device__ Value of(E x, long long) { return x; }
  static __device__ Value both(Value a, Value b) { return b > a || is_nan(b) ? b : a; }
  static __device__ Result result(Value v) { return v + Value{0}; }
};

template <typename E>
struct Place {
  E value;
  long long index;
};

// The largest element; of equal ones the first. `nothing` has an index beyond every list, so that
// any element is before it.
template <typename E>
struct ArgMax {
  using Value = Place<E>;
  using Result = long long;
  static __device__ Value nothing() { return {Limits<E>::least(), 0x7fffffffffffffffLL}; }
  static __device__ Value of(E x, long long index) { return {x, index}; }
  static __device__ Value both(const Value& a, const Value& b) {
    const bool b_is_nan = is_nan(b.value), a_is_nan = is_nan(a.value);
    const bool above = b.value > a.value || (b_is_nan && !a_is_nan);
    const bool level = b.value == a.value || (b_is_nan && a_is_nan);
    return above || (level && b.index < a.index) ? b : a;
  }
  static __device__ Result result(const Value& v) { return v.index; }
};

using Operator = OPERATOR<ELEMENT>;
using Value = Operator::Value;

// The two kinds of lists that a pass may read: the elements, and what an earlier pass has left.
struct Elements {
  const ELEMENT* at;
  __device__ Value operator()(long long i) const { return Operator::of(at[i], i); }
};
struct Partials {
  const Value* at;
  __device__ Value operator()(long long i) const { return at[i]; }
};

// The value of a thread of the same warp, `distance` lanes up; all lanes take part.
template <typename T>
__device__ inline T shuffle_down(const T& value, int distance) {
  static_assert(sizeof(T) % 4 == 0, "shuffles move 32 bits");
  T moved;
  const unsigned* from = reinterpret_cast<const unsigned*>(&value);
  unsigned* to = reinterpret_cast<unsigned*>(&moved);
#pragma unroll
  for (int word = 0; word < static_cast<int>(sizeof(T) / 4); ++word) {
    to[word] = __shfl_down_sync(0xffffffffu, from[word], distance);
  }
  return moved;
}
