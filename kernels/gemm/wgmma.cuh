// Matrix products of a warpgroup: C (64 x N, float32 in registers) += A (64 x K) * B (K x N) with
// B, and A or not, in shared memory (wgmma). K is 32 bytes: 16 elements of 16 bits, 8 of tf32.
//
// Registers of thread t of the warpgroup: sum[4 j + 2 h + e] is row 16 (t / 32) + t % 32 / 4 + 8 h,
// column 8 j + 2 (t % 4) + e.
#pragma once

#include "barrier.cuh"

// How a tile lies in shared memory, in rows of 128 bytes whose 16-byte chunks are exchanged as
// Swizzle::bytes_128 says. K-major: a row is one m (or n) and holds 128 bytes along k. Otherwise a
// row is one k, and holds 64 elements along m (or n); `chunk_bytes` lie between those and the
// next 64.
__device__ inline unsigned long long k_major_tile(const void* tile) {
  constexpr unsigned long long eight_rows = 8 * 128, swizzled = 1;
  return (shared_address(tile) & 0x3FFFF) >> 4 | 1ULL << 16 | eight_rows >> 4 << 32 |
         swizzled << 62;
}
__device__ inline unsigned long long mn_major_tile(const void* tile, int chunk_bytes) {
  constexpr unsigned long long eight_rows = 8 * 128, swizzled = 1;
  return (shared_address(tile) & 0x3FFFF) >> 4 |
         static_cast<unsigned long long>(chunk_bytes) >> 4 << 16 | eight_rows >> 4 << 32 |
         swizzled << 62;
}
// Eight elements along m (or n) only, 16 bytes a row of k, one row after the other.
__device__ inline unsigned long long mn_major_strip(const void* tile) {
  constexpr unsigned long long eight_rows = 8 * 16;
  return (shared_address(tile) & 0x3FFFF) >> 4 | eight_rows >> 4 << 16 | eight_rows >> 4 << 32;
}
// The descriptor advanced by `bytes`.
__device__ inline unsigned long long advanced(unsigned long long tile, int bytes) {
  return tile + static_cast<unsigned long long>(bytes >> 4);
}

// Orders what registers and shared memory hold before the products that follow.
__device__ inline void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int PENDING>
__device__ inline void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}
// Keeps the compiler from moving uses of the sums across a wait.
template <int COUNT>
__device__ inline void pin(float (&sum)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(sum[i])::"memory");
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

// OPERAND is bf16, f16 or tf32, STEP the elements of one instruction along k. Only 16-bit operands
// can lie other than K-major; for tf32 the instruction has no such choice.
#if STEP == 16
#define WGMMA_ORDERS(a, b) ", " a ", " b
#define WGMMA_ORDER_VALUES , "n"(a_mn_major ? 1 : 0), "n"(b_mn_major ? 1 : 0)
#define WGMMA_ORDER(b) ", " b
#define WGMMA_ORDER_VALUE , "n"(b_mn_major ? 1 : 0)
#else
#define WGMMA_ORDERS(a, b)
#define WGMMA_ORDER_VALUES
#define WGMMA_ORDER(b)
#define WGMMA_ORDER_VALUE
#endif

template <int N>
struct Products;

#define SUMS_8(d, i)                                                                         \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])

#define SUMS_32(d, i) SUMS_8(d, i), SUMS_8(d, i + 8), SUMS_8(d, i + 16), SUMS_8(d, i + 24)
// The sums' names in the instruction.
#define NAMES_8_FROM_32 "%32, %33, %34, %35, %36, %37, %38, %39"
#define NAMES_8_FROM_40 "%40, %41, %42, %43, %44, %45, %46, %47"
#define NAMES_8_FROM_64 "%64, %65, %66, %67, %68, %69, %70, %71"
#define NAMES_8_FROM_72 "%72, %73, %74, %75, %76, %77, %78, %79"
#define NAMES_32_FROM_0                                                    \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_32_FROM_32                                                             \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NAMES_32_FROM_64                                                             \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define NAMES_32_FROM_96                                                                         \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
// The instruction for n columns, up to its operands.
#define PRODUCT(n) \
  "wgmma.mma_async.sync.aligned.m64n" #n "k" TEXT(STEP) ".f32." TEXT(OPERAND) "." TEXT(OPERAND) " "

