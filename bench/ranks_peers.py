#!/usr/bin/env python3
"""`mpirun tilescope matmul` beside ScaLAPACK's psgemm and pdgemm, and beside COSMA, on this machine.

Usage: bench/ranks_peers.py TILESCOPE [--cosma PREFIX] [--ranks 2,4] [--rounds N]
                            [--shapes MxNxK,...] [--types float,double]

Needs Open MPI, ScaLAPACK and OpenBLAS (Debian: libopenmpi-dev, libscalapack-openmpi-dev) and a
Python with NumPy. COSMA is compared if PREFIX is where it and COSTA were installed (CMake:
COSMA_BLAS=OPENBLAS). Every rank has one thread in all programs. They take turns, and a table row is
the medians of N rounds. Our ranks read operands from files and write the result to one, in the time
that is given. Peers run twice: "in memory", where operands and result lie as they want them, and
"files", where they do our job by their own means, each once to warm up. The load of other programs
stands at the end."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
               "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


# Every program chooses the kernels of BLAS that it thinks best for this processor.
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def build(folder, cosma):
    """The peers' programs, by name."""
    compiler = ["mpicxx.openmpi", "-O2", "-std=c++17", "-DOMPI_SKIP_MPICXX"]
    programs = {"ScaLAPACK": os.path.join(folder, "scalapack_peer")}
    subprocess.run([*compiler, os.path.join(HERE, "peers", "scalapack_peer.cpp"), "-o",
                    programs["ScaLAPACK"], "-lscalapack-openmpi", "-lopenblas"], check=True)
    if cosma:
        programs["COSMA"] = os.path.join(folder, "cosma_peer")
        subprocess.run([*compiler, "-fopenmp", "-I", os.path.join(cosma, "include"),
                        os.path.join(HERE, "peers", "cosma_peer.cpp"), "-o", programs["COSMA"],
                        "-L", os.path.join(cosma, "lib"), "-lcosma", "-lcosta", "-lopenblas"],
                       check=True)
    return programs


def under_mpirun(ranks, command, folder):
    """The time that the command's JSON has."""
    # Ranks that wait leave their core to others where there are fewer cores.
    yields = {"OMPI_MCA_mpi_yield_when_idle": str(int(ranks > os.cpu_count()))}
    environment = {name: value for name, value in os.environ.items() if name not in UNSET}
    run = subprocess.run(["mpirun.openmpi", "-n", str(ranks), *command], cwd=folder, text=True,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True,
                         env={**environment, **ENVIRONMENT, **yields})
    return json.loads(run.stdout)["time_ms"]


def compare(tilescope, programs, folder, shape, kind, ranks, rounds):
    """Medians of milliseconds, by program."""
    m, n, k = shape
    draw = np.random.default_rng(1)
    for name, extents in (("A.npy", (m, k)), ("B.npy", (k, n))):
        values = draw.uniform(-1, 1, extents)
        np.save(os.path.join(folder, name), values.astype(np.float32 if kind == "float" else float))
    commands = {"ours": [tilescope, "matmul", "A.npy", "B.npy", "-o", "C.npy", "--device", "cpu",
                         "--json", "-"]}
    for name, program in programs.items():
        commands[name] = [program, kind, str(m), str(n), str(k), "1"]
        commands[f"{name} files"] = [*commands[name], "A.npy", "B.npy", "C.npy"]
    times = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(under_mpirun(ranks, command, folder))
    return {name: statistics.median(values) for name, values in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tilescope")
    parser.add_argument("--cosma")
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--shapes", default="4096x4096x4096,2999x4001x3517,1000x8191x2049")
    parser.add_argument("--types", default="float,double")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tilescope.") as folder:
        programs = build(folder, options.cosma)
        peers = [name + how for name in programs for how in ("", " files")]
        names = ["ours", *peers]
        print(f"| shape (m x n x k) | type | ranks | {' | '.join(f'{n} ms' for n in names)} | "
              f"{' | '.join(f'{n} / ours' for n in peers)} |")
        print("|" + "---|" * (2 + 2 * len(names)), flush=True)
        for text in options.shapes.split(","):
            shape = [int(extent) for extent in text.split("x")]
            for kind in options.types.split(","):
                for ranks in map(int, options.ranks.split(",")):
                    times = compare(os.path.abspath(options.tilescope), programs, folder, shape,
                                    kind, ranks, options.rounds)
                    row = [" x ".join(f"{extent:,}" for extent in shape), kind, str(ranks),
                           *(f"{times[name]:.0f}" for name in names),
                           *(f"{times[name] / times['ours']:.2f}" for name in peers)]
                    print(f"| {' | '.join(row)} |", flush=True)
    print(f"\n{os.cpu_count()} cores; load of the last 1, 5, 15 minutes: "
          + ", ".join(f"{load:.1f}" for load in os.getloadavg()))


if __name__ == "__main__":
    sys.exit(main())
