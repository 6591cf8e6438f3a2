#!/usr/bin/env bash
# Prints a Python that has NumPy: the first one in PATH, else the system's (where Debian's package
# puts it, whatever other Pythons hide it).
for python in python3 /usr/bin/python3; do
  if "$python" -c 'import numpy' 2> /dev/null; then
    command -v "$python"
    exit 0
  fi
done
echo "no Python with NumPy; run tools/setup.sh" >&2
exit 1
