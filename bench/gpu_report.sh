#!/usr/bin/env bash
# Everything the results in docs/results/ need from a GPU machine, in one go.
# Usage: bench/gpu_report.sh TILESCOPE_BINARY OUTPUT_FOLDER
set -u
tilescope=$1
out=$2
mkdir -p "$out"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv
"$tilescope" devices
for size in "--size 1024" "--size 4096" "-m 1000 -n 999 -k 1001"; do
  "$tilescope" ladder matmul $size --device cuda --json "$out/ladder_${size//[^0-9]/}.json"
done
