# libcudart.so.13: CUDA's run-time API on a Device, for whole programs. What it exports stands in
# src/cudart/functions.def, under the version that CUDA's own library has. Programs that were built
# with CUDA 12 load the same file as libcudart.so.12 (src/cudart/cuda12).
file(READ "${TILESCOPE_CUDA_INCLUDE}/cuda_runtime_api.h" header)
if(NOT header MATCHES "#define CUDART_VERSION +13[0-9][0-9][0-9]")
  message(STATUS "libcudart.so.13 is left out: it needs CUDA 13's headers, and "
    "${TILESCOPE_CUDA_INCLUDE} has others")
  return()
endif()

set(cudart_directory "${PROJECT_SOURCE_DIR}/src/cudart")
set(cudart_table "${cudart_directory}/functions.def")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${cudart_table}")
file(STRINGS "${cudart_table}" rows REGEX "^FUNCTION")
list(TRANSFORM rows REPLACE "FUNCTION\\((.*), .*" "\\1")
list(JOIN rows ";\n    " exported)
set(cudart_script "${PROJECT_BINARY_DIR}/generated/libcudart.map")
file(CONFIGURE OUTPUT "${cudart_script}" @ONLY CONTENT
  "libcudart.so.12 {\n};\nlibcudart.so.13 {\n  global:\n    @exported@;\n  local:\n    *;\n};\n")

file(GLOB_RECURSE cudart_sources CONFIGURE_DEPENDS "${cudart_directory}/*.cpp")
add_library(cudart SHARED ${cudart_sources})
# The functions with variants for the default stream of each thread: the same files once more.
set(streamed_sources ${cudart_sources})
list(FILTER streamed_sources INCLUDE REGEX "/streamed/")
add_library(cudart_per_thread OBJECT ${streamed_sources})
target_compile_definitions(cudart_per_thread PRIVATE CUDA_API_PER_THREAD_DEFAULT_STREAM)
target_sources(cudart PRIVATE $<TARGET_OBJECTS:cudart_per_thread>)
foreach(target cudart cudart_per_thread)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${target} PRIVATE tilescope tilescope_options tilescope_dependencies)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET default)  # the script hides
  target_compile_options(${target} PRIVATE ${tilescope_light_options})
  tilescope_unite(${target})
endforeach()
tilescope_precompile(cudart cudart ${tilescope_common_headers} <cuda_runtime_api.h>)
target_link_options(cudart PRIVATE "-Wl,--version-script=${cudart_script}" -Wl,--no-undefined
  -Wl,-Bsymbolic)
set_target_properties(cudart PROPERTIES VERSION 13 SOVERSION 13
  LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}" LINK_DEPENDS "${cudart_script}")
add_dependencies(tilescope_cli cudart)  # whole programs need it
add_custom_command(TARGET cudart POST_BUILD COMMAND "${CMAKE_COMMAND}" -E create_symlink
  libcudart.so.13 "${CMAKE_BINARY_DIR}/libcudart.so.12")
install(TARGETS cudart LIBRARY DESTINATION lib/tilescope)
install(FILES "${CMAKE_BINARY_DIR}/libcudart.so.12" DESTINATION lib/tilescope)