template <>
struct Products<8> {
  // sum = A * B, or sum += A * B.
  template <bool a_mn_major, bool b_mn_major>
  __device__ static void add(float (&sum)[4], unsigned long long a, unsigned long long b,
                             int accumulate) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %6, 0;\n"
        PRODUCT(8)
          "{%0, %1, %2, %3}, "
          "%4, %5, p, 1, 1" WGMMA_ORDERS("%7", "%8") ";\n"
        "}"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "l"(a), "l"(b), "r"(accumulate) WGMMA_ORDER_VALUES);
  }
};

template <>
struct Products<16> {
  // sum = A * B, or sum += A * B.
  template <bool a_mn_major, bool b_mn_major>
  __device__ static void add(float (&sum)[8], unsigned long long a, unsigned long long b,
                             int accumulate) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %10, 0;\n"
        PRODUCT(16)
          "{%0, %1, %2, %3, %4, %5, %6, %7}, "
          "%8, %9, p, 1, 1" WGMMA_ORDERS("%11", "%12") ";\n"
        "}"
        : SUMS_8(sum, 0)
        : "l"(a), "l"(b), "r"(accumulate) WGMMA_ORDER_VALUES);
  }
  // The same with A in registers: rows r, r + 8 at the first half of k, then at the second.
  template <bool b_mn_major>
  __device__ static void add(float (&sum)[8], const unsigned (&a)[4], unsigned long long b,
                             int accumulate) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %13, 0;\n"
        PRODUCT(16)
          "{%0, %1, %2, %3, %4, %5, %6, %7}, "
          "{%8, %9, %10, %11}, %12, p, 1, 1" WGMMA_ORDER("%14") ";\n"
        "}"
        : SUMS_8(sum, 0)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate) WGMMA_ORDER_VALUE);
  }
};

template <>
struct Products<32> {
  // sum = A * B, or sum += A * B.
  template <bool a_mn_major, bool b_mn_major>
  __device__ static void add(float (&sum)[16], unsigned long long a, unsigned long long b,
                             int accumulate) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %18, 0;\n"
        PRODUCT(32)
          "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
          "%16, %17, p, 1, 1" WGMMA_ORDERS("%19", "%20") ";\n"
        "}"
        : SUMS_8(sum, 0), SUMS_8(sum, 8)
        : "l"(a), "l"(b), "r"(accumulate) WGMMA_ORDER_VALUES);
  }
  // The same with A in registers: rows r, r + 8 at the first half of k, then at the second.
  template <bool b_mn_major>
  __device__ static void add(float (&sum)[16], const unsigned (&a)[4], unsigned long long b,
                             int accumulate) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %21, 0;\n"
        PRODUCT(32)
          "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
          "{%16, %17, %18, %19}, %20, p, 1, 1" WGMMA_ORDER("%22") ";\n"
        "}"
        : SUMS_8(sum, 0), SUMS_8(sum, 8)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate) WGMMA_ORDER_VALUE);
  }
};

template <>
struct Products<64> {
  // sum = A * B, or sum += A * B.
  template <bool a_mn_major, bool b_mn_major>
  __device__ static void add(float (&sum)[32], unsigned long long a, unsigned long long b,
                             int accumulate) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %34, 0;\n"
        PRODUCT(64)
          "{" NAMES_32_FROM_0 "}, "
          "%32, %33, p, 1, 1" WGMMA_ORDERS("%35", "%36") ";\n"
        "}"
        : SUMS_32(sum, 0)
        : "l"(a), "l"(b), "r"(accumulate) WGMMA_ORDER_VALUES);
  }
  // The same with A in registers: rows r, r + 8 at the first half of k, then at the second.
  template <bool b_mn_major>
  __device__ static void add(float (&sum)[32], const unsigned (&a)[4], unsigned long long b,
                             int accumulate) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %37, 0;\n"
        PRODUCT(64)
          "{" NAMES_32_FROM_0 "}, "
          "{%32, %33, %34, %35}, %36, p, 1, 1" WGMMA_ORDER("%38") ";\n"
        "}"
        : SUMS_32(sum, 0)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate) WGMMA_ORDER_VALUE);
  }
};

