// Matrix products of a warpgroup: C (64 x N, float32 or int32 in registers) += A (64 x K) * B
// (K x N) with B, and A or not, in shared memory (wgmma). K is 32 bytes: 16 elements of 16 bits, 8
// of tf32, 32 of 8 bits.
//
// Registers of thread t of the warpgroup: sum[4 j + 2 h + e] is row 16 (t / 32) + t % 32 / 4 + 8 h,
// column 8 j + 2 (t % 4) + e.
#pragma once

#include "barrier.cuh"
#include "operand_traits.cuh"

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
__device__ inline void pin(Sum (&sum)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i) asm volatile("" : SUM_REGISTER(sum[i])::"memory");
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

// Only 16-bit operands can lie other than K-major; for others the instruction has no such choice.
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

// The sums as operands of an instruction, and their names in it.
#define SUMS_4(i) \
  SUM_REGISTER(sum[i]), SUM_REGISTER(sum[i + 1]), SUM_REGISTER(sum[i + 2]), SUM_REGISTER(sum[i + 3])
#define SUMS_8(i) SUMS_4(i), SUMS_4(i + 4)
#define SUMS_16(i) SUMS_8(i), SUMS_8(i + 8)
#define SUMS_32(i) SUMS_16(i), SUMS_16(i + 16)
#define SUMS_64(i) SUMS_32(i), SUMS_32(i + 32)
#define NAMES_4 "%0, %1, %2, %3"
#define NAMES_8 NAMES_4 ", %4, %5, %6, %7"
#define NAMES_16 NAMES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define NAMES_24 NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define NAMES_32 NAMES_24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_40 NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define NAMES_48 NAMES_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define NAMES_56 NAMES_48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define NAMES_64 NAMES_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define NAMES_72 NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define NAMES_80 NAMES_72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define NAMES_88 NAMES_80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define NAMES_96 NAMES_88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define NAMES_104 NAMES_96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define NAMES_112 NAMES_104 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define NAMES_120 NAMES_112 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define NAMES_128 NAMES_120 ", %120, %121, %122, %123, %124, %125, %126, %127"

// Starts an instruction for n columns: `sums` are n / 2 names, `a` and `b` the factors, which are added
// to what the sums held unless `accumulate` is 0.
#define MULTIPLY(n, sums, a, b, accumulate, orders)                                          \
  "{\n"                                                                                      \
  ".reg .pred p;\n"                                                                          \
  "setp.ne.b32 p, " accumulate ", 0;\n"                                                      \
  "wgmma.mma_async.sync.aligned.m64n" #n "k" TEXT(STEP) "." SUM_NAME "." TEXT(OPERAND) "."   \
  TEXT(OPERAND) " {" sums "}, " a ", " b ", p" POSITIVE_FACTORS orders ";\n"                  \
  "}"

// sum = A * B, or sum += A * B.
#define PRODUCTS_FROM_SHARED(n, sums, a, b, accumulating, order_a, order_b, ...)             \
  template <bool a_mn_major, bool b_mn_major>                                                \
  __device__ static void add(Sum (&sum)[n / 2], unsigned long long of_a,                   \
                             unsigned long long of_b, int accumulate) {                      \
    asm volatile(MULTIPLY(n, sums, a, b, accumulating, WGMMA_ORDERS(order_a, order_b))       \
                 : __VA_ARGS__                                                               \
                 : "l"(of_a), "l"(of_b), "r"(accumulate) WGMMA_ORDER_VALUES);                \
  }
// The same with A in registers: rows r, r + 8 at the first half of k, then at the second.
#define PRODUCTS_FROM_REGISTERS(n, sums, a, b, accumulating, order_b, ...)                   \
  template <bool b_mn_major>                                                                 \
  __device__ static void add(Sum (&sum)[n / 2], const unsigned (&of_a)[4],                 \
                             unsigned long long of_b, int accumulate) {                      \
    asm volatile(MULTIPLY(n, sums, a, b, accumulating, WGMMA_ORDER(order_b))                 \
                 : __VA_ARGS__                                                               \
                 : "r"(of_a[0]), "r"(of_a[1]), "r"(of_a[2]), "r"(of_a[3]), "l"(of_b),        \
                   "r"(accumulate) WGMMA_ORDER_VALUE);                                       \
  }

template <>
struct Products<8> {
  PRODUCTS_FROM_SHARED(8, NAMES_4, "%4", "%5", "%6", "%7", "%8", SUMS_4(0))
};

