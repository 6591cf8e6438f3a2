#!/usr/bin/env bash
# Builds the library, the command and the tests with every C++ compiler that this machine has, from
# GCC 12 and Clang 16 on, with warnings as errors, and each file by itself (it must include what it
# uses). Prints one line for each compiler: name, version, seconds, warnings (one for each place),
# and "ok" or "fails" with the log to read. Exits with 1 if one fails.
# Usage: tools/compilers.sh [COMPILER...]
set -euo pipefail
cd "$(dirname "$0")/.."

found_compilers() {  # each once, also where several names lead to it
  local name path seen=" "
  for name in g++-{12..16} clang++-{16..22} g++; do
    path=$(realpath "$(command -v "$name")" 2> /dev/null) || continue
    [[ $seen != *" $path "* ]] || continue
    seen+="$path "
    echo "$name"
  done
}

compilers=("$@")
((${#compilers[@]})) || mapfile -t compilers < <(found_compilers)
work=build-compilers
mkdir -p "$work"
failed=0
for compiler in "${compilers[@]}"; do
  folder=$work/$compiler log=$work/$compiler.log result=ok
  rm -rf "$folder"
  start=$SECONDS
  {
    cmake --preset default -B "$folder" -DCMAKE_CXX_COMPILER="$compiler" \
      -DTILESCOPE_BUILD_TESTS=ON -DTILESCOPE_UNITY_BUILD=OFF -DTILESCOPE_WERROR=ON \
      --log-level=WARNING &&
      ninja -C "$folder" -k 0
  } > "$log" 2>&1 || { result="fails: $log" failed=1; }
  warnings=$(grep -E '^[^ ].*\[-Werror' "$log" | sort -u | wc -l) || true
  version=$("$compiler" -dumpfullversion 2> /dev/null || "$compiler" -dumpversion)
  printf '%-12s %-8s %5d s %4d warnings  %s\n' "$compiler" "$version" $((SECONDS - start)) \
    "$warnings" "$result"
  rm -rf "$folder"
done
exit "$failed"
