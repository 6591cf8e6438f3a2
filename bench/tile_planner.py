"""Does the planner choose the right tile width? The measured widths of twelve products, one table.

Usage: bench/tile_planner.py TILESCOPE_BINARY [--device cuda]

Every width from 2 to 32 of the tile kernel is verified and timed; the planner's choice is
what `tilescope tiles` marks. Fails where the choice is more than 5% slower than the fastest width.
"""

import argparse
import json
import subprocess
import sys

WIDTHS = (2, 4, 8, 16, 32)
SHAPES = (  # rows, columns, inner extent
    (64, 64, 64), (100, 100, 100), (256, 256, 256), (500, 500, 500), (1024, 1024, 1024),
    (1000, 999, 1001), (2048, 2048, 2048), (4096, 4096, 4096), (16, 4096, 4096), (4096, 16, 4096),
    (4096, 4096, 16), (128, 128, 16384))


def ask(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tilescope")
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    print("| m x n x k | " + " | ".join(f"{w} (us)" for w in WIDTHS)
          + " | fastest | planner | loss |")
    print("|---|" + "---:|" * (len(WIDTHS) + 3))
    worst = 0.0
    for shape in SHAPES:
        options = [text for flag, extent in zip(("-m", "-n", "-k"), shape)
                   for text in (flag, str(extent))]
        plan = ask([arguments.tilescope, "tiles", *options, "--json", "-"])
        rungs = ask([arguments.tilescope, "ladder", "matmul", *options, "--device",
                     arguments.device, "--samples", "25", "--json", "-",
                     *(text for w in WIDTHS for text in ("--variant", f"tiled_{w}"))])
        times = {rung["name"]: rung["time_ms"] for rung in rungs["rungs"] if rung["verdict"] == "ok"}
        times = {w: times[f"tiled_{w}"] for w in WIDTHS}
        fastest = min(times, key=times.get)
        chosen = int(plan["best"])
        loss = times[chosen] / times[fastest] - 1
        worst = max(worst, loss)
        print(f"| {' x '.join(map(str, shape))} | "
              + " | ".join(f"{1e3 * times[w]:.1f}" for w in WIDTHS)
              + f" | {fastest} | {chosen} | {100 * loss:.1f}% |", flush=True)
    print(f"\nlargest loss: {100 * worst:.1f}%")
    sys.exit(worst > 0.05)


main()
