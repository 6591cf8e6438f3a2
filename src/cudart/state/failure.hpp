// How the code below the API fails: with the code that the program gets.
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <string_view>

namespace tilescope::cudart {

/// Thrown below the API, which returns `code`. A `message` is one line for standard error: what
/// CUDA's code does not say.
struct Failure {
  cudaError_t code;
  std::string message = {};
};

inline void require(bool holds, cudaError_t otherwise) {
  if (!holds) throw Failure{otherwise};
}

/// The run time has one device, number 0.
inline void require_device(int device) {
  require(device == 0, cudaErrorInvalidDevice);
}

/// "cudaErrorInvalidValue", and "invalid argument": as cudaGetErrorName and cudaGetErrorString say.
const char* name_of(cudaError_t code);
const char* text_of(cudaError_t code);

/// Writes "tilescope: MESSAGE" on standard error, after what the program has printed so far.
void complain(std::string_view message);

}  // namespace tilescope::cudart
