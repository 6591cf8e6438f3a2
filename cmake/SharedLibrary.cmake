# libtilescope.so: the C interface (include/tilescope.h) and all that it needs of the static library.
# It exports the functions of that header and nothing else.
set(capi_script "${PROJECT_BINARY_DIR}/generated/libtilescope.map")
file(CONFIGURE OUTPUT "${capi_script}" @ONLY CONTENT
  "libtilescope.so.@PROJECT_VERSION_MAJOR@ {\n  global:\n    tilescope_*;\n  local:\n    *;\n};\n")
file(GLOB capi_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/capi/*.cpp")
add_library(tilescope_shared SHARED ${capi_sources})
add_library(tilescope::shared ALIAS tilescope_shared)
target_include_directories(tilescope_shared
  PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
         $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(tilescope_shared PRIVATE $<BUILD_INTERFACE:tilescope>
  $<BUILD_INTERFACE:tilescope_options> $<BUILD_INTERFACE:tilescope_dependencies>)
target_compile_definitions(tilescope_shared PRIVATE TILESCOPE_VERSION="${PROJECT_VERSION}")
target_link_options(tilescope_shared PRIVATE "-Wl,--version-script=${capi_script}" -Wl,-Bsymbolic)
if(NOT TILESCOPE_SANITIZE)
  target_link_options(tilescope_shared PRIVATE -Wl,--no-undefined)  # a sanitizer's are the program's
endif()
target_compile_options(tilescope_shared PRIVATE ${tilescope_light_options})
tilescope_unite(tilescope_shared)
set_target_properties(tilescope_shared PROPERTIES OUTPUT_NAME tilescope EXPORT_NAME shared
  CXX_VISIBILITY_PRESET default  # the script hides
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}" LINK_DEPENDS "${capi_script}")
install(TARGETS tilescope_shared EXPORT tilescopeTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(FILES "${PROJECT_SOURCE_DIR}/include/tilescope.h"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