template <>
struct Products<16> {
  PRODUCTS_FROM_SHARED(16, NAMES_8, "%8", "%9", "%10", "%11", "%12", SUMS_8(0))
  PRODUCTS_FROM_REGISTERS(16, NAMES_8, "{%8, %9, %10, %11}", "%12", "%13", "%14", SUMS_8(0))
};

template <>
struct Products<32> {
  PRODUCTS_FROM_SHARED(32, NAMES_16, "%16", "%17", "%18", "%19", "%20", SUMS_16(0))
  PRODUCTS_FROM_REGISTERS(32, NAMES_16, "{%16, %17, %18, %19}", "%20", "%21", "%22", SUMS_16(0))
};

template <>
struct Products<48> {
  PRODUCTS_FROM_SHARED(48, NAMES_24, "%24", "%25", "%26", "%27", "%28", SUMS_16(0), SUMS_8(16))
};

template <>
struct Products<64> {
  PRODUCTS_FROM_SHARED(64, NAMES_32, "%32", "%33", "%34", "%35", "%36", SUMS_32(0))
  PRODUCTS_FROM_REGISTERS(64, NAMES_32, "{%32, %33, %34, %35}", "%36", "%37", "%38", SUMS_32(0))
};

template <>
struct Products<80> {
  PRODUCTS_FROM_SHARED(80, NAMES_40, "%40", "%41", "%42", "%43", "%44", SUMS_32(0), SUMS_8(32))
};

template <>
struct Products<96> {
  PRODUCTS_FROM_SHARED(96, NAMES_48, "%48", "%49", "%50", "%51", "%52", SUMS_32(0), SUMS_16(32))
  PRODUCTS_FROM_REGISTERS(96, NAMES_48, "{%48, %49, %50, %51}", "%52", "%53", "%54",
                          SUMS_32(0), SUMS_16(32))
};

template <>
struct Products<112> {
  PRODUCTS_FROM_SHARED(112, NAMES_56, "%56", "%57", "%58", "%59", "%60",
                       SUMS_32(0), SUMS_16(32), SUMS_8(48))
};

template <>
struct Products<128> {
  PRODUCTS_FROM_SHARED(128, NAMES_64, "%64", "%65", "%66", "%67", "%68", SUMS_64(0))
  PRODUCTS_FROM_REGISTERS(128, NAMES_64, "{%64, %65, %66, %67}", "%68", "%69", "%70", SUMS_64(0))
};

template <>
struct Products<144> {
  PRODUCTS_FROM_SHARED(144, NAMES_72, "%72", "%73", "%74", "%75", "%76", SUMS_64(0), SUMS_8(64))
};

template <>
struct Products<160> {
  PRODUCTS_FROM_SHARED(160, NAMES_80, "%80", "%81", "%82", "%83", "%84", SUMS_64(0), SUMS_16(64))
  PRODUCTS_FROM_REGISTERS(160, NAMES_80, "{%80, %81, %82, %83}", "%84", "%85", "%86",
                          SUMS_64(0), SUMS_16(64))
};

template <>
struct Products<176> {
  PRODUCTS_FROM_SHARED(176, NAMES_88, "%88", "%89", "%90", "%91", "%92",
                       SUMS_64(0), SUMS_16(64), SUMS_8(80))
};

template <>
struct Products<192> {
  PRODUCTS_FROM_SHARED(192, NAMES_96, "%96", "%97", "%98", "%99", "%100", SUMS_64(0), SUMS_32(64))
  PRODUCTS_FROM_REGISTERS(192, NAMES_96, "{%96, %97, %98, %99}", "%100", "%101", "%102",
                          SUMS_64(0), SUMS_32(64))
};

template <>
struct Products<208> {
  PRODUCTS_FROM_SHARED(208, NAMES_104, "%104", "%105", "%106", "%107", "%108",
                       SUMS_64(0), SUMS_32(64), SUMS_8(96))
};

template <>
struct Products<224> {
  PRODUCTS_FROM_SHARED(224, NAMES_112, "%112", "%113", "%114", "%115", "%116",
                       SUMS_64(0), SUMS_32(64), SUMS_16(96))
};

template <>
struct Products<240> {
  PRODUCTS_FROM_SHARED(240, NAMES_120, "%120", "%121", "%122", "%123", "%124",
                       SUMS_64(0), SUMS_32(64), SUMS_16(96), SUMS_8(112))
};

template <>
struct Products<256> {
  PRODUCTS_FROM_SHARED(256, NAMES_128, "%128", "%129", "%130", "%131", "%132",
                       SUMS_64(0), SUMS_64(64))
  PRODUCTS_FROM_REGISTERS(256, NAMES_128, "{%128, %129, %130, %131}", "%132", "%133", "%134",
                          SUMS_64(0), SUMS_64(64))
};
