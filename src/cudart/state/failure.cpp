#include "cudart/state/failure.hpp"

#include <cstdio>

namespace tilescope::cudart {
namespace {

struct ErrorText {
  const char* name = "unrecognized error code";
  const char* text = "unrecognized error code";
};

ErrorText error_text(cudaError_t code) {
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

const char* name_of(cudaError_t code) {
  return error_text(code).name;
}

const char* text_of(cudaError_t code) {
  return error_text(code).text;
}

void complain(std::string_view message) {
  std::fflush(stdout);
  std::fprintf(stderr, "tilescope: %.*s\n", int(message.size()), message.data());
}

}  // namespace tilescope::cudart
