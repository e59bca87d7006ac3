"""Writes the tables of `docs/agents-by-name.md` from the catalogue of agents.

python scripts/catalogue.py            write them
python scripts/catalogue.py --check    exit with 1 if they are out of date
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

from accord.config.catalogue import Catalogue, CatalogueAgent, load_catalogue

PAGE = Path(__file__).resolve().parent.parent / "docs" / "agents-by-name.md"
TABLES = re.compile(r"(?<=<!-- catalogue: begin -->\n).*?(?=<!-- catalogue: end -->)", re.DOTALL)


def tables(catalogue: Catalogue) -> str:
    """The two tables of the page, as Markdown."""
    agents = list(catalogue.agents.values())
    start = [["name", "agent", "also", "starts", "without it installed", "editions", "tried"], *map(_start_row, agents)]
    setup = [["name", "install", "log in", "source", "read on"], *map(_setup_row, agents)]
    return f"\n### How they start\n\n{_table(start)}\n### How to install them and log in\n\n{_table(setup)}\n"


def _start_row(agent: CatalogueAgent) -> list[str]:
    installed = [_code(line.argv) for line in agent.start if not line.download]
    downloads = [_code(line.argv) for line in agent.start if line.download]
    aliases = ", ".join(f"`{alias}`" for alias in agent.aliases)
    return [
        f"`{agent.id}`", f"[{agent.name}]({agent.homepage})", aliases, " or ".join(installed), " or ".join(downloads),
        ", ".join(agent.editions), _tried(agent),
    ]  # fmt: skip


def _tried(agent: CatalogueAgent) -> str:
    if agent.tried_by_hand is not None:
        return f"by hand, {agent.tried_by_hand.isoformat()}"
    return "yes" if agent.tried else ""


def _setup_row(agent: CatalogueAgent) -> list[str]:
    install = [f"`{line}`" if manager != "page" else f"<{line}>" for manager, line in agent.install.items()]
    login = agent.login
    typed = [f"`{text}`" for text in (login.command, login.file, *login.variables) if text]
    return [
        f"`{agent.id}`", " or ".join(install), f"{login.sentence} {', '.join(typed)}", f"<{agent.source}>",
        agent.date.isoformat(),
    ]  # fmt: skip


def _code(argv: tuple[str, ...]) -> str:
    return f"`{shlex.join(argv)}`"


def _table(rows: list[list[str]]) -> str:
    lines = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    lines.insert(1, " | ".join(["---"] * len(rows[0])))
    return "".join(f"| {line} |\n" for line in lines)


def main(arguments: list[str]) -> int:
    """Write the page, or say whether it is out of date."""
    text = PAGE.read_text(encoding="utf-8")
    written = TABLES.sub(lambda _: tables(load_catalogue()), text)
    if arguments == ["--check"]:
        return int(written != text)
    PAGE.write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
