#include "cudart/state/api_call.hpp"

using namespace tilescope::cudart;

cudaError_t cudaGetLastError() {
  Context& context = Context::instance();
  context.asked(cudaSuccess);
  return context.ended() != cudaSuccess ? context.ended()
                                        : std::exchange(last_error(), cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
  Context::instance().asked(cudaSuccess);
  return last_error();
}

const char* cudaGetErrorName(cudaError_t code) {
  if (code != cudaSuccess) Context::instance().asked(code);
  return name_of(code);
}

const char* cudaGetErrorString(cudaError_t code) {
  if (code != cudaSuccess) Context::instance().asked(code);
  return text_of(code);
}
