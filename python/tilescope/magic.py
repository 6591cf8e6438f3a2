"""The cell magic %%tilescope for notebooks.

    %load_ext tilescope.magic

    %%tilescope check --grid 4 --block 256 x y n=1000
    __global__ void scale(float* x, float* y, int n) { ... }

The cell is CUDA C++ (or PTX); the words after the options are the arguments: expressions of
Python, with `name=` before one for reports. The report is the cell's value, `_tilescope` its name.
"""

from __future__ import annotations

import argparse
import re
import shlex
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class

from . import inspection


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise UsageError(f"%%tilescope: {message}")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="%%tilescope", add_help=False)
    parser.add_argument("command", choices=("check", "explain", "run"))
    parser.add_argument("--grid", required=True)
    parser.add_argument("--block", required=True)
    parser.add_argument("--kernel", default="")
    parser.add_argument("--shared", type=int, default=0)
    parser.add_argument("--cluster", default="1")
    parser.add_argument("--device", default="emulated")
    parser.add_argument("--schedules", type=int, default=1)
    parser.add_argument("--max-findings", type=int, default=0)
    parser.add_argument("--blocks", default="")
    parser.add_argument("-D", dest="defines", action="append", default=[])
    parser.add_argument("args", nargs="*")
    return parser


@magics_class
class TilescopeMagics(Magics):
    """%%tilescope check | explain | run."""

    @cell_magic
    def tilescope(self, line: str, cell: str) -> Any:
        given = _parser().parse_intermixed_args(shlex.split(line))
        named = {}
        for i, word in enumerate(given.args):
            name = re.match(r"([A-Za-z_]\w*)=(?!=)", word)
            text = word[name.end():] if name else word
            own = word if word.isidentifier() else f"argument {i + 1}"
            named[name.group(1) if name else own] = self._value(text)
        command = getattr(inspection, given.command)
        result = command(
            cell, self._value(given.grid), self._value(given.block), named, name=given.kernel,
            shared=given.shared, cluster=self._value(given.cluster), device=given.device,
            schedules=given.schedules, max_findings=given.max_findings, blocks=given.blocks,
            defines=dict(self._define(word) for word in given.defines))
        self.shell.user_ns["_tilescope"] = result
        return result

    def _value(self, text: str) -> Any:
        return self.shell.ev(text)

    @staticmethod
    def _define(word: str) -> tuple[str, str]:
        name, _, value = word.partition("=")
        return name, value or "1"


def load_ipython_extension(shell: Any) -> None:
    shell.register_magics(TilescopeMagics)
