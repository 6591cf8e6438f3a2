// Roundings, saturation, wide and exact integer arithmetic, conversions, double functions.
__global__ void arithmetic(float* f, double* d, long long* l, unsigned long long* u, int* p) {
  f[0] = __fadd_rz(f[1], f[2]) + __fmul_ru(f[1], f[3]) + __fmaf_rd(f[1], f[2], f[3]) +
         __fdiv_rn(f[1], f[4]) + __frcp_rz(f[4]) + __fsqrt_rn(f[5]) + __sinf(f[6]) +
         __expf(f[7]) + __saturatef(f[8]) + rsqrtf(f[9]);
  d[0] = exp(d[1]) + __fma_ru(d[2], d[3], d[4]);
  l[0] = l[1] / l[2] + l[3] % l[4] + __mul64hi(l[5], l[6]);
  u[0] = u[1] / u[2] + static_cast<unsigned long long>(f[10]);
  p[0] = __float2int_rn(f[11]) + __double2int_ru(d[5]) + p[1] / p[2] + p[3] % 7 + __mul24(p[4], p[5]);
  f[12] = __int2float_rz(p[6]) + __double2float_ru(d[6]) + static_cast<signed char>(p[7]);
}
