// The symbols of libcudart.so.12. The library is the same file under both names: each function has
// its name a second time, under the version libcudart.so.12, as a jump to the function itself. So
// the stack of a caller looks the same, and both versions share the device.

// clang-format off
#define JUMP(name, target)                                      \
  ".globl cuda12_jump_" #name "\n"                              \
  ".type cuda12_jump_" #name ", @function\n"                    \
  "cuda12_jump_" #name ":\n"                                    \
  "  jmp " #target "@PLT\n"                                     \
  ".symver cuda12_jump_" #name ", " #name "@libcudart.so.12\n"
// clang-format on

// A symbol marks the functions that CUDA 12 has in its own form.
#define FUNCTION12(name, target) ".set cuda12_differs_" #name ", 1\n"
#define FUNCTION(name, state) ".ifndef cuda12_differs_" #name "\n" JUMP(name, name) ".endif\n"

__asm__(
#include "cudart/cuda12/functions12.def"
#include "cudart/functions.def"
);

#undef FUNCTION12
#define FUNCTION12(name, target) \
  ".ifc " #target                \
  ", own\n"                      \
  ".else\n" JUMP(name, target) ".endif\n"

__asm__(
#include "cudart/cuda12/functions12.def"
);
