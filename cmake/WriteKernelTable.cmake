# Run by EmbedKernels: DIRECTORY -> OUTPUT. Raw string literals are limited to 64 KiB by some
# compilers; our kernels stay far below.
file(GLOB_RECURSE files "${DIRECTORY}/*.cu" "${DIRECTORY}/*.cuh")
list(SORT files)
set(text "// Generated from kernels/; do not edit.\n#include \"compile/embedded_kernels.hpp\"\n\n")
string(APPEND text "namespace tilescope::compile {\n\nstd::span<const EmbeddedKernel> embedded_kernels() {\n")
string(APPEND text "  static constexpr EmbeddedKernel table[] = {\n")
foreach(file IN LISTS files)
  file(RELATIVE_PATH name "${DIRECTORY}" "${file}")
  file(READ "${file}" body)
  string(APPEND text "      {\"${name}\", R\"~kernel~(${body})~kernel~\"},\n")
endforeach()
string(APPEND text "  };\n  return table;\n}\n\n}  // namespace tilescope::compile\n")
file(WRITE "${OUTPUT}" "${text}")
