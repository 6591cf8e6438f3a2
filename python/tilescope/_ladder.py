"""Ladders: every rung of an operation, verified, and timed or counted."""

from __future__ import annotations

from typing import Any, Sequence

from . import _tilescope
from ._options import whole, word
from ._report import Report


class Ladder(Report):
    """A climbed ladder. Iterating gives the rungs, as dictionaries with the keys of --json."""

    @property
    def rungs(self) -> list[dict[str, Any]]:
        return self.data["rungs"]

    def __iter__(self):
        return iter(self.rungs)

    def __len__(self) -> int:
        return len(self.rungs)

    def __getitem__(self, name: str) -> dict[str, Any]:
        """The rung of that name."""
        for rung in self.rungs:
            if rung["name"] == name:
                return rung
        raise KeyError(name)


def ladder(
    operation: str,
    *,
    variants: Sequence[str] = (),
    samples: int = 9,
    device: str = "auto",
    **problem: Any,
) -> Ladder:
    """Verifies every rung of `operation` and times it; without a GPU it counts instead.

    `problem` takes the options of `tilescope ladder OPERATION`: size, rows, columns, inner, radius,
    channels, iterations, bins, type, data, op, precision, seed. `variants` names the rungs to run;
    none means all.

        for rung in tilescope.ladder("matmul", size=1024):
            print(rung["name"], rung["verdict"])
    """
    if isinstance(variants, str):
        variants = [variants]
    names = [word("a name in variants", name) for name in variants]
    return Ladder(_tilescope.ladder(word("operation", operation), problem, names,
                                    whole("samples", samples, 1, 10_000), word("device", device)))
