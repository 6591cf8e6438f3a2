#!/usr/bin/env bash
# Configures a folder by a preset of CMake, where that was not done yet, and builds targets in it.
# Says how far it is.
# Usage: tools/build.sh PRESET FOLDER [-DNAME=VALUE...] [TARGET...]; everything without a target
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/progress.sh

preset=$1 folder=$2
shift 2
settings=() targets=()
for word in "$@"; do
  case $word in
    -D*) settings+=("$word") ;;
    *) targets+=("$word") ;;
  esac
done

# Ninja configures again by itself when a file of CMake changed, but knows nothing of our settings.
configured() {
  [ -f "$folder/build.ninja" ] || return 1
  local setting name kept
  for setting in "${settings[@]}"; do
    name=${setting%%=*}
    kept=$(sed -n "s/^${name#-D}:[A-Z]*=//p" "$folder/CMakeCache.txt")
    [ "$kept" = "${setting#*=}" ] || return 1
  done
}

# Ninja's lines in a log: of its steps one now and then, of CMake's state none, all others as they
# are.
report_steps() {
  local line steps='^\[([0-9]+)/([0-9]+)\] (.*)'
  while IFS= read -r line; do
    if [[ $line =~ $steps ]]; then
      case ${BASH_REMATCH[3]} in
        Re-*) ;;  # CMake looks for new files
        *) progress "compiling: ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} files" ;;
      esac
    elif [[ $line != @(ninja: Entering|ninja: no work|-- )* ]]; then
      echo "$line" >&2
    fi
  done
}

if ! configured; then
  echo "configuring $folder" >&2
  mkdir -p "$folder"
  cmake --preset "$preset" -B "$folder" "${settings[@]}" --log-level=WARNING \
    > "$folder/configure.log" 2>&1 || {
    cat "$folder/configure.log" >&2
    exit 1
  }
fi

build=(ninja -C "$folder" -j "$(nproc)" "${targets[@]}")
if [ -t 1 ]; then
  NINJA_STATUS='compiling: %f of %t files; ' "${build[@]}"
else
  NINJA_STATUS='[%f/%t] ' "${build[@]}" | report_steps
fi
