# cmake --install: the command, the library, its headers and a package for find_package(tilescope).
include(CMakePackageConfigHelpers)

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/tilescope")
install(TARGETS tilescope_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(TARGETS tilescope EXPORT tilescopeTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tilescope"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# The library is static: whoever links it links what it uses. The package finds those libraries
# again on the machine of the user and offers them as tilescope::dependencies.
install(EXPORT tilescopeTargets NAMESPACE tilescope:: DESTINATION "${package_folder}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/tilescopeConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/tilescopeConfig.cmake" INSTALL_DESTINATION "${package_folder}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tilescopeConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/tilescopeConfig.cmake"
  "${PROJECT_BINARY_DIR}/tilescopeConfigVersion.cmake" DESTINATION "${package_folder}")

# Without a toolkit, NVRTC and CUDA's headers travel with the program, which looks for them there.
if(TILESCOPE_CUDA_INCLUDE STREQUAL "${PROJECT_SOURCE_DIR}/.deps/cuda/include")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/.deps/cuda/" DESTINATION lib/tilescope/cuda)
endif()
