#!/usr/bin/env bash
# Are the emulator's counts the chip's? On a machine with a GPU whose counters this user may read:
# runs every matmul rung under Nsight Compute, counts the same launches in the emulator, prints
# both side by side, and exits 1 when a bound of docs/parity.md is broken.
# Usage: bench/parity.sh TILESCOPE_BINARY [COUNTS.csv]
# COUNTS.csv: where to leave ncu's counts (default: a temporary file). Without ncu, an existing file
# is compared.
set -euo pipefail
tilescope=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
counts=${2:-$(mktemp --suffix=.csv)}
if command -v ncu > /dev/null; then
  "$here/ncu_counts.sh" "$tilescope" "$counts"
elif [ ! -s "$counts" ]; then
  echo "parity: there is no ncu on this machine, and no file of its counts" >&2
  exit 3
fi
"$here/parity.py" "$tilescope" "$counts"
