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
      # GCC forgets that std::string in a precompiled header is a system header's, and warns.
      target_compile_options(${target} PRIVATE -Wno-stringop-overflow -Wno-array-bounds)
    endif()
  endif()
endfunction()
set(tilescope_common_headers <algorithm> <array> <bit> <cmath> <cstdint> <cstring> <functional> <map>
  <memory> <optional> <span> <string> <string_view> <vector> <fmt/format.h>)

# Compiles the files of a folder in batches, each as one file: a batch reads its headers and
# instantiates its templates once, which saves most of the time that the command takes. The presets
# ask for it. Turn it off (-DTILESCOPE_UNITY_BUILD=OFF) to change one file again and again.
# Names in anonymous namespaces must differ within a folder. Some folders are left out: their files
# have the same structure, on purpose, with the same private names.
set(tilescope_separate_folders device/cuda operations/gemm/hopper)
set(tilescope_batch_size 12)
function(tilescope_unite target)
  if(NOT TILESCOPE_UNITY_BUILD)
    return()
  endif()
  string(REPLACE ";" "|" separate "${tilescope_separate_folders}")
  get_target_property(files ${target} SOURCES)
  foreach(file IN LISTS files)
    if(NOT file MATCHES "/src/(.*)/[^/]*$" OR file MATCHES "/src/(${separate})/")
      continue()
    endif()
    string(REGEX REPLACE ".*/src/(.*)/[^/]*$" "\\1" folder "${file}")
    string(REPLACE "/" "_" folder "${folder}")
    math(EXPR batch "0${files_of_${folder}}")
    math(EXPR files_of_${folder} "${batch} + 1")
    math(EXPR batch "${batch} / ${tilescope_batch_size}")
    set_source_files_properties("${file}" PROPERTIES UNITY_GROUP ${folder}_${batch})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