template <>
struct Products<96> {
  // sum = A * B, or sum += A * B.
  template <bool a_mn_major, bool b_mn_major>
  __device__ static void add(float (&sum)[48], unsigned long long a, unsigned long long b,
                             int accumulate) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %50, 0;\n"
        PRODUCT(96)
          "{" NAMES_32_FROM_0 ", " NAMES_8_FROM_32 ", " NAMES_8_FROM_40 "}, "
          "%48, %49, p, 1, 1" WGMMA_ORDERS("%51", "%52") ";\n"
        "}"
        : SUMS_32(sum, 0), SUMS_8(sum, 32), SUMS_8(sum, 40)
        : "l"(a), "l"(b), "r"(accumulate) WGMMA_ORDER_VALUES);
  }
  // The same with A in registers: rows r, r + 8 at the first half of k, then at the second.
  template <bool b_mn_major>
  __device__ static void add(float (&sum)[48], const unsigned (&a)[4], unsigned long long b,
                             int accumulate) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %53, 0;\n"
        PRODUCT(96)
          "{" NAMES_32_FROM_0 ", " NAMES_8_FROM_32 ", " NAMES_8_FROM_40 "}, "
          "{%48, %49, %50, %51}, %52, p, 1, 1" WGMMA_ORDER("%54") ";\n"
        "}"
        : SUMS_32(sum, 0), SUMS_8(sum, 32), SUMS_8(sum, 40)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate) WGMMA_ORDER_VALUE);
  }
};

template <>
struct Products<128> {
  // sum = A * B, or sum += A * B.
  template <bool a_mn_major, bool b_mn_major>
  __device__ static void add(float (&sum)[64], unsigned long long a, unsigned long long b,
                             int accumulate) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %66, 0;\n"
        PRODUCT(128)
          "{" NAMES_32_FROM_0 ", " NAMES_32_FROM_32 "}, "
          "%64, %65, p, 1, 1" WGMMA_ORDERS("%67", "%68") ";\n"
        "}"
        : SUMS_32(sum, 0), SUMS_32(sum, 32)
        : "l"(a), "l"(b), "r"(accumulate) WGMMA_ORDER_VALUES);
  }
  // The same with A in registers: rows r, r + 8 at the first half of k, then at the second.
  template <bool b_mn_major>
  __device__ static void add(float (&sum)[64], const unsigned (&a)[4], unsigned long long b,
                             int accumulate) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %69, 0;\n"
        PRODUCT(128)
          "{" NAMES_32_FROM_0 ", " NAMES_32_FROM_32 "}, "
          "{%64, %65, %66, %67}, %68, p, 1, 1" WGMMA_ORDER("%70") ";\n"
        "}"
        : SUMS_32(sum, 0), SUMS_32(sum, 32)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate) WGMMA_ORDER_VALUE);
  }
};

template <>
struct Products<144> {
  // sum = A * B, or sum += A * B.
  template <bool a_mn_major, bool b_mn_major>
  __device__ static void add(float (&sum)[72], unsigned long long a, unsigned long long b,
                             int accumulate) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %74, 0;\n"
        PRODUCT(144)
          "{" NAMES_32_FROM_0 ", " NAMES_32_FROM_32 ", " NAMES_8_FROM_64 "}, "
          "%72, %73, p, 1, 1" WGMMA_ORDERS("%75", "%76") ";\n"
        "}"
        : SUMS_32(sum, 0), SUMS_32(sum, 32), SUMS_8(sum, 64)
        : "l"(a), "l"(b), "r"(accumulate) WGMMA_ORDER_VALUES);
  }
};

