# cmake --install: the command, the library, its headers and a package for find_package(tilescope).
include(CMakePackageConfigHelpers)
