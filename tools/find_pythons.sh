#!/usr/bin/env bash
# Prints the Pythons in PATH and in /usr/bin that can make environments, one of each series from 3.9
# on, the oldest first.
# Usage: tools/find_pythons.sh [--headers]   only those with the headers that a module needs
set -euo pipefail

# Prints the minor number and the executable of an interpreter that will do.
probe='
import ensurepip, os, sys, sysconfig, venv
header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
if sys.version_info >= (3, 9) and (sys.argv[1:] != ["--headers"] or os.path.exists(header)):
    print(sys.version_info[1], sys.executable)
'
for minor in "" .{9..19}; do
  for python in "python3$minor" "/usr/bin/python3$minor"; do
    "$python" -c "$probe" "$@" 2> /dev/null || true
  done
done | sort -sn -k1,1 -u | cut -d' ' -f2-
