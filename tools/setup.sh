#!/usr/bin/env bash
# Installs what this machine lacks: Debian packages, and CUDA's run-time compiler with its headers.
# Silent and quick when everything is there. Asks nothing.
#
# Usage: tools/setup.sh [build|program|test|format|python]...
#   build    what building the command and running kernels need; always included
#   program  nvcc besides, which compiles whole programs
#   test     what the tests and the programs in bench/ need besides, nvcc included
#   format   what `make format` needs besides
#   python   what the Python module needs besides: nanobind, in .deps/python
#   TILESCOPE_CUDA=wheels   take CUDA from PyPI even where a toolkit is installed; set it for the
#                           build and the program too, and they prefer it as well.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/progress.sh

packages=(g++ cmake ninja-build make libcli11-dev libfmt-dev nlohmann-json3-dev libopenblas-dev
  libpng-dev libxxhash-dev liblz4-dev libzstd-dev python3)
wants_nvcc=
wants_browser=
wants_nanobind=
wants_notebook=
for purpose in "$@"; do
  case $purpose in
    build) ;;
    program) wants_nvcc=1 ;;
    test)
      wants_nvcc=1
      wants_browser=1
      wants_nanobind=1
      wants_notebook=1
      packages+=(libgtest-dev libgmock-dev libbenchmark-dev python3-numpy python3-dev python3-venv
        pkg-config libopenmpi-dev openmpi-bin libmpich-dev mpich)
      ;;
    format) packages+=(clang-format-14) ;;
    python)
      wants_nanobind=required
      packages+=(python3-numpy python3-dev python3-venv)
      ;;
    *)
      echo "tools/setup.sh: unknown purpose \"$purpose\";" \
        "known are build, program, test, format and python" >&2
      exit 2
      ;;
  esac
done
# Wheels of one series; the driver on the machine may be newer, never older.
wheels=('nvidia-cuda-nvrtc==13.0.*' 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-cccl==13.0.*'
  'nvidia-cuda-crt==13.0.*')
compiler_wheels=('nvidia-cuda-nvcc==13.0.*' 'nvidia-nvvm==13.0.*' 'nvidia-cuda-runtime==13.0.*')
cuda=.deps/cuda
cuda_files=(include/cuda.h include/nvrtc.h include/cuda_fp16.h include/cooperative_groups.h
  include/crt/host_config.h include/cccl/cuda/std/atomic lib/libnvrtc.so.13
  lib/libnvrtc-builtins.so.13.0)
compiler_files=(bin/nvcc bin/cudafe++ bin/fatbinary bin/nvlink nvvm/bin/cicc
  nvvm/libdevice/libdevice.10.bc lib/libcudadevrt.a)

fail() {
  echo "tools/setup.sh: $*" >&2
  exit 1
}

# --- Debian packages ------------------------------------------------------------------------------
missing_packages() {
  local installed
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null |
    awk '$2 == "installed" {print $1}') || true
  comm -23 <(printf '%s\n' "${packages[@]}" | sort) <(sort -u <<< "$installed") | tr '\n' ' '
}

install_packages() {
  command -v apt-get > /dev/null ||
    fail "no apt-get here: install by hand what Debian calls ${packages[*]}"
  local missing as_root=()
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    sudo -n true 2> /dev/null ||
      fail "neither root nor sudo without a password; run: sudo apt-get install $missing"
    as_root=(sudo -n)
  fi
  echo "installing ${missing% }" >&2
  mkdir -p .deps
  # sudo passes no other descriptors on, so apt reports its progress on standard output.
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq
    -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 -o APT::Status-Fd=1)
  # shellcheck disable=SC2086  # one word per package
  { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends $missing; } \
    2>&1 < /dev/null | report_packages > .deps/apt.log ||
    fail "apt-get failed ($(grep -m1 '^E: ' .deps/apt.log || tail -n1 .deps/apt.log)); all of it is" \
      "in .deps/apt.log; by hand: apt-get install $missing"
}

