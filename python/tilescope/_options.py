"""Numbers and words among the arguments of calls: one line for each that is of a wrong type."""

from __future__ import annotations

import operator
from typing import Any


def shown(value: Any) -> str:
    """The value for a message: one line, cut where it is long."""
    line = " ".join(repr(value).split())
    return line if len(line) <= 60 else line[:57] + "..."


def word(name: str, value: Any) -> str:
    """The value, if it is text. Raises TypeError."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {shown(value)}; expected text")
    return value


def number(name: str, value: Any) -> float:
    """The value as a float. Raises TypeError for text, arrays and numbers beyond float64."""
    if type(value) is float:
        return value
    try:
        if isinstance(value, (str, bytes, bytearray)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} is {shown(value)}; expected a number") from None


def whole(name: str, value: Any, least: int = -(2**63), most: int = 2**63 - 1) -> int:
    """The value as an int. Raises TypeError, and ValueError for one that is not within the limits.
    """
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {shown(value)}; expected a whole number") from None
    if not least <= count <= most:
        raise ValueError(f"{name} is {shown(count)}; expected a number from {least} to {most}")
    return count
