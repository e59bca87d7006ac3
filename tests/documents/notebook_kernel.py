"""The cells of the guide's section on notebooks, in a real kernel; `scripts/notebook` runs it.

It fails where a cell fails, or where what a cell shows has no HTML and Markdown.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter

ROOT = Path(__file__).parents[2]
MORE = ["session", "session.transcript", "print(reply.stop_reason, len(reply.tool_calls), reply.usage is not None)"]


def cells() -> list[str]:
    guide = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
    section = guide.split("\n## Notebooks\n")[1].split("\n## ")[0]
    found = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    return [*found[:-1], *MORE, found[-1]]


def install_agent(folder: Path) -> None:
    script = folder / "gemini"
    program = ROOT / "examples" / "agents" / "streaming.py"
    script.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(program))}\n", encoding="utf-8")
    script.chmod(0o755)


def main(place: Path) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "notes.txt").write_text("Explain this repository\n<b>not bold</b>\n", encoding="utf-8")
        install_agent(folder)
        os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
        os.environ["PYTHONPATH"] = str(ROOT / "src")
        os.environ["XDG_STATE_HOME"] = name
        notebook: Any = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in cells()])
        NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": name}}).execute()
    shown = [
        output["data"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output["output_type"] == "execute_result"
    ]
    rich = [data for data in shown if "text/html" in data and "text/markdown" in data]
    page, _ = HTMLExporter().from_notebook_node(notebook)
    (place / "page.html").write_text(page, encoding="utf-8")
    sys.stdout.write(f"{len(notebook.cells)} cells ran, {len(rich)} show themselves: {place / 'page.html'}\n")
    return 0 if len(rich) == len(MORE) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
