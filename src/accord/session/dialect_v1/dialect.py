"""v1 as one object: every ask with its method, how it is said and heard, and what it needs."""

from dataclasses import replace

import msgspec

from accord.protocol import v1
from accord.protocol.edition import V1
from accord.protocol.v1 import draft
from accord.session import ask
from accord.session.dialect import Dialect, Words
from accord.session.dialect_v1 import asking, elicitation, handshake, opening, permission, service
from accord.session.dialect_v1.done import done_in, done_out
from accord.session.dialect_v1.ear import Ear
from accord.session.dialect_v1.voice import Voice

__all__ = ["DIALECT", "DRAFT_DIALECT"]

HANDSHAKE = (
    Words(
        ask.Initialize,
        v1.INITIALIZE,
        handshake.initialize_in,
        handshake.initialize_out,
        handshake.initialized_out,
        handshake.initialized_in,
    ),
    Words(
        ask.Login,
        v1.AUTHENTICATE,
        handshake.login_in,
        handshake.login_out,
        done_out(v1.AuthenticateResponse),
        done_in,
    ),
    Words(
        ask.Logout,
        v1.LOGOUT,
        handshake.logout_in,
        handshake.logout_out,
        done_out(v1.LogoutResponse),
        done_in,
        needs="logout",
    ),
)

SESSIONS = (
    Words(
        ask.NewSession,
        v1.SESSION_NEW,
        opening.new_in,
        opening.new_out,
        opening.opened_out,
        opening.opened_in,
    ),
    Words(
        ask.ReopenSession,
        v1.SESSION_LOAD,
        opening.load_in,
        opening.load_out,
        opening.loaded_out,
        opening.reopened_in,
        needs="load",
    ),
    Words(
        ask.ReopenSession,
        v1.SESSION_RESUME,
        opening.resume_in,
        opening.resume_out,
        opening.resumed_out,
        opening.reopened_in,
        needs="resume",
    ),
    Words(
        ask.ListSessions,
        v1.SESSION_LIST,
        opening.list_in,
        opening.list_out,
        opening.listed_out,
        opening.listed_in,
        needs="listing",
    ),
    Words(
        ask.CloseSession,
        v1.SESSION_CLOSE,
        opening.close_in,
        opening.close_out,
        done_out(v1.CloseSessionResponse),
        done_in,
        needs="close",
    ),
    Words(
        ask.DeleteSession,
        v1.SESSION_DELETE,
        opening.delete_in,
        opening.delete_out,
        done_out(v1.DeleteSessionResponse),
        done_in,
        needs="delete",
    ),
)

PROMPTS = (
    Words(
        ask.Prompt,
        v1.SESSION_PROMPT,
        asking.prompt_in,
        asking.prompt_out,
        asking.answered_out,
        asking.answered_in,
    ),
    Words(
        ask.SetOption,
        v1.SESSION_SET_CONFIG_OPTION,
        asking.option_in,
        asking.option_out,
        asking.options_set_out,
        asking.options_set_in,
    ),
    Words(
        ask.SetMode,
        v1.SESSION_SET_MODE,
        asking.mode_in,
        asking.mode_out,
        done_out(v1.SetSessionModeResponse),
        done_in,
    ),
    Words(
        ask.SetModel,
        v1.SESSION_SET_MODEL,
        asking.model_in,
        asking.model_out,
        done_out(v1.SetSessionModelResponse),
        done_in,
    ),
)

DRAFTS = (
    Words(
        ask.ForkSession,
        draft.SESSION_FORK,
        opening.fork_in,
        opening.fork_out,
        opening.forked_out,
        opening.opened_in,
        needs="fork",
    ),
)

QUESTIONS = (
    Words(
        ask.AskPermission,
        v1.SESSION_REQUEST_PERMISSION,
        permission.permission_in,
        permission.permission_out,
        permission.given_out,
        permission.given_in,
    ),
    # One method: both rows hear either, and what was heard says which capability it needs.
    Words(
        ask.ElicitForm,
        v1.ELICITATION_CREATE,
        elicitation.elicit_in,
        elicitation.form_out,
        elicitation.elicited_out,
        elicitation.elicited_in,
        needs="elicit_form",
    ),
    Words(
        ask.ElicitUrl,
        v1.ELICITATION_CREATE,
        elicitation.elicit_in,
        elicitation.url_out,
        elicitation.elicited_out,
        elicitation.elicited_in,
        needs="elicit_url",
    ),
)

SERVICES = (
    Words(
        ask.ReadFile,
        v1.FS_READ_TEXT_FILE,
        service.read_in,
        service.read_out,
        service.file_read_out,
        service.file_read_in,
        needs="read_files",
    ),
    Words(
        ask.WriteFile,
        v1.FS_WRITE_TEXT_FILE,
        service.write_in,
        service.write_out,
        done_out(v1.WriteTextFileResponse),
        done_in,
        needs="write_files",
    ),
    Words(
        ask.StartTerminal,
        v1.TERMINAL_CREATE,
        service.start_in,
        service.start_out,
        service.started_out,
        service.started_in,
        needs="terminals",
    ),
    Words(
        ask.ReadTerminal,
        v1.TERMINAL_OUTPUT,
        service.terminal_in(ask.ReadTerminal),
        service.terminal_out(v1.TerminalOutputRequest),
        service.output_out,
        service.output_in,
        needs="terminals",
    ),
    Words(
        ask.AwaitTerminal,
        v1.TERMINAL_WAIT_FOR_EXIT,
        service.terminal_in(ask.AwaitTerminal),
        service.terminal_out(v1.WaitForTerminalExitRequest),
        service.ended_out,
        service.ended_in,
        needs="terminals",
    ),
    Words(
        ask.KillTerminal,
        v1.TERMINAL_KILL,
        service.terminal_in(ask.KillTerminal),
        service.terminal_out(v1.KillTerminalRequest),
        done_out(v1.KillTerminalResponse),
        done_in,
        needs="terminals",
    ),
    Words(
        ask.ReleaseTerminal,
        v1.TERMINAL_RELEASE,
        service.terminal_in(ask.ReleaseTerminal),
        service.terminal_out(v1.ReleaseTerminalRequest),
        done_out(v1.ReleaseTerminalResponse),
        done_in,
        needs="terminals",
    ),
)


def _update_in(params: v1.SessionNotification) -> tuple[str, v1.SessionUpdate]:
    return params.session_id, params.update


DIALECT = Dialect(
    edition=V1,
    rule="end",
    echoes=False,
    agent_words=(*HANDSHAKE, *SESSIONS, *PROMPTS),
    client_words=(*QUESTIONS, *SERVICES),
    voice=Voice,
    ear=Ear,
    update=v1.SESSION_UPDATE,
    say_update=v1.SessionNotification,
    hear_update=_update_in,
    cancel=v1.SESSION_CANCEL,
    say_cancel=asking.cancel_out,
    hear_cancel=asking.cancel_in,
    left_over=opening.left_over,
    stand_in=permission.stand_in,
    elicitation_done=v1.ELICITATION_COMPLETE,
    say_elicitation_done=elicitation.elicitation_done_out,
    hear_elicitation_done=elicitation.elicitation_done_in,
    drafts=DRAFTS,
)


def _drafted(words: Words) -> Words:
    if words.ask is not ask.Prompt:
        return words
    return msgspec.structs.replace(words, method=draft.SESSION_PROMPT, say_answer=asking.draft_answered_out)


DRAFT_DIALECT = replace(
    DIALECT, agent_words=tuple(_drafted(words) for words in DIALECT.agent_words), rows=(draft.SESSION_PROMPT,)
)
