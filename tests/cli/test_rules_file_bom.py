"""A rules file that an editor began with a byte order mark is a rules file."""

from __future__ import annotations

import codecs

from tests.cli.command import Accord, scripted


def test_a_byte_order_mark_at_the_beginning_of_a_rules_file_is_no_rule(accord: Accord) -> None:
    (accord.cwd / "my.rules").write_bytes(codecs.BOM_UTF8 + b"allow all\n")
    result = accord("run", "change it", "--rules", "my.rules", *scripted("asks"))
    assert (result.status, "chosen: once" in result.stdout) == (0, True), result.stderr
