// Arithmetic intensity, and the rate that memory and arithmetic allow for it.
#pragma once

#include <string>
#include <vector>

namespace tilescope::gpu {

/// Floating-point operations per byte. Throws Error(usage) unless flops >= 0 and bytes > 0.
double intensity(double flops, double bytes);

/// The intensity of a product of tiles: a tile of rows x columns elements of C is held on the chip
/// and its operands of `element_bytes` are read from memory once per tile: 2 r c
/// ((r + c) * bytes). 1 x 1 is the inner product of the untiled kernel.
double tile_intensity(double rows, double columns, double element_bytes = 4.0);

/// One bandwidth (the slope) and one rate (the ceiling).
struct Roofline {
  double bytes_per_second = 0.0;
  double flops_per_second = 0.0;

  /// Where the slope meets the ceiling, in FLOP/B.
  double ridge() const { return flops_per_second / bytes_per_second; }
  /// min(ceiling, intensity * bandwidth), in FLOP/s.
  double attainable(double flop_per_byte) const;
  bool memory_bound(double flop_per_byte) const { return flop_per_byte < ridge(); }
  /// Bandwidth that the full rate would need at this intensity, in B/s.
  double bandwidth_for_peak(double flop_per_byte) const;
};

/// Throws Error(usage) unless both are positive and finite.
Roofline make_roofline(double bytes_per_second, double flops_per_second);

}  // namespace tilescope::gpu
