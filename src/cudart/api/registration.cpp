// Registration: nvcc's generated code names the program's kernels and variables before main(), by
// the addresses of their host functions and shadows, and withdraws them after it.
#include <vector_types.h>

#include "cudart/state/api_call.hpp"
#include "cudart/state/idle_work.hpp"

using namespace tilescope::cudart;

namespace {

CodeImage& image_of(void** handle) {
  return *reinterpret_cast<CodeImage*>(handle);
}

/// The configurations between <<< >>> and the generated function that takes them.
struct Configuration {
  dim3 grid, block;
  size_t shared_bytes;
  cudaStream_t stream;
};
thread_local std::vector<Configuration> configurations;

/// The end of the process, after the program's own destructors.
__attribute__((destructor)) void end_of_process() {
  Context::instance().finish();
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  serve_idle_program();
  return reinterpret_cast<void**>(&Context::instance().registry().add_image(wrapper));
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** handle) {
  Context::instance().forget(image_of(handle));
}

void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  Context::instance().registry().add_kernel(image_of(handle), host, name);
}

void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, size_t bytes, int,
                       int) {
  Context::instance().registry().add_variable(image_of(handle), host,
                                              {.name = name, .bytes = bytes});
}

void __cudaRegisterManagedVar(void** handle, void** host, char*, const char* name, int,
                              size_t bytes, int, int) {
  Context::instance().registry().add_variable(image_of(handle), host,
                                              {.name = name, .bytes = bytes, .managed = host});
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, void* stream) {
  configurations.push_back({grid, block, shared_bytes, static_cast<cudaStream_t>(stream)});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes,
                                       void* stream) {
  if (configurations.empty()) return remember(cudaErrorMissingConfiguration);
  const Configuration top = configurations.back();
  configurations.pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  Context::begin_configured_launch();
  return cudaSuccess;
}

char __cudaInitModule(void** handle) {
  return api_call("__cudaInitModule", [&](Context& context) {
           context.code().load_managed(context.device(), image_of(handle));
         }) == cudaSuccess;
}

}  // extern "C"
