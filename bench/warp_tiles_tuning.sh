#!/usr/bin/env bash
# Builds kernels/matmul/17_warp_tiles.cu in many configurations and times each beside cuBLAS.
# Needs nvcc and a GPU of compute capability 8.0 or newer. Usage: bench/warp_tiles_tuning.sh [ARCH]
set -u
arch=${1:-sm_90a}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
names=(BM BN BK WM WN STAGES BLOCKS_PER_SM GROUP)
configurations=(
  "128 128 16 32 64 3 2 8"
  "128 128 8 32 64 4 2 8"
  "128 128 16 64 64 3 2 8"
  "128 128 8 64 64 4 2 8"
  "128 128 32 64 64 3 2 8"
  "128 128 16 64 64 4 2 8"
  "128 128 16 64 64 3 2 16"
  "256 128 16 64 64 3 1 8"
  "256 128 16 64 64 4 1 8"
  "256 128 32 64 64 3 1 8"
  "256 128 8 64 64 5 1 8"
  "128 256 16 64 64 3 1 8"
  "128 256 16 64 64 4 1 8"
  "128 256 8 64 64 4 1 8"
  "128 64 16 32 64 4 3 8"
  "64 128 16 32 64 4 3 8"
  "128 64 16 64 32 4 3 8"
)
build() {
  local flags=() values=($1)
  for i in "${!names[@]}"; do flags+=("-D${names[$i]}=${values[$i]}"); done
  nvcc -O3 -std=c++17 -arch="$arch" "${flags[@]}" -o "$work/${1// /_}" \
    "$here/warp_tiles_tuning.cu" -lcublas 2>"$work/${1// /_}.log"
}
for c in "${configurations[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
  build "$c" &
done
wait
for c in "${configurations[@]}"; do
  "$work/${c// /_}" || { echo "$c failed"; head -5 "$work/${c// /_}.log"; }
done
