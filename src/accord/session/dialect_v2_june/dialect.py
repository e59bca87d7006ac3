"""The June draft as the layers above see it: the table of what can be asked, and who tells and hears updates.

There is no row for forks, elicitation, modes and models, the end of single tool calls and terminals, and the client's
files and terminals: this edition cannot ask for them.
"""

from typing import Any

from accord.protocol import v2_june
from accord.protocol.edition import V2_JUNE
from accord.session.ask import (
    AskPermission,
    CloseSession,
    DeleteSession,
    Initialize,
    ListSessions,
    Login,
    Logout,
    NewSession,
    Prompt,
    ReopenSession,
    SetOption,
)
from accord.session.dialect import Dialect, Words
from accord.session.dialect_v2_june import asking, handshake, opening
from accord.session.dialect_v2_june.done import done_in, done_out
from accord.session.dialect_v2_june.ear import Ear
from accord.session.dialect_v2_june.voice import Voice

__all__ = ["DIALECT", "DRAFT_DIALECT"]

AGENT_WORDS = (
    Words(
        Initialize,
        v2_june.INITIALIZE,
        handshake.initialize_in,
        handshake.initialize_out,
        handshake.initialized_out,
        handshake.initialized_in,
    ),
    Words(
        Login,
        v2_june.AUTHENTICATE,
        handshake.login_in,
        handshake.login_out,
        done_out(v2_june.AuthenticateResponse),
        done_in,
    ),
    Words(
        Logout,
        v2_june.LOGOUT,
        handshake.logout_in,
        handshake.logout_out,
        done_out(v2_june.LogoutResponse),
        done_in,
        needs="logout",
    ),
    Words(
        NewSession,
        v2_june.SESSION_NEW,
        opening.new_in,
        opening.new_out,
        opening.opened_out,
        opening.opened_in,
    ),
    Words(
        ReopenSession,
        v2_june.SESSION_LOAD,
        opening.load_in,
        opening.load_out,
        opening.loaded_out,
        opening.reopened_in,
        needs="load",
    ),
    Words(
        ReopenSession,
        v2_june.SESSION_RESUME,
        opening.resume_in,
        opening.resume_out,
        opening.resumed_out,
        opening.reopened_in,
        needs="resume",
    ),
    Words(
        ListSessions,
        v2_june.SESSION_LIST,
        opening.list_in,
        opening.list_out,
        opening.listed_out,
        opening.listed_in,
        needs="listing",
    ),
    Words(
        CloseSession,
        v2_june.SESSION_CLOSE,
        opening.close_in,
        opening.close_out,
        done_out(v2_june.CloseSessionResponse),
        done_in,
        needs="close",
    ),
    Words(
        DeleteSession,
        v2_june.SESSION_DELETE,
        opening.delete_in,
        opening.delete_out,
        done_out(v2_june.DeleteSessionResponse),
        done_in,
        needs="delete",
    ),
    Words(
        Prompt,
        v2_june.SESSION_PROMPT,
        asking.prompt_in,
        asking.prompt_out,
        asking.answered_out,
        asking.answered_in,
    ),
    Words(
        SetOption,
        v2_june.SESSION_SET_CONFIG_OPTION,
        asking.option_in,
        asking.option_out,
        asking.options_set_out,
        asking.options_set_in,
    ),
)

CLIENT_WORDS = (
    Words(
        AskPermission,
        v2_june.SESSION_REQUEST_PERMISSION,
        asking.permission_in,
        asking.permission_out,
        asking.permission_given_out,
        asking.permission_given_in,
    ),
)


def _update_out(session_id: str, update: v2_june.SessionUpdate) -> v2_june.SessionNotification:
    return v2_june.SessionNotification(session_id, update)


def _update_in(params: v2_june.SessionNotification) -> tuple[str, Any]:
    return params.session_id, params.update


DIALECT = Dialect(
    edition=V2_JUNE,
    rule="end",
    echoes=False,
    agent_words=AGENT_WORDS,
    client_words=CLIENT_WORDS,
    voice=Voice,
    ear=Ear,
    update=v2_june.SESSION_UPDATE,
    say_update=_update_out,
    hear_update=_update_in,
    cancel=v2_june.SESSION_CANCEL,
    say_cancel=asking.cancel_out,
    hear_cancel=asking.cancel_in,
    left_over=opening.left_over,
    stand_in=asking.stand_in,
)

DRAFT_DIALECT = DIALECT
"""June has no unstable text."""
