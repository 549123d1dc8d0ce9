"""Execute the notebooks and store what they show, so that a reader on a code host sees it.

    python scripts/run_notebooks.py docs/notebooks/*.ipynb

Figures become pictures of some 20 kB instead of plotly's data and script; tables and text stay as
they are. The digest of the code goes into the metadata: a test compares it with the code.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import nbformat
import plotly.io
from nbclient import NotebookClient
from photographs import photographs
from PIL import Image

PLOTLY = "application/vnd.plotly.v1+json"
WIDTH, COLOURS = 820, 48


def digest(notebook: Any) -> str:
    """Of the code of all cells."""
    code = "\0".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    return hashlib.sha256(code.encode()).hexdigest()


def executed(path: Path) -> Any:
    """The notebook with light outputs."""
    notebook: Any = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    shown = []
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times of this machine
        if cell.cell_type == "code":
            cell.outputs = [each for each in cell.outputs if kept(each)]
            shown += [each for each in cell.outputs if PLOTLY in each.get("data", {})]
    figures = [plotly.io.from_json(json.dumps(each.data[PLOTLY])) for each in shown]
    for output, figure, picture in zip(
        shown, figures, photographs(figures, width=WIDTH), strict=True
    ):
        words = figure.layout.meta["alt"]
        output.data = {"image/png": light(picture), "text/plain": words}
        output.metadata = {"image/png": {"alt": words}}
    notebook.metadata["executed"] = {"code": digest(notebook)}
    return notebook


def kept(output: Any) -> bool:
    """Whether an output is of the code: no warning, and no bar of progress."""
    shown = output.output_type == "display_data"
    return PLOTLY in output.data if shown else output.get("name") != "stderr"


def light(picture: bytes) -> str:
    """The picture in few colours, as base64."""
    few = Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS)
    out = io.BytesIO()
    few.save(out, "PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode()


def main(paths: list[Path]) -> None:
    """Execute each and write it."""
    for path in paths:
        nbformat.write(executed(path), path)


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
