# Every library we use comes from the system (tools/setup.sh installs them); nothing is downloaded.
# A portable build takes archives where there is a choice.
if(TILESCOPE_PORTABLE)
  find_library(PNG_LIBRARY_RELEASE NAMES libpng.a libpng16.a REQUIRED)
  find_library(ZLIB_LIBRARY_RELEASE NAMES libz.a REQUIRED)
  set(lz4_names liblz4.a)
  set(zstd_names libzstd.a)
else()
  set(lz4_names lz4)
  set(zstd_names zstd)
endif()
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PNG REQUIRED)
find_path(TILESCOPE_XXHASH_INCLUDE xxhash.h REQUIRED)  # used header-only
find_path(TILESCOPE_LZ4_INCLUDE lz4.h REQUIRED)
find_library(TILESCOPE_LZ4 NAMES ${lz4_names} REQUIRED)
find_path(TILESCOPE_ZSTD_INCLUDE zstd.h REQUIRED)
find_library(TILESCOPE_ZSTD NAMES ${zstd_names} REQUIRED)

# CUDA's headers only: the driver, NVRTC and cuBLAS are opened at run time. A toolkit where there
# is one, else the PyPI wheels that tools/setup.sh unpacked into .deps/cuda.
set(toolkits ENV CUDA_HOME ENV CUDA_PATH)
if("$ENV{TILESCOPE_CUDA}" STREQUAL "wheels")
  set(toolkits)
endif()
find_path(TILESCOPE_CUDA_INCLUDE cuda.h
  HINTS ${toolkits} PATH_SUFFIXES include
  PATHS "${PROJECT_SOURCE_DIR}/.deps/cuda/include" /usr/local/cuda/include
  NO_DEFAULT_PATH)
find_path(TILESCOPE_NVRTC_INCLUDE nvrtc.h HINTS "${TILESCOPE_CUDA_INCLUDE}" NO_DEFAULT_PATH)
if(NOT TILESCOPE_CUDA_INCLUDE OR NOT TILESCOPE_NVRTC_INCLUDE)
  message(FATAL_ERROR "cuda.h and nvrtc.h not found: run tools/setup.sh, or set CUDA_HOME")
endif()

# OpenBLAS: opened at run time, so that its kernels can be chosen first; the archive in a portable
# build.
set(TILESCOPE_OPENBLAS "")
if(TILESCOPE_PORTABLE)
  find_library(TILESCOPE_OPENBLAS_ARCHIVE NAMES libopenblas.a PATH_SUFFIXES openblas-pthread
    REQUIRED)
  set(TILESCOPE_OPENBLAS "${TILESCOPE_OPENBLAS_ARCHIVE}")
endif()
find_path(TILESCOPE_CBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas-pthread
  HINTS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE} REQUIRED)

# fmt: a wheel has an archive of its own, the same headers and the same settings.
set(TILESCOPE_FMT fmt::fmt)
if(TILESCOPE_PORTABLE)
  set(TILESCOPE_FMT fmt::fmt-header-only)
elseif(TILESCOPE_WHEEL)
  set(TILESCOPE_FMT tilescope_fmt)
  add_library(tilescope_fmt STATIC "${PROJECT_SOURCE_DIR}/python/wheel/fmt.cpp")
  target_compile_definitions(tilescope_fmt INTERFACE
    $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
endif()

add_library(tilescope_dependencies INTERFACE)
target_include_directories(tilescope_dependencies SYSTEM INTERFACE
  "${TILESCOPE_CUDA_INCLUDE}" "${TILESCOPE_CBLAS_INCLUDE}" "${TILESCOPE_LZ4_INCLUDE}"
  "${TILESCOPE_ZSTD_INCLUDE}")
target_link_libraries(tilescope_dependencies INTERFACE
  ${TILESCOPE_FMT}
  CLI11::CLI11 nlohmann_json::nlohmann_json PNG::PNG "${TILESCOPE_LZ4}" "${TILESCOPE_ZSTD}"
  ${TILESCOPE_OPENBLAS} Threads::Threads ${CMAKE_DL_LIBS})
if(TILESCOPE_PORTABLE)
  target_compile_definitions(tilescope_dependencies INTERFACE TILESCOPE_STATIC_OPENBLAS)
endif()
