#!/usr/bin/env bash
# The companion operations on a GPU machine, at the sizes of their bars: every rung verified and
# timed beside the vendor's library (CUB, same process, same data) and the device's own copy of as
# many bytes. Prints one Markdown table; the JSON of every ladder stays in FOLDER.
#
#   saxpb, vector_add, scale, 2^28 floats    in_flight     0.97 of the copy, never under CUB
#   reduction, 2^28 and 2^30 floats          one_pass      1.0 x CUB
#   reduction, 2^24 and fewer                one_pass      1.2 x CUB
#   histogram, 2^30 bytes, 256 bins          byte_columns  1.5 x CUB on random data,
#                                                          1.0 x on constant, zipf, sorted
#   histogram, 512 to 8,192 bins             lane_columns  2.0 x CUB
#   transpose, 16,384^2                      vector        0.92 of the copy
#   reverse, 2^28 floats                     vector        0.95 of the copy
#   laplacian, 16,384^2, one step            marching      0.95 of the copy
#   laplacian, 8,192^2, 64 steps             temporal      2.5 x marching, one step at a time
#   blur, 8,192^2 grey, radius 1 and 5       ring          0.8 of the copy
#
# Usage: bench/companions.sh TILESCOPE FOLDER [PATTERN]
#   PATTERN: a grep expression for the names below, such as '^histogram'; all of them without.
#   Needs nvcc for the peers, unless TILESCOPE_PEERS names the library already built.
set -eu
tilescope=$(realpath "$1") folder=$2 pattern=${3:-.}
here=$(dirname "$(realpath "$0")")

# climb NAME OPERATION [OPTION...]: only rungs that take no minutes at such sizes.
climb() {
  local name=$1
  shift
  grep -q -e "$pattern" <<<"$name" || return 0
  ((++matching))
  [[ $mode == climb ]] || return 0
  echo "$name" >&2
  "$tilescope" ladder "$@" --device cuda --json "$folder/$name.json" >"$folder/$name.txt" ||
    cat "$folder/$name.txt" >&2
}
rungs() { printf -- '--variant %s ' "$@"; }

p16=65536 p20=1048576 p24=16777216 p28=268435456 p29=536870912 p30=1073741824
ladders() {
  climb saxpb_2p28 saxpb --size $p28 \
    $(rungs many_blocks strided_2 strided_8 strided_32 grid_stride vector in_flight) \
    $(rungs cub_transform device_copy)
  climb vector_add_2p28 vector_add --size $p28 \
    $(rungs one_thread_each grid_stride in_flight cub_transform device_copy)
  climb scale_16384 scale --size 16384 $(rungs picture exchanged in_flight cub_transform device_copy)
  climb reverse_2p28 reverse --size $p28 $(rungs plain shared in_place vector device_copy)
  climb transpose_16384 transpose --size 16384 \
    $(rungs naive tiled padded swizzled vector device_copy)
  for radius in 1 5; do
    climb blur_8192_radius_$radius blur --size 8192 --radius $radius \
      $(rungs plain tiled separable running_sums packed ring device_copy)
  done
  climb laplacian_16384 laplacian --size 16384 $(rungs plain tiled marching device_copy)
  climb laplacian_8192_64_steps laplacian --size 8192 --iterations 64 \
    $(rungs plain tiled marching temporal device_copy)
  for data in random constant zipf sorted; do
    climb histogram_2p30_$data histogram --size $p30 --data $data \
      $(rungs block_private copies vector lane_columns byte_columns cub_histogram device_copy)
  done
  for bins in 512 1024 2048 4096 8192; do
    climb histogram_${bins}_bins histogram --size $p29 --bins $bins \
      $(rungs block_private vector lane_columns cub_histogram device_copy)
  done
  climb reduce_2p30 reduce --size $p30 \
    $(rungs first_add shuffles vector one_pass cub_reduce device_copy)
  climb reduce_2p28 reduce --size $p28 \
    $(rungs modulo_tree halving_tree first_add shuffles vector one_pass cub_reduce device_copy)
  for size in 2p24:$p24 2p20:$p20 2p16:$p16; do
    climb reduce_${size%%:*} reduce --size ${size##*:} \
      $(rungs shuffles vector one_pass cub_reduce device_copy)
  done
  for op in min max argmax; do
    climb reduce_2p28_$op reduce --size $p28 --op $op \
      $(rungs vector one_pass cub_reduce device_copy)
  done
}

mode=count matching=0
ladders
if ((matching == 0)); then
  echo "bench/companions.sh: no ladder's name matches '$pattern'; the names are in this file" >&2
  exit 2
fi
mkdir -p "$folder"
if [[ -z ${TILESCOPE_PEERS:-} ]]; then
  "$here/build_peers.sh" "$folder" >&2
  TILESCOPE_PEERS=$(realpath "$folder/libtilescope_peers.so")
  export TILESCOPE_PEERS
fi
mode=climb
ladders
"$here/companions_table.py" "$folder"
