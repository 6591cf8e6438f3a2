// Chunks of 16 bytes that begin anywhere, from the aligned chunks that hold them.
#pragma once

// The 16 bytes that begin `skipped` bytes after the first of `low`; `high` follows `low`.
// `element_bytes` divides `skipped`.
template <int element_bytes>
__device__ inline uint4 shifted(const uint4& low, const uint4& high, unsigned skipped) {
  const unsigned words[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  const bool by_two = skipped & 8, by_one = skipped & 4;
  unsigned halves[6], out[5];
#pragma unroll
  for (int w = 0; w < 6; ++w) halves[w] = by_two ? words[w + 2] : words[w];
#pragma unroll
  for (int w = 0; w < 5; ++w) out[w] = by_one ? halves[w + 1] : halves[w];
  if (element_bytes < 4) {
#pragma unroll
    for (int w = 0; w < 4; ++w) out[w] = __funnelshift_r(out[w], out[w + 1], skipped % 4 * 8);
  }
  return make_uint4(out[0], out[1], out[2], out[3]);
}
