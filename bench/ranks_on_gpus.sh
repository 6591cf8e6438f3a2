#!/usr/bin/env bash
# Ranks of mpirun with a GPU each, on a machine that has NCCL but no MPI.
#
#     ranks_on_gpus.sh pack BUILD FOLDER              where Debian's Open MPI is installed
#     ranks_on_gpus.sh run FOLDER [RANKS [DEVICE]]    on the other machine; 2 ranks, cuda
#
# pack puts the command, its plugin and what Open MPI needs into FOLDER, about 25 MB. run multiplies
# by one process and by RANKS, in several shapes, precisions and grids, and fails unless the bits are
# the same and, on GPUs, the panels went by NCCL.
set -euo pipefail

architecture=x86_64-linux-gnu
libraries=usr/lib/$architecture

# The libraries that files need, but for those of every system, and of the compiler.
needed() {
  ldd "$@" 2>/dev/null | awk '$2 == "=>" && $3 ~ "^/" { print $3 }' | sort -u |
    grep -Ev '/(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux.*)\.so'
}

# Components of Open MPI for networks and schedulers would bring libraries of their own.
is_local() {
  ! ldd "$1" 2>/dev/null | grep -Eq 'lib(ucp|uct|fabric|psm|ibverbs|rdmacm|slurm|flux|lustre|cuda)'
}

pack() {
  local build=$1 folder=$2 file
  local root=$folder/root
  rm -rf "$folder"
  mkdir -p "$root/usr/bin" "$root/$libraries/openmpi/lib/openmpi3" "$root/lib" "$root/usr/share"
  cp "$build/tilescope" "$build/libtilescope_mpi_openmpi.so" "$folder/"
  cp -L /usr/bin/mpirun.openmpi "$root/usr/bin/mpirun"
  cp -L /usr/bin/orted "$root/usr/bin/"
  cp -rL /usr/share/openmpi "$root/usr/share/"
  for file in "/$libraries"/openmpi/lib/openmpi3/mca_*.so; do
    if is_local "$file"; then cp -L "$file" "$root/$libraries/openmpi/lib/openmpi3/"; fi
  done
  mkdir -p "$root/$libraries/pmix2/lib/pmix"
  cp -rL "/$libraries/pmix2/share" "$root/$libraries/pmix2/"
  cp -L "/$libraries"/pmix2/lib/pmix/*.so "$root/$libraries/pmix2/lib/pmix/"
  find "$folder" -type f \( -name '*.so' -o -name tilescope -o -path '*/bin/*' \) -print0 |
    xargs -0 bash -c 'needed "$@"' _ | xargs -I{} cp -L {} "$root/lib/"
  strip --strip-unneeded "$folder/tilescope" "$folder"/*.so "$root"/lib/*
  du -sh "$folder"
}
export -f needed

# Environment in which the carried Open MPI finds itself: it may lie anywhere.
use() {
  local folder root
  folder=$(realpath "$1")
  root=$folder/root
  export OPAL_PREFIX=$root/usr OPAL_LIBDIR=$root/$libraries/openmpi/lib
  export OPAL_PKGLIBDIR=$OPAL_LIBDIR/openmpi3
  export PMIX_INSTALL_PREFIX=$root/$libraries/pmix2
  export LD_LIBRARY_PATH=$root/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export PATH=$folder:$root/usr/bin:$PATH
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  # PMIx need not compress, and says so where it lacks its plugin.
  export PMIX_MCA_pcompress_base_silence_warning=1
  # Ranks of this machine alone.
  export OMPI_MCA_plm=isolated OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader
  export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
}

# Random matrices A and B in a folder, of values in [-1, 1] that repeat after some millions.
operands() {
  python3 - "$@" <<'PYTHON'
import array
import random
import sys

m, n, k = map(int, sys.argv[2:5])
random.seed(1)
for name, rows, columns in (("A", m, k), ("B", k, n)):
    values = array.array("f", (random.uniform(-1, 1) for _ in range(min(rows * columns, 2097143))))
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(f"{sys.argv[1]}/{name}.npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        left = rows * columns
        while left > 0:
            file.write(values[:left].tobytes())
            left -= len(values)
PYTHON
}

# The value of a name in a JSON file.
value_of() {
  python3 -c 'import json, sys
def found(node):
    if isinstance(node, dict):
        if sys.argv[2] in node: return node[sys.argv[2]]
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            value = found(part)
            if value is not None: return value
print(found(json.load(open(sys.argv[1]))))' "$1" "$2"
}

run() {
  local folder=$1 ranks=${2:-2} device=${3:-cuda} data wrong=0 shape precision grid
  use "$folder"
  data=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$data'" EXIT
  echo "| m x n x k | precision | grid | exchange | one: s | ranks: s | bits |"
  echo "|---|---|---|---|---|---|---|"
  for shape in "700 900 800" "2999 4001 3517" "8192 8192 8192"; do
    if [ "$device" != cuda ] && [ "$shape" = "8192 8192 8192" ]; then continue; fi
    # shellcheck disable=SC2086
    operands "$data" $shape
    for precision in fp32 bf16 tf32 fp32_fast; do
      if [ "$device" = cpu ] && [ "$precision" != fp32 ]; then continue; fi
      timed "$data/one" tilescope matmul "$data/A.npy" "$data/B.npy" -o "$data/one.npy" \
        --device "$device" --precision "$precision" --json "$data/one.json"
      for grid in "${ranks}x1" "1x$ranks"; do
        compare || wrong=1
      done
    done
  done
  return $wrong
}

# Runs a command and leaves its seconds in FILE.s.
timed() {
  local file=$1 begin end
  shift
  begin=$(date +%s.%N)
  "$@" >"$file.out" 2>"$file.err" || { cat "$file.out" "$file.err" >&2; return 1; }
  end=$(date +%s.%N)
  echo "$end $begin" | awk '{ printf "%.2f", $1 - $2 }' >"$file.s"
}

# One row: the product of `run` by all ranks.
compare() {
  local bits=same exchange
  rm -f "$data/all.npy"
  timed "$data/all" mpirun -n "$ranks" tilescope matmul "$data/A.npy" "$data/B.npy" \
    -o "$data/all.npy" --device "$device" --precision "$precision" --grid "$grid" \
    --json "$data/all.json" || return 1
  exchange=$(value_of "$data/all.json" exchange)
  cmp -s "$data/one.npy" "$data/all.npy" || bits=OTHER
  echo "| ${shape// / x } | $precision | $grid | $exchange | $(cat "$data/one.s") |" \
    "$(cat "$data/all.s") | $bits |"
  cat "$data/all.err" >&2
  if grep -q "bits may differ" "$data/all.json"; then return 0; fi
  [ $bits = same ] && { [ "$device" != cuda ] || [ "$exchange" = nccl ]; }
}

case ${1:-} in
  pack) pack "$2" "$3" ;;
  run) shift && run "$@" ;;
  *) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
