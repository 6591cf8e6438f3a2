// mma.sync of the operands' type: 16 x 8 sums of 32 bytes of k, whatever the shape of the instruction.
//
// Constants: INSTRUCTION: shape and types of mma.sync; SHORT_PRODUCTS: whether its shape has 16 bytes
// of k instead of 32, as in 7.5, and 8 rows where it sums whole numbers; PROMOTES_SUMS: whether sums
// of 32 bytes begin at zero and are added in float32, since tensor cores keep 14 bits of them.
#pragma once

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

// sum (16 x 8) += a (16 x inner_steps) * b (inner_steps x 8).
__device__ inline void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b_low,
                                unsigned b_high) {
#if SHORT_PRODUCTS
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    asm volatile("mma.sync.aligned." TEXT(INSTRUCTION) " {%0, %1, %2, %3}, {%4, %5}, {%6},"
                 " {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[2 * half]), "r"(a[2 * half + 1]), "r"(half == 0 ? b_low : b_high));
  }
#elif PROMOTES_SUMS
  float part[4];
  asm volatile("mma.sync.aligned." TEXT(INSTRUCTION) " {%0, %1, %2, %3}, {%4, %5, %6, %7},"
               " {%8, %9}, {%10, %10, %10, %10};"
               : "=f"(part[0]), "=f"(part[1]), "=f"(part[2]), "=f"(part[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_low), "r"(b_high), "f"(0.0F));
#pragma unroll
  for (int i = 0; i < 4; ++i) sum[i] += part[i];
#else
  asm volatile("mma.sync.aligned." TEXT(INSTRUCTION) " {%0, %1, %2, %3}, {%4, %5, %6, %7},"
               " {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_low), "r"(b_high));
#endif
}
__device__ inline void multiply(int (&sum)[4], const unsigned (&a)[4], unsigned b_low,
                                unsigned b_high) {
#if SHORT_PRODUCTS
  // Quarter i of A has rows 8 * (i % 2) and on, and half i / 2 of k.
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    asm volatile("mma.sync.aligned." TEXT(INSTRUCTION) " {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(sum[i % 2 * 2]), "+r"(sum[i % 2 * 2 + 1])
                 : "r"(a[i]), "r"(i / 2 == 0 ? b_low : b_high));
  }
#else
  asm volatile("mma.sync.aligned." TEXT(INSTRUCTION) " {%0, %1, %2, %3}, {%4, %5, %6, %7},"
               " {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_low), "r"(b_high));
#endif
}
