"""All that v2 says, as one table: what agents and clients can be asked, how they answer, and how events travel."""

from dataclasses import replace

from accord.protocol import v2
from accord.protocol.edition import V2
from accord.protocol.v2 import draft
from accord.session.ask import (
    AskPermission,
    CancelTerminal,
    CancelTool,
    CloseSession,
    DeleteSession,
    ElicitForm,
    ElicitUrl,
    ForkSession,
    Initialize,
    ListSessions,
    Login,
    Logout,
    NewSession,
    Prompt,
    ReopenSession,
    SessionOpened,
    SetOption,
)
from accord.session.dialect import Dialect, Words
from accord.session.dialect_v2 import asking, elicitation, handshake, opening, permission
from accord.session.dialect_v2.done import done_in, done_out
from accord.session.dialect_v2.ear import Ear
from accord.session.dialect_v2.update import SESSION_UPDATE
from accord.session.dialect_v2.voice import DraftVoice, Voice
from accord.session.event import Event

__all__ = ["DIALECT", "DRAFT_DIALECT"]


def _say_update(session_id: str, update: v2.SessionUpdate) -> v2.UpdateSessionNotification:
    return v2.UpdateSessionNotification(session_id, update)


def _hear_update(params: v2.UpdateSessionNotification) -> tuple[str, v2.SessionUpdate]:
    return params.session_id, params.update


def _left_over(_: SessionOpened) -> list[Event]:
    return []


AGENT_WORDS = (
    Words(
        Initialize,
        v2.INITIALIZE,
        handshake.initialize_in,
        handshake.initialize_out,
        handshake.initialized_out,
        handshake.initialized_in,
    ),
    Words(Login, v2.AUTH_LOGIN, handshake.login_in, handshake.login_out, done_out(v2.LoginAuthResponse), done_in),
    Words(
        Logout,
        v2.AUTH_LOGOUT,
        handshake.logout_in,
        handshake.logout_out,
        done_out(v2.LogoutAuthResponse),
        done_in,
        needs="logout",
    ),
    Words(NewSession, v2.SESSION_NEW, opening.new_in, opening.new_out, opening.opened_out, opening.opened_in),
    Words(
        ReopenSession,
        v2.SESSION_RESUME,
        opening.reopen_in,
        opening.reopen_out,
        opening.reopened_out,
        opening.reopened_in,
    ),
    Words(ListSessions, v2.SESSION_LIST, opening.list_in, opening.list_out, opening.listed_out, opening.listed_in),
    Words(
        CloseSession,
        v2.SESSION_CLOSE,
        opening.close_in,
        opening.close_out,
        done_out(v2.CloseSessionResponse),
        done_in,
    ),
    Words(
        DeleteSession,
        v2.SESSION_DELETE,
        opening.delete_in,
        opening.delete_out,
        done_out(v2.DeleteSessionResponse),
        done_in,
        needs="delete",
    ),
    Words(Prompt, v2.SESSION_PROMPT, asking.prompt_in, asking.prompt_out, asking.prompted_out, asking.prompted_in),
    Words(
        SetOption,
        v2.SESSION_SET_CONFIG_OPTION,
        asking.set_option_in,
        asking.set_option_out,
        asking.options_set_out,
        asking.options_set_in,
    ),
    Words(
        CancelTool,
        v2.TOOL_CALL_CANCEL,
        asking.cancel_tool_in,
        asking.cancel_tool_out,
        done_out(v2.CancelToolCallResponse),
        done_in,
    ),
    Words(
        CancelTerminal,
        v2.TERMINAL_CANCEL,
        asking.cancel_terminal_in,
        asking.cancel_terminal_out,
        done_out(v2.CancelTerminalResponse),
        done_in,
    ),
)

# One method asks for forms and for addresses: whichever row hears it, hears either.
CLIENT_WORDS = (
    Words(
        AskPermission,
        v2.SESSION_REQUEST_PERMISSION,
        permission.permission_in,
        permission.permission_out,
        permission.permitted_out,
        permission.permitted_in,
    ),
    Words(
        ElicitForm,
        v2.ELICITATION_CREATE,
        elicitation.elicit_in,
        elicitation.form_out,
        elicitation.elicited_out,
        elicitation.elicited_in,
        needs="elicit_form",
    ),
    Words(
        ElicitUrl,
        v2.ELICITATION_CREATE,
        elicitation.elicit_in,
        elicitation.url_out,
        elicitation.elicited_out,
        elicitation.elicited_in,
        needs="elicit_url",
    ),
)

DIALECT = Dialect(
    edition=V2,
    rule="insertion",
    echoes=True,
    agent_words=AGENT_WORDS,
    client_words=CLIENT_WORDS,
    voice=Voice,
    ear=Ear,
    update=v2.SESSION_UPDATE,
    say_update=_say_update,
    hear_update=_hear_update,
    cancel=v2.SESSION_CANCEL,
    say_cancel=asking.cancel_out,
    hear_cancel=asking.cancel_in,
    left_over=_left_over,
    elicitation_done=v2.ELICITATION_COMPLETE,
    say_elicitation_done=elicitation.elicitation_done_out,
    hear_elicitation_done=elicitation.elicitation_done_in,
    drafts=(
        Words(
            ForkSession,
            draft.SESSION_FORK,
            opening.fork_in,
            opening.fork_out,
            opening.forked_out,
            opening.opened_in,
            needs="fork",
        ),
    ),
)

DRAFT_DIALECT = replace(DIALECT, voice=DraftVoice, update=SESSION_UPDATE, rows=(SESSION_UPDATE,))
