#!/usr/bin/env bash
# The tests with the label `gpu` and compute-sanitizer's memcheck and racecheck on kernels of products,
# from the one test program, copied to a machine with a GPU. Prints a line for each failed test, the
# numbers of each run, and what the sanitizers found; the whole output stays in FOLDER. A run without a
# test is a failure.
#
# Usage: bench/gpu_tests.sh TEST_CUDA FOLDER [CHECKED]
#   TEST_CUDA: build-portable/tests/test_cuda, by
#     tools/build.sh portable build-portable -DTILESCOPE_BUILD_TESTS=ON test_cuda
#   CHECKED: the tests that run under the sanitizers, a --gtest_filter; none leaves these out
# SHARDS: processes at once (8); with 16 cores they take seven minutes, most of them to compile.
# Exit code 1 if anything failed.
set -u
test_cuda=$(realpath "$1") folder=$2
checked=${3-'RowsOfCOnGpu.EveryBeginAndEnd:*GemmOnGpu.RandomProblems/short_k:*/fp64_tiles:*/gemv'}
mkdir -p "$folder"
rm -f "$folder"/*.log  # of another number of shards
export TILESCOPE_CACHE=${TILESCOPE_CACHE:-$folder/cache}
failed=0

# These ask for all of the GPU's memory, or time what it does: nothing may run beside them.
alone='CudaMemory.*:CudaDevice.MoreMemory*:TuningOnGpu.*'
shards=${SHARDS:-8}

# summary LOG...: what Google Test says at the end, and each failure. Fails if a run did not end, or had
# no test.
summary() {
  grep -h -E '^\[  (FAILED |SKIPPED) \] [^ ]+ \(' "$@" | sort -u
  awk '/^\[==========\] .* ran/ {if ($2 > 0) logs++; tests += $2} /^\[  PASSED  \]/ {passed += $4}
       END {print logs + 0 " runs of " ARGC - 1 " ended, " tests + 0 " tests, " passed + 0 " passed"
            exit logs + 0 != ARGC - 1}' "$@"
}

"$test_cuda" --gtest_filter="$alone" > "$folder/alone.log" 2>&1 || failed=1
for ((i = 0; i < shards; ++i)); do
  GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i "$test_cuda" --gtest_filter="-$alone" \
    > "$folder/shard_$i.log" 2>&1 &
done
for ((i = 0; i < shards; ++i)); do wait -n || failed=1; done
summary "$folder"/shard_*.log "$folder/alone.log" || failed=1

if [ -n "$checked" ]; then
  for tool in memcheck racecheck; do
    compute-sanitizer --tool "$tool" --error-exitcode 1 "$test_cuda" --gtest_filter="$checked" \
      > "$folder/$tool.log" 2>&1 &
  done
  for tool in memcheck racecheck; do wait -n || failed=1; done
  for tool in memcheck racecheck; do
    echo "$tool: $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$folder/$tool.log")"
    summary "$folder/$tool.log" || failed=1
  done
fi
exit $failed
