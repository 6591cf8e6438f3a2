"""One mistake at a time, planted into the kernels for Hopper GPUs: `check` finds every one.

A plant is an edit of a kernel's source, as the command has it: in a copy of the executable the text
is replaced by one of the same length. The kernels as they are must be silent.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(shutil.which(os.environ.get("TILESCOPE", "tilescope")) or "tilescope")

# Variant, precision, m, n, k.
RUNS = {
    "tensor_tiles": ("tensor_tiles", "bf16", 256, 512, 512),
    "specialised": ("specialised", "tf32", 256, 256, 512),
    "wide_tiles": ("wide_tiles", "fp16", 256, 512, 512),
    "persistent": ("persistent", "bf16", 2048, 4096, 192),
    "cluster": ("cluster", "bf16", 512, 512, 512),
    "register_operand": ("register_operand", "tf32", 257, 256, 520),
    "unaligned_rows": ("unaligned_rows", "bf16", 127, 1001, 520),
    "split_tiles": ("split_tiles", "fp32_fast", 256, 256, 512),
    "narrow_tiles": ("narrow_tiles", "bf16", 32, 512, 16384),
    "wgmma": ("wgmma", "bf16", 256, 256, 256),
    "wgmma_stages": ("wgmma_stages", "bf16", 256, 256, 256),
}

OVERTAKEN = {"early-overwrite", "arrival-count", "wgmma-order"}
UNREAD = {"unfinished-copy", "early-overwrite", "phase-parity"}
HANGS = {"endless-wait", "arrival-count", "expected-bytes", "phase-parity"}
PRODUCTS = {"wgmma-order", "unfinished-async-work"}
FENCE = {"missing-proxy-fence"}
INIT = {"missing-mbarrier-fence"}
START = {"cluster-not-started", "missing-mbarrier-fence", "race"}
STORES = {"unfinished-async-work", "bulk-source-reuse"}

# A plant: the runs, the file, the text, what takes its place, what must be found, which occurrence.
PLANTS = []


def plant(runs, file, text, other, kinds, occurrence=0):
    for run in runs.split():
        PLANTS.append((run, file, text, other, kinds, occurrence))


ALL = ("tensor_tiles specialised wide_tiles persistent cluster register_operand unaligned_rows "
       "split_tiles narrow_tiles wgmma wgmma_stages")
RINGS = "specialised wide_tiles persistent cluster"
plant(ALL, "wgmma.cuh", "wgmma.fence.sync.aligned;", "", {"wgmma-order"})
plant(ALL, "wgmma.cuh", "wgmma.commit_group.sync.aligned;", "", PRODUCTS)
plant(ALL, "wgmma.cuh",
      'asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory")', "", PRODUCTS)
# Without a loop the first question of a short product is answered by copies that are just made; and
# without bytes a cluster waits for ever, in all of its blocks.
LOOPS = " ".join(run for run in RUNS if run not in ("tensor_tiles", "cluster"))
plant(LOOPS, "barrier.cuh", '"bra.uni again;\\n"', "", UNREAD | OVERTAKEN | HANGS)
plant(LOOPS, "barrier.cuh", "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;",
      "mbarrier.arrive.shared::cta.b64 _, [%0];", HANGS)
plant(ALL, "barrier.cuh", "fence.mbarrier_init.release.cluster;", "", INIT)
plant("tensor_tiles specialised wide_tiles persistent cluster", "bulk_copy.cuh",
      "fence.proxy.async.shared::cta;", "", FENCE)
plant("tensor_tiles specialised wide_tiles persistent cluster", "bulk_copy.cuh",
      "cp.async.bulk.commit_group;", "", STORES)
plant("tensor_tiles specialised wide_tiles persistent cluster", "bulk_copy.cuh",
      'asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");', "", STORES)
EMPTY = "wait(shared.empty[stage.index], stage.parity ^ 1);"
FULL = "wait(shared.full[stage.index], stage.parity);"
for runs, file in ((RINGS, "tensor_tiles.cu"), ("register_operand", "register_operand.cu"),
                   ("narrow_tiles", "narrow_tiles.cu")):
    plant(runs, file, EMPTY, "", OVERTAKEN)
    plant(runs, file, EMPTY, "wait(shared.empty[stage.index], stage.parity);", HANGS)
    plant(runs, file, FULL, "", UNREAD)
    plant(runs, file, FULL, "wait(shared.full[stage.index], 0);", UNREAD | HANGS)
    plant(runs, file, "wait_for_products<1>();", "", OVERTAKEN)
    plant(runs, file, "initialise(shared.full[s], 1);", "initialise(shared.full[s], 2);", HANGS)


def planted(file, text, other, occurrence):
    """The command with the edited source."""
    binary = PROGRAM.read_bytes()
    source = (ROOT / "kernels/gemm" / file).read_bytes()
    at = binary.index(source)
    for _ in range(occurrence + 1):
        at = binary.index(text.encode(), at + 1)
    return binary[:at] + other.encode().ljust(len(text)) + binary[at + len(text):]


def check(program, run):
    variant, precision, m, n, k = RUNS[run]
    done = subprocess.run(
        [program, "check", f"matmul/{variant}", "--precision", precision, "-m", str(m), "-n",
         str(n), "-k", str(k)], capture_output=True, text=True, timeout=120)
    return set(re.findall(r"^(?:error|warning): ([\w-]+)", done.stdout, re.M)), done


class Plants(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        _, done = check(PROGRAM, "tensor_tiles")
        if "needs a real GPU" in done.stderr:
            raise unittest.SkipTest("the command does not run these kernels on the emulated GPU")

    def test_there_are_enough(self):
        self.assertGreaterEqual(len(PLANTS), 60)

    def test_the_kernels_themselves_are_silent(self):
        for run in RUNS:
            with self.subTest(run):
                found, done = check(PROGRAM, run)
                self.assertEqual((found, done.returncode), (set(), 0), done.stdout + done.stderr)


def add(number, run, file, text, other, kinds, occurrence):
    def test(self):
        self.assertLessEqual(len(other), len(text))
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "tilescope"
            copy.write_bytes(planted(file, text, other, occurrence))
            copy.chmod(0o755)
            found, done = check(copy, run)
        self.assertTrue(found & kinds, f"{run}, {file}: {text} -> {other}: {sorted(found)}\n"
                        + done.stderr)

    setattr(Plants, f"test_{number}_{run}", test)


for number, each in enumerate(PLANTS):
    add(number, *each)

if __name__ == "__main__":
    unittest.main()
