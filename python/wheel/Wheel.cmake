# The files of a wheel: the module, CUDA's run time for whole programs, and OpenBLAS, of which only
# the products are taken, and kernels of processors since 2008.
set(wheel_directory "${CMAKE_CURRENT_LIST_DIR}")
find_library(TILESCOPE_OPENBLAS_ARCHIVE NAMES libopenblas.a PATH_SUFFIXES openblas-pthread
  REQUIRED)

# A processor that is not kept takes the kernels of an older one, whose instructions it has. A
# symbol that is defined pulls no kernels out of the archive.
set(substitutes
  "OPTERON PRESCOTT" "OPTERON_SSE3 PRESCOTT" "BARCELONA PRESCOTT" "BOBCAT PRESCOTT"
  "ATOM PRESCOTT" "NANO PRESCOTT" "CORE2 PRESCOTT" "PENRYN PRESCOTT" "DUNNINGTON PRESCOTT"
  "BULLDOZER SANDYBRIDGE" "PILEDRIVER SANDYBRIDGE" "STEAMROLLER SANDYBRIDGE"
  "EXCAVATOR SANDYBRIDGE" "COOPERLAKE SKYLAKEX")
set(symbols)
foreach(pair IN LISTS substitutes)
  separate_arguments(pair)
  list(GET pair 0 left_out)
  list(GET pair 1 kept)
  list(APPEND symbols "-Wl,--defsym,gotoblas_${left_out}=gotoblas_${kept}")
endforeach()
file(STRINGS "${wheel_directory}/openblas.map" taken REGEX "^    [a-z]")
list(TRANSFORM taken REPLACE " *(.*);" "-Wl,-u,\\1")
add_library(tilescope_openblas SHARED "${CMAKE_BINARY_DIR}/generated/none.cpp")
file(WRITE "${CMAKE_BINARY_DIR}/generated/none.cpp" "")
target_link_options(tilescope_openblas PRIVATE ${taken} ${symbols} -s -Wl,--gc-sections
  "-Wl,--version-script=${wheel_directory}/openblas.map")
target_link_libraries(tilescope_openblas PRIVATE "${TILESCOPE_OPENBLAS_ARCHIVE}" Threads::Threads m)

add_custom_target(tilescope_wheel)
add_dependencies(tilescope_wheel tilescope_python tilescope_openblas cudart)
set(package tilescope)
install(TARGETS tilescope_python LIBRARY DESTINATION ${package} COMPONENT wheel)
install(TARGETS tilescope_openblas LIBRARY DESTINATION ${package}/lib COMPONENT wheel)
install(FILES "$<TARGET_FILE:cudart>" DESTINATION ${package}/lib COMPONENT wheel
  RENAME libcudart.so.13)
