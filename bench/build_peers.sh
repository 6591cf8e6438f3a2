#!/usr/bin/env bash
# Builds libtilescope_peers.so, the vendor's algorithms that the ladders compare themselves with.
# Needs nvcc (with CUB, which comes with it). Usage: bench/build_peers.sh FOLDER [ARCHITECTURE]
set -eu
folder=$1 architecture=${2:-native}
mkdir -p "$folder"
nvcc -O3 -std=c++17 --shared -Xcompiler -fPIC,-fvisibility=hidden -arch="$architecture" \
  -o "$folder/libtilescope_peers.so" "$(dirname "$0")/peers/cub_peers.cu"
echo "$folder/libtilescope_peers.so"
