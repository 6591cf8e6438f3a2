"""Options of scripts with many cases: `--all` runs all of them where a script has a sample,
`--shard I/N` every N-th, from the I-th on. What follows is for unittest."""

import sys

ALL = "--all" in sys.argv
if ALL:
    sys.argv.remove("--all")
FIRST, STEP = 0, 1
if "--shard" in sys.argv:
    place = sys.argv.index("--shard")
    FIRST, STEP = map(int, sys.argv[place + 1].split("/"))
    del sys.argv[place:place + 2]


def shard(cases):
    return list(cases)[FIRST::STEP]