template <>
struct Products<160> {
  // sum = A * B, or sum += A * B.
  template <bool a_mn_major, bool b_mn_major>
  __device__ static void add(float (&sum)[80], unsigned long long a, unsigned long long b,
                             int accumulate) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %82, 0;\n"
        PRODUCT(160)
          "{" NAMES_32_FROM_0 ", " NAMES_32_FROM_32 ", " NAMES_8_FROM_64 ", " NAMES_8_FROM_72 "}, "
          "%80, %81, p, 1, 1" WGMMA_ORDERS("%83", "%84") ";\n"
        "}"
        : SUMS_32(sum, 0), SUMS_32(sum, 32), SUMS_8(sum, 64), SUMS_8(sum, 72)
        : "l"(a), "l"(b), "r"(accumulate) WGMMA_ORDER_VALUES);
  }
  // The same with A in registers: rows r, r + 8 at the first half of k, then at the second.
  template <bool b_mn_major>
  __device__ static void add(float (&sum)[80], const unsigned (&a)[4], unsigned long long b,
                             int accumulate) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %85, 0;\n"
        PRODUCT(160)
          "{" NAMES_32_FROM_0 ", " NAMES_32_FROM_32 ", " NAMES_8_FROM_64 ", " NAMES_8_FROM_72 "}, "
          "{%80, %81, %82, %83}, %84, p, 1, 1" WGMMA_ORDER("%86") ";\n"
        "}"
        : SUMS_32(sum, 0), SUMS_32(sum, 32), SUMS_8(sum, 64), SUMS_8(sum, 72)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate) WGMMA_ORDER_VALUE);
  }
};

template <>
struct Products<192> {
  // sum = A * B, or sum += A * B.
  template <bool a_mn_major, bool b_mn_major>
  __device__ static void add(float (&sum)[96], unsigned long long a, unsigned long long b,
                             int accumulate) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %98, 0;\n"
        PRODUCT(192)
          "{" NAMES_32_FROM_0 ", " NAMES_32_FROM_32 ", " NAMES_32_FROM_64 "}, "
          "%96, %97, p, 1, 1" WGMMA_ORDERS("%99", "%100") ";\n"
        "}"
        : SUMS_32(sum, 0), SUMS_32(sum, 32), SUMS_32(sum, 64)
        : "l"(a), "l"(b), "r"(accumulate) WGMMA_ORDER_VALUES);
  }
  // The same with A in registers: rows r, r + 8 at the first half of k, then at the second.
  template <bool b_mn_major>
  __device__ static void add(float (&sum)[96], const unsigned (&a)[4], unsigned long long b,
                             int accumulate) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %101, 0;\n"
        PRODUCT(192)
          "{" NAMES_32_FROM_0 ", " NAMES_32_FROM_32 ", " NAMES_32_FROM_64 "}, "
          "{%96, %97, %98, %99}, %100, p, 1, 1" WGMMA_ORDER("%102") ";\n"
        "}"
        : SUMS_32(sum, 0), SUMS_32(sum, 32), SUMS_32(sum, 64)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate) WGMMA_ORDER_VALUE);
  }
};

template <>
struct Products<256> {
  // sum = A * B, or sum += A * B.
  template <bool a_mn_major, bool b_mn_major>
  __device__ static void add(float (&sum)[128], unsigned long long a, unsigned long long b,
                             int accumulate) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %130, 0;\n"
        PRODUCT(256)
          "{" NAMES_32_FROM_0 ", " NAMES_32_FROM_32 ", " NAMES_32_FROM_64 ", "
          NAMES_32_FROM_96 "}, "
          "%128, %129, p, 1, 1" WGMMA_ORDERS("%131", "%132") ";\n"
        "}"
        : SUMS_32(sum, 0), SUMS_32(sum, 32), SUMS_32(sum, 64), SUMS_32(sum, 96)
        : "l"(a), "l"(b), "r"(accumulate) WGMMA_ORDER_VALUES);
  }
  // The same with A in registers: rows r, r + 8 at the first half of k, then at the second.
  template <bool b_mn_major>
  __device__ static void add(float (&sum)[128], const unsigned (&a)[4], unsigned long long b,
                             int accumulate) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %133, 0;\n"
        PRODUCT(256)
          "{" NAMES_32_FROM_0 ", " NAMES_32_FROM_32 ", " NAMES_32_FROM_64 ", "
          NAMES_32_FROM_96 "}, "
          "{%128, %129, %130, %131}, %132, p, 1, 1" WGMMA_ORDER("%134") ";\n"
        "}"
        : SUMS_32(sum, 0), SUMS_32(sum, 32), SUMS_32(sum, 64), SUMS_32(sum, 96)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate) WGMMA_ORDER_VALUE);
  }
};
