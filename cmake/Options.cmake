# Flags that every target of this project shares. Private to the build: none is installed.
# Where files are compiled together, a local name may equal one of another file: no -Wshadow there.
add_library(tilescope_options INTERFACE)
target_compile_options(tilescope_options INTERFACE -Wall -Wextra -Wpedantic
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>
  -Wnon-virtual-dtor -Woverloaded-virtual
  -Wno-missing-field-initializers)  # designated initialisers leave defaults on purpose
if(TILESCOPE_WERROR)
  target_compile_options(tilescope_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(tilescope_options INTERFACE -Wno-restrict)  # false alarms: GCC PR 105651
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # libstdc++ 12 deprecates what its own std::stable_sort calls, and Clang says so of us.
  target_compile_options(tilescope_options INTERFACE -Wno-deprecated-declarations)
endif()
define_property(TARGET PROPERTY TILESCOPE_UNOPTIMISED
  BRIEF_DOCS "Compiled without optimisation: it takes less time to compile than it would gain"
  FULL_DOCS "Also where a sanitizer asks for some optimisation")
if(TILESCOPE_SANITIZE)
  # Tests with sanitizers compile three times as fast without optimisation. The library would run
  # three times as long.
  set(unoptimised $<BOOL:$<TARGET_PROPERTY:TILESCOPE_UNOPTIMISED>>)
  target_compile_options(tilescope_options INTERFACE
    -fsanitize=${TILESCOPE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1
    $<IF:${unoptimised},-O0,-O1>)
  target_link_options(tilescope_options INTERFACE -fsanitize=${TILESCOPE_SANITIZE})
endif()
if(TILESCOPE_PORTABLE)
  target_link_options(tilescope_options INTERFACE -static-libstdc++ -static-libgcc)
endif()

if(TILESCOPE_WHEEL)
  # The module is loaded beside others, which have the compiler's own shared library in common.
  target_link_options(tilescope_options INTERFACE -static-libstdc++ -Wl,--gc-sections
    -Wl,--exclude-libs,ALL)
endif()
