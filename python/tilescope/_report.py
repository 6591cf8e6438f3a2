"""The output of a command, as an object."""

from __future__ import annotations

import html
import json
from typing import Any

from . import _tilescope


class Report:
    """The page of a command.

    `print(report)` shows what the command prints; `report.data` is the document that it writes with
    --json; a notebook shows the page that it writes with --html.
    """

    def __init__(self, page: _tilescope.Page) -> None:
        self._page = page
        self._data: dict[str, Any] | None = None

    @property
    def data(self) -> dict[str, Any]:
        """The document of --json."""
        if self._data is None:
            self._data = json.loads(self._page.json())
        return self._data

    def html(self) -> str:
        """The page of --html: a complete document that needs no network."""
        return self._page.html()

    def __str__(self) -> str:
        return self._page.text().rstrip("\n")

    def __repr__(self) -> str:
        return f"<tilescope.{type(self).__name__} of {self.data['command']}>"

    def _repr_html_(self) -> str:
        # A frame keeps the page's style apart from that of the notebook. It is as high as the page,
        # or scrolls; 40em are for notebooks that run no scripts.
        return (
            '<iframe style="width: 100%; height: 40em; max-height: 60em; border: 0" '
            'onload="const page = this.contentDocument; '
            "if (page) this.style.height = page.body.getBoundingClientRect().bottom + 'px'\" "
            f'srcdoc="{html.escape(self.html())}"></iframe>'
        )
