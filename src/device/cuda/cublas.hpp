// cuBLAS as the baseline of the ladder's rungs, opened at run time.
#pragma once

#include <memory>
#include <string>
#include <tilescope/device.hpp>
#include <tilescope/matrix.hpp>

namespace tilescope::device {

class Cublas {
 public:
  /// The reason if cuBLAS cannot be used on this machine; empty if it can.
  static std::string missing();

  /// Throws Error(no_device) if it cannot be used.
  Cublas();
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  /// C = A * B on the default stream, dense row-major float32, FP32 arithmetic (no TF32).
  void sgemm(const MatmulShape& shape, DeviceAddress a, DeviceAddress b, DeviceAddress c) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilescope::device
