"""The faults of one step of a reference peer: the functions that the rows are made of.

A change is a function of the peer, of the step as the reference has it, and of the step's arguments. A step that is
awaited may be changed by a plain function: what it gives is awaited where it can be.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

from tests.check.faults.reference.raw import Refused

__all__ = [
    "NOBODY",
    "after",
    "before",
    "changed",
    "edited",
    "ends",
    "gives",
    "having",
    "instead",
    "lacks",
    "named",
    "refuses",
    "repeats",
    "sets",
    "skips",
    "takes",
    "told",
]

Change: TypeAlias = Callable[..., Any]
When: TypeAlias = Callable[..., Any]
"""Of the peer and the arguments of the step: whether something happens."""

NOBODY = "accord-check-nobody"
"""The id that the judge uses where nothing has it."""


def changed(reference: type, name: str, steps: dict[str, Any]) -> type:
    """A reference peer some of whose steps are changed; what is no change is an attribute with another value."""
    unknown = [key for key in steps if not hasattr(reference, key)]
    if unknown:
        raise AttributeError(f"{reference.__name__} has no {unknown}")
    peer = type(name, (reference,), {key: step for key, step in steps.items() if not callable(step)})
    for key, step in steps.items():
        if callable(step):
            setattr(peer, key, _method(peer, key, step))
    return peer


def _method(peer: type, name: str, change: Change) -> Callable[..., Any]:
    def step(self: Any, *args: Any, **fields: Any) -> Any:
        return change(self, getattr(super(peer, self), name), *args, **fields)

    async def awaited_step(self: Any, *args: Any, **fields: Any) -> Any:
        given = step(self, *args, **fields)
        return await given if inspect.isawaitable(given) else given

    return awaited_step if inspect.iscoroutinefunction(getattr(peer, name)) else step


def _then(given: Any, do: Callable[[Any], Any]) -> Any:
    if not inspect.isawaitable(given):
        return do(given)

    async def later() -> Any:
        done = do(await given)
        return await done if inspect.isawaitable(done) else done

    return later()


def _always(*_: Any, **__: Any) -> bool:
    return True


# --- the step is not done as it is


def gives(value: Any) -> Change:
    """Something else, always."""
    return lambda *_, **__: copy.deepcopy(value)


def skips(when: When = _always) -> Change:
    """The step is left out."""
    return lambda peer, old, *args, **fields: None if when(peer, *args, **fields) else old(*args, **fields)


def refuses(code: int, when: When = _always) -> Change:
    """The request gets an error."""

    def change(peer: Any, old: Change, *args: Any, **fields: Any) -> Any:
        if when(peer, *args, **fields):
            raise Refused(code, "Refused")
        return old(*args, **fields)

    return change


def ends(when: When = _always, status: int = 1) -> Change:
    """The peer ends."""

    def change(peer: Any, old: Change, *args: Any, **fields: Any) -> Any:
        if when(peer, *args, **fields):
            raise SystemExit(status)
        return old(*args, **fields)

    return change


def instead(do: Callable[..., Any], when: When = _always) -> Change:
    """Something else is done."""
    return lambda peer, old, *args, **fields: (do if when(peer, *args, **fields) else _without(old))(
        peer, *args, **fields
    )


def _without(old: Change) -> Change:
    return lambda _, *args, **fields: old(*args, **fields)


# --- the step is done


def edited(edit: Callable[..., Any]) -> Change:
    """What the step gives is changed: by a function of it and of the step's arguments."""
    return lambda _, old, *args, **fields: _then(old(*args, **fields), lambda given: edit(given, *args))


def sets(**fields: Any) -> Change:
    """Fields of what the step gives have other values."""
    return edited(lambda given, *_: {**given, **copy.deepcopy(fields)})


def lacks(*names: str) -> Change:
    """Fields of what the step gives are missing."""
    return edited(lambda given, *_: {key: value for key, value in given.items() if key not in names})


def takes(edit: Callable[[Any], Any], when: When = _always) -> Change:
    """The step is done with another first argument."""
    return lambda peer, old, one, *args, **fields: old(
        edit(one) if when(peer, one, *args, **fields) else one, *args, **fields
    )


def repeats(when: When = _always) -> Change:
    """The step is done twice."""
    return lambda peer, old, *args, **fields: _then(
        old(*args, **fields), lambda given: old(*args, **fields) if when(peer, *args, **fields) else given
    )


def before(do: Callable[..., Any], when: When = _always) -> Change:
    """Something is done before the step."""

    def change(peer: Any, old: Change, *args: Any, **fields: Any) -> Any:
        if when(peer, *args, **fields):
            return _then(do(peer, *args, **fields), lambda _: old(*args, **fields))
        return old(*args, **fields)

    return change


def after(do: Callable[..., Any], when: When = _always) -> Change:
    """Something is done after the step."""

    def change(peer: Any, old: Change, *args: Any, **fields: Any) -> Any:
        def follow(given: Any) -> Any:
            done = do(peer, *args, **fields) if when(peer, *args, **fields) else None
            return _then(done, lambda _: given)

        return _then(old(*args, **fields), follow)

    return change


# --- when


def named(*values: Any) -> When:
    """The step's first argument, a method, is one of these."""
    return lambda _, one, *__, **___: one in values


def having(**fields: Any) -> When:
    """The params, which are the step's first argument, have these fields."""
    return lambda _, params, *__: (
        isinstance(params, dict) and all(params.get(key) == value for key, value in fields.items())
    )


def told(kind: str, **expected: Any) -> When:
    """The update that is told is of a kind, and has these fields."""
    return lambda _, __, one, **fields: (
        one == kind and all(key in fields and fields[key] == value for key, value in expected.items())
    )
