# The emulator's lane kernels (src/emulator/lanes) are compiled once for each x86-64 level, so that
# the portable build uses AVX2 or AVX-512 where the CPU has them. Contraction is off: a product and
# a sum are fused only where the PTX says so. Optimised even in a debug build with -O0 elsewhere.
function(tilescope_add_lane_kernels target)
  file(GLOB lanes CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/emulator/lanes/*.cpp")
  file(GLOB_RECURSE emulator CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/emulator/*.cpp")
  set_source_files_properties(${emulator} PROPERTIES COMPILE_OPTIONS "-O3;-ffp-contract=off")
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    return()
  endif()
  foreach(level v3 v4)
    set(part ${target}_lanes_${level})
    add_library(${part} OBJECT ${lanes})
    target_include_directories(${part} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/include"
      "${CMAKE_CURRENT_SOURCE_DIR}/src")
    target_compile_options(${part} PRIVATE -march=x86-64-${level} -mprefer-vector-width=512)
    target_compile_definitions(${part} PRIVATE TILESCOPE_LANES=${level})
    target_link_libraries(${part} PRIVATE tilescope_options)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${part}>)
  endforeach()
  set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/src/emulator/lane_kernels.cpp"
    PROPERTIES COMPILE_DEFINITIONS TILESCOPE_LANES_X86)
endfunction()