install_one() {  # PACKAGE
  local packages=("$1")
  install_packages
}

# The tests of pages are skipped without a browser, so that one failure to get it is remembered.
install_browser() {
  local failed=.deps/no-browser
  if command -v chromium-headless-shell || command -v chromium || [ -e "$failed" ]; then
    return 0
  fi > /dev/null
  if ! (install_one chromium-headless-shell); then
    mkdir -p .deps
    touch "$failed"
    echo "no browser: tests of pages will be skipped; remove $failed to try again" >&2
  fi
}

# Apt's lines, but for those of its progress, such as "pmstatus:g++:45.3:Installing g++".
report_packages() {
  local line percent
  while IFS= read -r line; do
    percent=${line#*:*:} percent=${percent%%[.:]*}
    case $line in
      dlstatus:*) progress "fetching packages: $percent%" ;;
      pmstatus:*) progress "installing packages: $percent%" ;;
      *) echo "$line" ;;
    esac
  done
  progress_ends
}

# --- nanobind ---------------------------------------------------------------------------------------
# An environment of the Python with which the tests run, and its NumPy. Without nanobind the tests of
# the Python module are skipped; only `make python` fails.
install_nanobind() {
  local folder=.deps/python python log=.deps/nanobind.log
  [ ! -e "$folder/bin/python" ] || return 0
  python=$(tools/find_numpy.sh) || return 1
  mkdir -p .deps
  echo "fetching nanobind, for the Python module" >&2
  rm -rf "$folder.new"
  if "$python" -m venv --system-site-packages "$folder.new" > "$log" 2>&1 &&
    "$folder.new/bin/python" -m pip --quiet --no-input --disable-pip-version-check install \
      --retries 1 nanobind==2.15.0 >> "$log" 2>&1 < /dev/null; then
    mv "$folder.new" "$folder"
    return 0
  fi
  rm -rf "$folder.new"
  local why="nanobind could not be fetched ($(grep -m1 -i error "$log" || tail -n1 "$log"))"
  [ "$wants_nanobind" != required ] || fail "$why; the Python module needs it"
  echo "$why: tests of the Python module will be skipped" >&2
}

# A notebook's kernel, in the same environment. A failure to get it is remembered.
install_notebook() {
  local python=.deps/python/bin/python failed=.deps/no-notebook log=.deps/notebook.log
  [ -e "$python" ] && [ ! -e "$failed" ] || return 0
  "$python" -c 'import nbclient, ipykernel' 2> /dev/null && return 0
  echo "fetching a notebook's kernel, for its test" >&2
  "$python" -m pip --quiet --no-input --disable-pip-version-check install --retries 1 nbclient \
    ipykernel > "$log" 2>&1 < /dev/null || {
    touch "$failed"
    echo "no notebook's kernel: its test will be skipped; remove $failed to try again" >&2
  }
}

# --- CUDA: the search of src/base/cuda_paths.cpp --------------------------------------------------
has_files() {  # FOLDER FILE...
  local folder=$1 file
  shift
  for file in "$@"; do [ -e "$folder/$file" ] || return 1; done
}
complete_wheels() { has_files "$1" "${cuda_files[@]}"; }  # FOLDER
complete_compiler() { complete_wheels "$1" && has_files "$1" "${compiler_files[@]}"; }  # FOLDER

# A toolkit of series 12 or 13 with the driver's and NVRTC's headers and NVRTC itself.
usable_toolkit() {
  local root=$1 library
  [ -e "$root/include/nvrtc.h" ] && [ -e "$root/include/cuda_fp16.h" ] &&
    grep -qE '^#define CUDA_VERSION 1[23][0-9]{3}' "$root/include/cuda.h" 2> /dev/null || return 1
  for library in "$root"/{lib64,lib,targets/x86_64-linux/lib}/libnvrtc.so.1[23]; do
    [ -e "$library" ] && return 0
  done
  return 1
}

