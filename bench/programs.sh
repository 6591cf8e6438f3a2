#!/usr/bin/env bash
# The programs of tests/programs on a GPU machine: with NVIDIA's CUDA run time and with Tilescope's,
# which passes the calls to the driver (cuda) or emulates the GPU. Their output must be the same,
# apart from times and from the order of lines, which a GPU does not fix.
#
# Usage: bench/programs.sh build FOLDER                          where nvcc is
#        bench/programs.sh compare FOLDER TILESCOPE [DEVICE...]  where the GPU is
#   FOLDER gets the executables and NVIDIA's library. DEVICE: cuda and emulated:h200 without.
#   Exit code: 0 the same everywhere, 1 a difference, a failure or nothing to compare.
set -eu
here=$(dirname "$(realpath "$0")")

build() {
  local folder=$1 toolkit expect
  toolkit=$(dirname "$(dirname "$(realpath "$(command -v nvcc)")")")
  mkdir -p "$folder/nvidia"
  cp "$toolkit"/lib64/libcudart.so.?? "$folder/nvidia/"
  for expect in "$here"/../tests/programs/*/expect.json; do
    (
      cd "$(dirname "$expect")"
      readarray -t more < <(python3 -c '
import json
expect = json.load(open("expect.json"))
for word in expect.get("sources", []) + expect.get("options", []): print(word)')
      nvcc -arch=compute_90 -cudart shared -lineinfo -std=c++17 -o "$folder/$(basename "$PWD")" \
        good.cu ${more[@]+"${more[@]}"}
    )
  done
}

# output COMMAND...: standard output with times masked and lines sorted, then the exit code.
output() {
  local code=0 text
  text=$("$@" 2>&1) || code=$?
  sed -E 's/[0-9.]+ (ms|us|s|GB\/s)\b/TIME \1/g' <<<"$text" | sort
  echo "exit $code"
}

compare() {
  local folder=$1 tilescope=$2 program name theirs ours device different=0 count=0
  shift 2
  [[ $# -gt 0 ]] || set -- cuda emulated:h200
  cd "$(mktemp -d)"
  trap 'rm -rf "$PWD"' EXIT
  for program in "$folder"/*; do
    [[ -f $program && -x $program ]] || continue
    name=$(basename "$program")
    theirs=$(LD_LIBRARY_PATH=$folder/nvidia output "$program")
    if [[ $theirs != *"exit 0" ]]; then
      printf '%-20s NVIDIA: did not pass\n%s\n' "$name" "$theirs"
      different=1
    fi
    for device; do
      ((++count))
      ours=$(output "$tilescope" run --device "$device" "$program")
      if [[ $ours == "$theirs" ]]; then
        printf '%-20s %-14s same\n' "$name" "$device"
      else
        printf '%-20s %-14s DIFFERENT\n' "$name" "$device"
        diff <(echo "$theirs") <(echo "$ours") || different=1
      fi
    done
  done
  ((count > 0)) && return "$different"
  echo "no programs in $folder; run bench/programs.sh build there first" >&2
  return 1
}

case "${1-}:$#" in
  build:2) build "$(mkdir -p "$2" && realpath "$2")" ;;
  compare:[3-9]) compare "$(realpath "$2")" "$(realpath "$3")" "${@:4}" ;;
  *)
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2
    exit 2
    ;;
esac
