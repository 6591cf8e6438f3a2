#include "cudart/state/api_call.hpp"

using namespace tilescope::cudart;

namespace {

struct ErrorText {
  const char* name = "unrecognized error code";
  const char* text = "unrecognized error code";
};

ErrorText text_of(cudaError_t code) {
  switch (code) {
#define CUDA_ERROR(name, text) \
  case name:                   \
    return {#name, text};
#include "cudart/state/cuda_errors.def"
    default:
      return {};
  }
}

}  // namespace

cudaError_t cudaGetLastError() {
  Context& context = Context::instance();
  return context.ended() != cudaSuccess ? context.ended()
                                        : std::exchange(last_error(), cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
  return last_error();
}

const char* cudaGetErrorName(cudaError_t code) {
  return text_of(code).name;
}

const char* cudaGetErrorString(cudaError_t code) {
  return text_of(code).text;
}
