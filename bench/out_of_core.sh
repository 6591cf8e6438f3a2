#!/usr/bin/env bash
# The out-of-core product on a GPU machine: an N x N matrix times itself under a device-memory limit.
# The result must have the bits of the product without a limit. Beside it cublasXt, where nvcc can
# build it. Needs PyTorch (to make the matrix on the GPU) and room for three matrices in FOLDER; with
# N = 65,536 that and cublasXt's pinned operands take 51 GB each.
# Usage: bench/out_of_core.sh TILESCOPE_BINARY FOLDER [N] [LIMIT]
set -eu
tilescope=$1 folder=$2 n=${3:-65536} limit=${4:-24GiB}
python3 - "$folder/A.npy" "$n" <<'PYTHON'
import sys
import numpy as np
import torch

path, n = sys.argv[1], int(sys.argv[2])
torch.manual_seed(1)
matrix = np.lib.format.open_memmap(path, mode="w+", dtype="f4", shape=(n, n))
for row in range(0, n, 4096):
    part = torch.rand(min(4096, n - row), n, device="cuda") * 2 - 1
    matrix[row : row + 4096] = part.cpu().numpy()
PYTHON
multiply() { "$tilescope" matmul "$folder/A.npy" "$folder/A.npy" --device cuda "$@"; }
multiply -o "$folder/whole.npy"
multiply -o "$folder/C.npy" --device-memory "$limit"
multiply -o "$folder/C.npy" --device-memory "$limit"
cmp "$folder/whole.npy" "$folder/C.npy" && echo "the same bits"
rm "$folder/whole.npy"
python3 "$(dirname "$0")/freivalds.py" "$folder/A.npy" "$folder/A.npy" "$folder/C.npy" 4
rm "$folder/C.npy"
# The peer, in the same run: cublasXt on matrices of the same size in pinned memory.
if command -v nvcc > /dev/null; then
  nvcc -O3 -o "$folder/cublasxt_peer" "$(dirname "$0")/cublasxt_peer.cu" -lcublas
  "$folder/cublasxt_peer" "$n" 8192 16384
fi
