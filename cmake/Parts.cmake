# Adds files to the library `target` as a part of it, compiled with further options.
function(tilescope_add_part target part files)
  add_library(${target}_${part} OBJECT ${files})
  target_include_directories(${target}_${part} PRIVATE "${PROJECT_SOURCE_DIR}/include"
    "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${target}_${part} PRIVATE tilescope_options tilescope_dependencies)
  target_compile_options(${target}_${part} PRIVATE ${ARGN})
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${part}>)
endfunction()

# Builds for one run of tests (TILESCOPE_LIGHT; .ci/run) compile all rooms but the emulator and its
# observers at -O1, which takes a third less time; every other build is optimised as its type says.
set(tilescope_light_rooms base compile device distribute expression gpu inspect io measure operations
  ptx ranks report transfer tuning)
set(tilescope_light_options $<$<BOOL:${TILESCOPE_LIGHT}>:-O1>)
function(tilescope_add_light_rooms target files)
  tilescope_add_part(${target} light "${files}" ${tilescope_light_options})
  tilescope_precompile(${target}_light library ${tilescope_common_headers})
  tilescope_unite(${target}_light)
endfunction()

# The emulator is optimised even in a debug build with -O0 elsewhere. Contraction is off: a product
# and a sum are fused only where the PTX says so.
set(tilescope_emulator_options -O3 -ffp-contract=off)
function(tilescope_add_emulator target)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/emulator/*.cpp")
  list(FILTER files EXCLUDE REGEX "/src/emulator/lanes/")
  tilescope_add_part(${target} emulator "${files}" ${tilescope_emulator_options})
  tilescope_precompile(${target}_emulator library ${tilescope_common_headers})
  tilescope_unite(${target}_emulator)
  tilescope_add_lane_kernels(${target})
endfunction()

# Its lane kernels (src/emulator/lanes) are compiled once for each x86-64 level, so that the portable
# build uses AVX2 or AVX-512 where the CPU has them.
function(tilescope_add_lane_kernels target)
  file(GLOB lanes CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/emulator/lanes/*.cpp")
  tilescope_add_part(${target} lanes "${lanes}" ${tilescope_emulator_options})
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    return()
  endif()
  foreach(level v3 v4)
    tilescope_add_part(${target} lanes_${level} "${lanes}" ${tilescope_emulator_options}
      -march=x86-64-${level} -mprefer-vector-width=512)
    target_compile_definitions(${target}_lanes_${level} PRIVATE TILESCOPE_LANES=${level})
  endforeach()
  set_source_files_properties("${PROJECT_SOURCE_DIR}/src/emulator/lane_kernels.cpp"
    PROPERTIES COMPILE_DEFINITIONS TILESCOPE_LANES_X86)
endfunction()
