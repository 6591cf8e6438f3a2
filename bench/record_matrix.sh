#!/bin/bash
# Records the tensor cores of this machine's GPU: record_matrix.sh [WORDS.bin] > HASHES.txt
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
program=$(mktemp)
trap 'rm -f "$program"' EXIT
g++ -std=c++20 -O1 -I"$root/tests" -I"${CUDA_HOME:-/usr/local/cuda}/include" \
  "$root"/bench/record_matrix.cpp "$root"/tests/emulator/{mma_cases,wgmma_cases,matrix_values}.cpp \
  -ldl -o "$program"
"$program" "$@"
