"""The ledger of a check: which settings of the agent it changed, and their values before.

It observes every wire. A request that gives a setting another value is in the ledger, and in the journal on disk,
before it is sent; one that may not be sent is kept back. So no step can change something that is not set back.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from accord.check.journal import Change, Journal, JournalError, Page
from accord.check.options import Options
from accord.check.settings import Key, Setting, Value, caution_of, set_by, settings_in
from accord.check.wire import Wire

__all__ = ["Ledger", "Untouched"]

_OPENING = ("session/new", "session/load", "session/resume")
_SETTING = ("session/set_config_option", "session/set_mode", "session/set_model")
FLAGS = {"model": "--touch-model", "permission": "--touch-permission"}


class Untouched(Exception):
    """A setting is left as it is; says why."""


class Ledger:
    """Of all processes of one check."""

    def __init__(self, options: Options, journal: Journal | str | None) -> None:
        self._options = options
        self._journal = journal
        """None: nothing has to survive us. A text: why there is no journal, so that nothing can be changed."""
        self._first: dict[Key, Value] = {}
        """What a new session had before anything was changed."""
        self._views: dict[tuple[str, str], dict[Key, Setting]] = {}
        """What each session of each process said last."""
        self._asked: dict[tuple[str, str], dict[str, Any]] = {}
        """Requests that will tell settings."""
        self._changed_in: dict[tuple[str, str], list[Key]] = {}
        self.changes: dict[Key, Change] = {}

    # --- what may be done

    def why_not(self, setting: Setting, value: Any) -> str:
        """Why a setting is not set to a value; "" if it may be."""
        caution = caution_of(setting, value)
        allowed = {"": True, "model": self._options.touch_model, "permission": self._options.touch_permission}
        if allowed[caution]:
            return ""
        what = "picks the model" if caution == "model" else "may loosen permission"
        return f"{setting.key} {what} and is left alone: give {FLAGS[caution]}"

    def settings(self, wire: Wire, session: Any) -> dict[Key, Setting]:
        """What a session said last of its settings."""
        return dict(self._views.get((wire.name, str(session)), {}))

    def changed_in(self, wire: Wire) -> dict[str, list[Key]]:
        """The sessions of a process in which something was changed, and what, in this order."""
        return {session: list(keys) for (name, session), keys in self._changed_in.items() if name == wire.name}

    def is_back(self, wire: Wire, session: str) -> bool:
        """Whether a session says that everything which was changed in it has its old value; then that is noted."""
        view = self.settings(wire, session)
        keys = self._changed_in.get((wire.name, session), [])
        if any(key not in view or view[key].value != self.changes[key].old for key in keys):
            return False
        self._changed_in.pop((wire.name, session), None)
        return True

    def forget(self, key: Key) -> None:
        """A setting has its old value again, as a new session of a new process says.

        Raises:
            JournalError: That could not be written.
        """
        self.changes.pop(key, None)
        self._write()

    def close(self) -> None:
        """No more is changed."""
        if isinstance(self._journal, Journal):
            self._journal.unlock()

    # --- what goes over the wire

    def sending(self, wire: Wire, message: Any) -> None:
        """See `Observer`.

        Raises:
            Untouched: It would change what is to be left alone.
        """
        for session, key, value in set_by(message):
            self._before_change(wire, str(session), key, value)
        for each in message if isinstance(message, list) else [message]:
            method = each.get("method") if isinstance(each, dict) else None
            if method in (*_OPENING, *_SETTING) and "id" in each:
                self._asked[wire.name, repr(each["id"])] = each

    def _before_change(self, wire: Wire, session: str, key: Key, value: Any) -> None:
        setting = self._views.get((wire.name, session), {}).get(key)
        if setting is None or not isinstance(value, str | bool):
            return  # Nobody has such a setting: it has to be refused.
        if value == self._first.get(key, setting.value) == setting.value:
            return
        is_back = key in self.changes and value == self.changes[key].old
        reason = "" if is_back else self.why_not(setting, value)
        if reason:
            raise Untouched(reason)
        self._note(key, value, setting.value)
        keys = self._changed_in.setdefault((wire.name, session), [])
        if key not in keys:
            keys.append(key)

    def _note(self, key: Key, value: Value, current: Value) -> None:
        known = self.changes.get(key)
        change = known or Change(key, self._first.get(key, current))
        if known and value in (known.old, *known.new):
            return
        self.changes[key] = Change(key, change.old, [*change.new, *([value] if value != change.old else [])])
        try:
            self._write()
        except JournalError as error:
            if known is None:
                del self.changes[key]
            else:
                self.changes[key] = known
            raise Untouched(f"{error}; nothing is changed without it") from error

    def _write(self) -> None:
        if isinstance(self._journal, str):
            raise JournalError(self._journal)
        if self._journal is not None:
            if not self._journal.lock():
                raise JournalError("another check of this agent is changing its options")
            page = Page(self._options.edition, self._journal.env, list(self.changes.values()))
            self._journal.write(page)

    def received(self, wire: Wire, message: Any) -> None:
        """See `Observer`."""
        for each in message if isinstance(message, list) else [message]:
            if not isinstance(each, dict):
                continue
            params = each.get("params")
            if each.get("method") == "session/update" and isinstance(params, dict):
                self._take(wire, params.get("sessionId"), settings_in(params.get("update")), whole=False)
            elif "method" not in each and "id" in each:
                request = self._asked.pop((wire.name, repr(each["id"])), None)
                if request is not None and "result" in each:
                    self._answered(wire, request, each["result"])

    def _answered(self, wire: Wire, request: dict[str, Any], result: Any) -> None:
        told = settings_in(result)
        params = request.get("params")
        session = params.get("sessionId") if isinstance(params, dict) else None
        if request["method"] == "session/new":
            session = result.get("sessionId") if isinstance(result, dict) else None
            for setting in told:
                self._first.setdefault(setting.key, setting.value)
        for _, key, value in set_by(request):
            # The answers to `set_mode` and `set_model` tell nothing: that they succeeded has to do.
            before = self._views.get((wire.name, str(session)), {}).get(key)
            if before is not None and all(setting.key != key for setting in told):
                told.append(replace(before, value=value))
        self._take(wire, session, told, whole=request["method"] in _OPENING)

    def _take(self, wire: Wire, session: Any, told: list[Setting], *, whole: bool) -> None:
        place = (wire.name, str(session))
        view = {} if whole else self._views.get(place, {})
        self._views[place] = view
        for setting in told:
            before = view.get(setting.key)
            # An update of the mode names the mode alone.
            is_bare = before is not None and not setting.words
            view[setting.key] = replace(before, value=setting.value) if before is not None and is_bare else setting
            first = self._first.get(setting.key)
            is_moved = before is not None and before.value != setting.value and first not in (None, setting.value)
            if not whole and is_moved and place in self._changed_in:
                self._follow(place, setting, before.value)  # type: ignore[union-attr]

    def _follow(self, place: tuple[str, str], setting: Setting, before: Value) -> None:
        """One change may bring others with it: they are set back as well."""
        if setting.key not in self._changed_in[place]:
            self._changed_in[place].append(setting.key)
        # Where it cannot be written: it has happened already, and what caused it is in the journal.
        with suppress(Untouched):
            self._note(setting.key, setting.value, before)
