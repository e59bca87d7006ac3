"""Sessions of a process that has ended, found again by the next one; `keep` left them behind."""

from __future__ import annotations

from accord.check.step import Notes, step
from accord.check.steps.capability import gate
from accord.check.steps.sessions import loaded, resumed
from accord.check.talk import StepFailed, Talk

__all__ = ["load_after_restart", "resume_after_restart"]


def _kept(talk: Talk) -> Notes:
    kept = talk.notes.get("keep")
    if kept is None:
        raise StepFailed("no session could be left behind by an earlier process")
    return dict(kept)


@step("again", gate=gate("load") | {"v2": ""}, editions=("v1", "v2_june"), order=10)
async def load_after_restart(talk: Talk) -> Notes:
    """Two sessions of another process are loaded: one without a turn, then one with."""
    kept = _kept(talk)
    empty = await loaded(talk, kept["empty"])
    return {"empty": empty["load"], **await loaded(talk, kept["session"])}


@step("again", gate=gate("resume"), order=20)
async def resume_after_restart(talk: Talk) -> Notes:
    """Two sessions of another process are resumed: one without a turn, then one with."""
    kept = _kept(talk)
    kept = kept.get("to_resume", kept)
    empty = await resumed(talk, kept["empty"])
    return {"empty": empty["plain"], "prompt": kept["prompt"], **await resumed(talk, kept["session"])}
