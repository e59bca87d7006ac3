"""Every config that the guides show is read without an error or a warning."""

from __future__ import annotations

import re
from pathlib import Path

from accord.config.acp_json import read_config
from tests.config.world import write
from tests.tables import rows

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = [
    (name, block)
    for name in ("config.md", "simse.md")
    for block in re.findall(r"```json\n(.*?)```", (DOCS / name).read_text(encoding="utf-8"), re.DOTALL)
]


def test_the_guides_show_configs() -> None:
    assert {name for name, _ in BLOCKS} == {"config.md", "simse.md"}


@rows(("name", "block"), BLOCKS)
def test_what_a_guide_shows_is_right(tmp_path: Path, name: str, block: str) -> None:
    file = read_config(write(tmp_path / "acp.json", block), "user")
    assert file is not None
    assert (name, file.errors, file.warnings) == (name, (), ())
