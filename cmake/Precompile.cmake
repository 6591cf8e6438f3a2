# The headers that most files of a target read, parsed once. Only for builds without a compiler
# cache: a cache saves more, and keeps nothing of what was compiled with precompiled headers.
# Files go on including what they use: builds with a cache, and every other compiler, need it.
# Targets of equal options that name the same `owner` share what the first of them precompiles.
function(tilescope_precompile target owner)
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    get_property(first GLOBAL PROPERTY tilescope_precompiled_${owner})
    if(first)
      target_precompile_headers(${target} REUSE_FROM ${first})
    else()
      set_property(GLOBAL PROPERTY tilescope_precompiled_${owner} ${target})
      target_precompile_headers(${target} PRIVATE ${ARGN})
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # Of std::string in a precompiled header GCC forgets that it is a system header's, and tells.
      target_compile_options(${target} PRIVATE -Wno-stringop-overflow -Wno-array-bounds)
    endif()
  endif()
endfunction()
set(tilescope_common_headers <algorithm> <array> <bit> <cmath> <cstdint> <cstring> <functional> <map>
  <memory> <optional> <span> <string> <string_view> <vector> <fmt/format.h>)

# Compiles the files of a target in batches, each as one file: a batch reads its headers and
# instantiates its templates once, which saves most of the time that the command takes. The presets
# ask for it. Turn it off (-DTILESCOPE_UNITY_BUILD=OFF) to change one file again and again.
# Within a batch, names in anonymous namespaces must differ. The folders below are left out: the
# files of each have the same structure, on purpose, with the same private names.
set(tilescope_separate_folders device/cuda operations/gemm/hopper ptx)
function(tilescope_unite target)
  if(TILESCOPE_UNITY_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
    # A local name hides nothing of its own file when it equals a name of another file.
    target_compile_options(${target} PRIVATE -Wno-shadow)
    foreach(folder IN LISTS tilescope_separate_folders)
      file(GLOB files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp")
      set_source_files_properties(${files} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endforeach()
  endif()
endfunction()
