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
    "panel_tiles": ("tensor_tiles", "bf16", 4160, 4096, 256),  # the model chooses panel_tiles.cu
    "ffma_tiles": ("ffma_tiles", "fp32", 1024, 2048, 320),  # A comes word by word
}
# Of one plant, or none: A transposed to boxes; tiles that reach beyond repacked rows.
OTHER_RUNS = {"repacked_rows": ("ffma_tiles", "fp32", 130, 129, 131),
              "ffma_boxes": ("ffma_tiles", "fp32", 1024, 2048, 1024)}

OVERTAKEN = {"early-overwrite", "arrival-count", "wgmma-order"}
UNREAD = {"unfinished-copy", "early-overwrite", "phase-parity"}
HANGS = {"endless-wait", "arrival-count", "expected-bytes", "phase-parity"}
CROWDED = {"arrival-count", "early-overwrite", "phase-parity"}
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


ALL = " ".join(RUNS)
TENSOR_CORES = " ".join(run for run in RUNS if run != "ffma_tiles")
STORING = "tensor_tiles specialised wide_tiles persistent cluster panel_tiles"
RINGS = "specialised wide_tiles persistent cluster"
plant(TENSOR_CORES, "wgmma.cuh", "wgmma.fence.sync.aligned;", "", {"wgmma-order"})
plant(TENSOR_CORES, "wgmma.cuh", "wgmma.commit_group.sync.aligned;", "", PRODUCTS)
plant(TENSOR_CORES, "wgmma.cuh",
      'asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory")', "", PRODUCTS)
# Without bytes a cluster waits for ever, in all of its blocks.
LOOPS = " ".join(run for run in RUNS if run not in ("tensor_tiles", "cluster"))
plant(ALL, "barrier.cuh", '"bra.uni again;\\n"', "", UNREAD | OVERTAKEN | HANGS)
plant(LOOPS, "barrier.cuh", "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;",
      "mbarrier.arrive.shared::cta.b64 _, [%0];", HANGS)
# In the other kernels the thread that initialises the barriers starts the copies itself.
plant(f"{RINGS} tensor_tiles unaligned_rows narrow_tiles ffma_tiles",
      "barrier.cuh", "fence.mbarrier_init.release.cluster;", "", INIT)
plant(STORING, "bulk_copy.cuh",
      "fence.proxy.async.shared::cta;", "", FENCE)
plant(STORING, "bulk_copy.cuh",
      "cp.async.bulk.commit_group;", "", STORES)
plant(STORING, "bulk_copy.cuh",
      'asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");', "", STORES)
EMPTY = "wait(shared.empty[stage.index], stage.parity ^ 1);"
FULL = "wait(shared.full[stage.index], stage.parity);"
for runs, file in ((RINGS, "tensor_tiles.cu"), ("register_operand", "register_operand.cu"),
                   ("narrow_tiles", "narrow_tiles.cu"), ("panel_tiles", "panel_tiles.cu")):
    plant(runs, file, EMPTY, "", OVERTAKEN)
    plant(runs, file, EMPTY, "wait(shared.empty[stage.index], stage.parity);", HANGS)
    plant(runs, file, FULL, "", UNREAD)
    plant(runs, file, FULL, "wait(shared.full[stage.index], 0);", UNREAD | HANGS)
    plant(runs, file, "wait_for_products<1>();", "", OVERTAKEN)
    plant(runs, file, "initialise(shared.full[s], 1);", "initialise(shared.full[s], 2);", HANGS)
PANEL = ("panel_tiles", "panel_tiles.cu")
plant(*PANEL, "wait(shared.panel_empty, panel.parity ^ 1);", "", OVERTAKEN)
plant(*PANEL, "wait(shared.panel_full[kt], panel_parity);", "", UNREAD)
plant(*PANEL, "release(shared.panel_empty);", "", HANGS)
plant(*PANEL, "arrive_expecting(shared.panel_full[kt], b_bytes);",
      "arrive(shared.panel_full[kt]);", HANGS)
plant(*PANEL, "arrive_expecting(full, a_bytes);", "arrive_expecting(full, b_bytes);", HANGS)
plant(*PANEL, "initialise(shared.panel_empty, CONSUMERS);", "initialise(shared.panel_empty, 1);",
      CROWDED)
plant(*PANEL, "if (C_STORE == store_boxed) wait_until_read<0>();", "", STORES)
plant(*PANEL, "synchronise_cluster();", "", START)
FFMA = ("ffma_tiles", "ffma_tiles.cu")
plant(*FFMA, "wait(full[0], 0);", "", UNREAD)
plant(*FFMA, "wait(full[at.index], at.parity);", "", UNREAD)
plant(*FFMA, "wait(full[at.index], at.parity);", "wait(full[at.index], 0);", UNREAD | HANGS)
plant(*FFMA, "if (has_words || lane == 0) arrive(empty[at.index]);", "", HANGS)
plant("ffma_boxes", "ffma_tiles.cu", "if (has_words || lane == 0) arrive(empty[at.index]);",
      "arrive(empty[at.index]);", CROWDED)
plant(*FFMA, "initialise(full[s], arrivals_of_copiers);", "initialise(full[s], 2);", HANGS)
plant(*FFMA, "initialise(empty[s], arrivals_of_readers);", "initialise(empty[s], 1);", CROWDED)
plant(*FFMA, "__syncthreads();", "", START)
COPIES = ("ffma_tiles", "ffma_copies.cuh")
WAIT_EMPTY = "if (phase >= STAGES) wait(empty[at.index], at.parity ^ 1);"
plant(*COPIES, WAIT_EMPTY, "", OVERTAKEN)
plant(*COPIES, WAIT_EMPTY, "if (phase >= STAGES) wait(empty[at.index], at.parity);",
      OVERTAKEN | HANGS)
plant(*COPIES, "arrive_expecting(barrier, bytes_of_boxes);", "arrive(barrier);", HANGS)
plant(*COPIES, "arrive_expecting(barrier, bytes_of_boxes);", "arrive_expecting(barrier, 1024);",
      HANGS)


def planted(file, text, other, occurrence):
    """The command with the edited source."""
    binary = PROGRAM.read_bytes()
    source = (ROOT / "kernels/gemm" / file).read_bytes()
    at = binary.index(source)
    for _ in range(occurrence + 1):
        at = binary.index(text.encode(), at + 1)
    return binary[:at] + other.encode().ljust(len(text)) + binary[at + len(text):]


def check(program, run):
    variant, precision, m, n, k = {**RUNS, **OTHER_RUNS}[run]
    done = subprocess.run(
        [program, "check", f"matmul/{variant}", "--precision", precision, "-m", str(m), "-n",
         str(n), "-k", str(k)], capture_output=True, text=True, timeout=600)
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
        for run in [*RUNS, *OTHER_RUNS]:
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
