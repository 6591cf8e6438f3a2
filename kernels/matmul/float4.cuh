// Four floats as one 128-bit value. The address of the first must be a multiple of 16 bytes.
#pragma once

__device__ inline const float4& as_float4(const float& first) {
  return reinterpret_cast<const float4&>(first);
}
__device__ inline float4& as_float4(float& first) { return reinterpret_cast<float4&>(first); }