find_cuda() {
  local root
  if [ "${TILESCOPE_CUDA:-}" != wheels ]; then
    for root in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
      if [ -n "$root" ] && usable_toolkit "$root"; then return 0; fi
    done
  fi
  complete_wheels "$cuda"
}

find_nvcc() {
  local root
  if [ "${TILESCOPE_CUDA:-}" != wheels ]; then
    for root in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
      if [ -x "$root/bin/nvcc" ] && [ -x "$root/nvvm/bin/cicc" ]; then return 0; fi
    done
    ! command -v nvcc > /dev/null || return 0
  fi
  complete_compiler "$cuda"
}

unpack='
import pathlib, sys, zipfile
source, target = map(pathlib.Path, sys.argv[1:])
for wheel in sorted(source.glob("*.whl")):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            parts = pathlib.PurePosixPath(name).parts
            if parts[-1] == "License.txt":
                path = target / "licenses" / (wheel.name.split("-")[0] + ".txt")
            elif (parts[0] == "nvidia" and len(parts) > 3
                  and parts[2] in ("bin", "include", "lib", "nvvm")):
                path = target.joinpath(*parts[2:])
            else:
                continue
            # The variants of NVRTC, the run-time library and the assembler are not used.
            unused = (".alt.", "libcudart", "libnvrtc_static", "libnvrtc-builtins_static",
                      "libnvptxcompiler", "libnvvm.so", "bin/ptxas")
            if name.endswith("/") or any(part in name for part in unused):
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(name))
            if path.parent.name == "bin":
                path.chmod(0o755)
'

install_wheels() {  # WHAT-IS-MISSING WHEEL...
  local missing=$1
  shift
  echo "fetching NVIDIA's wheels: no CUDA toolkit of series 12 or 13 with $missing is in use" >&2
  mkdir -p .deps
  local work wheel log=.deps/pip.log number=0
  work=$(mktemp -d .deps/new.XXXXXX)
  # Whatever happens, .deps/cuda is complete or not there.
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  python3 -m venv "$work/venv" > "$log" 2>&1 ||
    fail "no virtual environment of Python ($(tail -n1 "$log")); install python3-venv"
  for wheel in "$@"; do
    progress "fetching ${wheel%%=*} ($((++number)) of $#)"
    "$work/venv/bin/python" -m pip --quiet --no-input --disable-pip-version-check download \
      --no-deps --only-binary=:all: --dest "$work/wheels" "$wheel" > "$log" 2>&1 < /dev/null ||
      fail "fetching $wheel failed ($(grep -m1 -i error "$log" || tail -n1 "$log")); without a" \
        "network, install a CUDA toolkit 12 or 13 and set CUDA_HOME to it"
  done
  progress_ends
  [ ! -d "$cuda" ] || cp -a "$cuda" "$work/cuda"
  python3 -c "$unpack" "$work/wheels" "$work/cuda"
  complete_wheels "$work/cuda" || fail "CUDA's wheels lack one of: ${cuda_files[*]}"
  rm -rf "$cuda"
  mv "$work/cuda" "$cuda"
  rm -rf "$work" "$log"
  trap - EXIT INT TERM
}

find_all() {
  find_cuda && { [ -z "$wants_nvcc" ] || find_nvcc; }
}
find_all || packages+=(python3-venv)
install_packages
[ -z "$wants_browser" ] || install_browser
[ -z "$wants_nanobind" ] || install_nanobind
[ -z "$wants_notebook" ] || install_notebook
find_cuda || install_wheels NVRTC "${wheels[@]}"
if [ -n "$wants_nvcc" ] && ! find_nvcc; then
  # One folder with everything: nvcc reads the headers that lie beside it.
  complete_wheels "$cuda" || compiler_wheels+=("${wheels[@]}")
  install_wheels nvcc "${compiler_wheels[@]}"
  complete_compiler "$cuda" || fail "CUDA's wheels lack one of: ${compiler_files[*]}"
fi
