#!/usr/bin/env python3
"""The same products by PyTorch and NCCL, one process a GPU: B is gathered, then multiplied; and
fused, by PyTorch's own overlap of both. Usage: sharded_torch.py [SIZE ...]

Device i has the i-th rows of A and of B, and computes the i-th rows of C. The fused form gathers
rows only, so there B^T is sharded by rows, which is as many bytes."""

import os
import statistics
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing

ROUNDS = 5


def milliseconds(launch, expected_ms):
    launches = max(2, min(20, int(60 / expected_ms)))
    for _ in range(3):
        launch()
    times = []
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        dist.barrier()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(launches):
            launch()
        end.record()
        torch.cuda.synchronize()
        longest = torch.tensor([begin.elapsed_time(end) / launches], device="cuda")
        dist.all_reduce(longest, op=dist.ReduceOp.MAX)
        times.append(longest.item())
    return statistics.median(times)


def plain(rank, count, size, dtype):
    a, b = (torch.rand(size // count, size, device="cuda", dtype=dtype) * 2 - 1 for _ in range(2))
    whole = torch.empty(size, size, device="cuda", dtype=dtype)
    c = torch.empty(size // count, size, device="cuda", dtype=dtype)

    def launch():
        dist.all_gather_into_tensor(whole, b)
        torch.mm(a, whole, out=c)

    return launch


def fused(rank, count, size, dtype):
    from torch.distributed import _symmetric_memory as symmetric
    group = dist.group.WORLD.group_name
    if hasattr(symmetric, "enable_symm_mem_for_group"):
        symmetric.enable_symm_mem_for_group(group)
    a, b = (torch.rand(size // count, size, device="cuda", dtype=dtype) * 2 - 1 for _ in range(2))
    gathered = symmetric.empty(b.shape, dtype=dtype, device="cuda").copy_(b)

    def launch():
        torch.ops.symm_mem.fused_all_gather_matmul(gathered, [a.t()], 0, group)

    return launch


def work(rank, count, sizes):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29533")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=count,
                            device_id=torch.device("cuda", rank))
    for dtype in (torch.float32, torch.bfloat16):
        for size in sizes:
            expected = 2 * size ** 3 / 4e11 / count
            for name, form in (("NCCL, then mm", plain), ("fused", fused)):
                try:
                    text = f"{milliseconds(form(rank, count, size, dtype), expected):.3f}"
                except (RuntimeError, AttributeError, ImportError) as error:
                    text = "failed: " + str(error).splitlines()[0][:90]
                if rank == 0:
                    print(f"| {str(dtype)[6:]} | {size} | {name} | {text} |", flush=True)
                torch.cuda.empty_cache()
    dist.destroy_process_group()


def main():
    sizes = [int(text) for text in sys.argv[1:]] or [8192, 16384]
    torch.backends.cuda.matmul.allow_tf32 = False
    count = torch.cuda.device_count()
    print(f"PyTorch {torch.__version__}, {count} GPUs\n\n| type | size | form | ms |\n|---|---|---|---|",
          flush=True)
    multiprocessing.spawn(work, args=(count, sizes), nprocs=count)


if __name__ == "__main__":
    main()
