# The headers that most files of a target read, parsed once. Only for builds without a compiler
# cache: a cache saves more, and keeps nothing of what was compiled with precompiled headers.
# Files go on including what they use: builds with a cache, and every other compiler, need it.
function(tilescope_precompile target)
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # Of std::string in a precompiled header GCC forgets that it is a system header's, and tells.
      target_compile_options(${target} PRIVATE -Wno-stringop-overflow -Wno-array-bounds)
    endif()
  endif()
endfunction()
set(tilescope_common_headers <algorithm> <array> <bit> <cmath> <cstdint> <cstring> <functional> <map>
  <memory> <optional> <span> <string> <string_view> <vector> <fmt/format.h>)
