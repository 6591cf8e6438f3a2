# Installs BUILD to a folder of its own, builds examples/consumer against it, and runs it.
#   cmake -DBUILD=... -DSOURCE=... -DWORK=... -DCXX=... -P consumer_test.cmake
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nexited with ${result}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(require_match text)
  if(NOT output MATCHES "${text}")
    message(FATAL_ERROR "\"${text}\" is not in:\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK}")
set(prefix "${WORK}/prefix")
run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}")

# The headers must stand alone: only the installed copies are in reach of the consumer. They and what
# the documentation shows are free of the warnings that programs ask for.
set(warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
string(JOIN " " flags ${warnings})
run("${CXX}" -std=c++20 -fsyntax-only ${warnings} "-I${prefix}/include"
  "${SOURCE}/tests/package/named_members.cpp")
run("${CMAKE_COMMAND}" -S "${SOURCE}/examples/consumer" -B "${WORK}/build" "-DCMAKE_CXX_FLAGS=${flags}"
  "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${CXX}" -DCMAKE_BUILD_TYPE=Release)
run("${CMAKE_COMMAND}" --build "${WORK}/build")
run("${WORK}/build/consumer")
require_match("^cpu_blas on cpu: right\n$")
run("${WORK}/build/companions")
require_match("^nine operations on cpu: right\n$")
run("${WORK}/build/inspect")
require_match("^race in line 4: .*line 4: 4 wavefronts, 2 of them conflicts\n")
require_match("x\\[0\\] is 63\ncheck, explain and run: right\n$")

run("${prefix}/bin/tilescope" --version)
require_match("^tilescope [0-9]+\\.[0-9]+\\.[0-9]+\n$")
# Away from the build tree it still finds CUDA's compiler.
run("${prefix}/bin/tilescope" devices)
require_match("NVRTC: 1[23]\\.[0-9]+ \\(")

# The package refuses a version that it is not.
file(WRITE "${WORK}/newer/CMakeLists.txt" "cmake_minimum_required(VERSION 3.22)
project(newer LANGUAGES CXX)
find_package(tilescope 99 REQUIRED)\n")
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${WORK}/newer" -B "${WORK}/newer/build"
  "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${CXX}"
  RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
if(result EQUAL 0)
  message(FATAL_ERROR "find_package(tilescope 99) succeeded")
endif()
file(REMOVE_RECURSE "${WORK}")
