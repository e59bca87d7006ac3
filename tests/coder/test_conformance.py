"""`accord check` finds nothing to remark about the coding agent: with the built-in model, and with one on loopback."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.coder.llm import FakeModel, Hang, Line, Say, ToolInvocation, serve
from tests.limits import limit

pytest.importorskip("pydantic_ai", reason='pydantic-ai is missing: pip install "accord[agent]"')


class Asked:
    """Answers by what was said last: a tool for `use a tool`, no end for `never end`, a sentence for the rest."""

    async def answer(self, line: Line, model: FakeModel) -> None:
        who, said = model.conversation()[-1]
        step: Any = Say("Here I am.")
        if who == "user" and said == "use a tool":
            step = ToolInvocation([("write", {"path": "checked.txt", "text": f"{len(model.asked)}"})])
        elif who == "user" and said == "never end":
            step = Hang("It begins")
        await step.answer(line, model)


async def _checked(edition: str, folder: Path, prompts: list[str], agent: list[str]) -> list[dict[str, Any]]:
    words = ["--edition", edition, "--prompt", prompts[0], "--tool-prompt", prompts[1], "--cancel-prompt", prompts[2]]
    line = [sys.executable, "-m", "accord", "check", *words, "--json", "report.json", "--"]
    coder = [sys.executable, "-m", "accord.coder", "--store", f"sqlite:{folder / 'sessions.db'}", *agent]
    process = await asyncio.create_subprocess_exec(
        *line, *coder, cwd=folder, stdin=asyncio.subprocess.DEVNULL, stdout=-1, stderr=asyncio.subprocess.STDOUT
    )
    try:
        async with asyncio.timeout(limit(240)):
            out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, out.decode(errors="replace")[-4000:]
    document = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    judged: list[dict[str, Any]] = [
        each for report in document.get("reports", [document]) for each in report["requirements"]
    ]
    return judged


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("edition", ["1", "2-june", "2"])
@pytest.mark.parametrize("model", ["offline", "on loopback"])
async def test_the_checker_finds_nothing_to_remark(edition: str, model: str, tmp_path: Path) -> None:
    if model == "offline":
        prompts = ["list", "write hello to checked.txt", "run sleep 600"]
        judged = await _checked(edition, tmp_path, prompts, [])
    else:
        async with serve(otherwise=Asked()) as fake:
            prompts = ["hello", "use a tool", "never end"]
            judged = await _checked(edition, tmp_path, prompts, ["--model", "fake", "--base-url", fake.url])
            assert fake.asked, "the model answers"
    assert len(judged) > 100
    assert [each["id"] for each in judged if each["status"] == "FAIL"] == []
