"""The exceptions of frameworks and of model providers, as sentences for the user.

No exception text reaches the client: it may hold keys, addresses or whole requests. The log has it. The provider's
libraries are not imported: their exceptions are recognised by their status code and by the names of their classes.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator

from accord.errors import AccordError, InternalError, LocalProtocolError, RateLimited, RequestError

__all__ = ["CannotServe", "module_of", "recognised", "request_error_of", "tool_failure"]

log = logging.getLogger("accord.adapters")

TOO_MANY = 429
SERVER_ERROR = 500
_BY_STATUS = {
    400: "The model's provider refused the request: the agent's log says why",
    401: "The model's provider does not accept the key: check the key in the agent's environment",
    402: "The account at the model's provider has no credit left: look at the provider's billing page",
    403: "The model's provider does not allow this: check what the key may use",
    404: "The model's provider does not know the model: check its name",
    408: "The model's provider took too long: try again",
    413: "The conversation does not fit into the model any more: begin a new session",
}
_UNAVAILABLE = "The model's provider cannot answer now: try again later"
_UNREACHABLE = "The model's provider cannot be reached: check the network and the address"
# By the name of the class: each library has its own, and several share a name.
_UNREACHABLE_CLASSES = frozenset(
    {"APIConnectionError", "ConnectError", "ConnectTimeout", "ModelConnectionError", "EndpointConnectionError"}
)
_NO_KEY = "There is no key for the model's provider: set {} in the agent's environment"
_NO_KEY_CLASSES = {
    "NoCredentialsError": "There are no credentials for AWS: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "NoRegionError": "There is no region for AWS: set AWS_REGION",
    "DefaultCredentialsError": "There are no credentials for Google Cloud: run gcloud auth application-default login",
}
# The libraries that look for a key, by the beginnings of their modules, each with the variable that it reads first. An
# exception of theirs that names another one counts more.
_LIBRARIES = {"openai.": "OPENAI_API_KEY", "anthropic.": "ANTHROPIC_API_KEY", "google.genai.": "GOOGLE_API_KEY"} | (
    dict.fromkeys(("pydantic_ai.", "pydantic.", "langchain", "litellm.", "strands.models.", "groq."), "its variable")
)
_KEYS = re.compile(
    r"\b(OPENAI|ANTHROPIC|GOOGLE|GEMINI|AZURE_OPENAI|OPENROUTER|PYDANTIC_AI_GATEWAY|GROQ|MISTRAL|COHERE|DEEPSEEK|XAI"
    r"|TOGETHER|FIREWORKS|CEREBRAS)_API_KEY\b"
)
_KEY_WORDS = re.compile(r"api[_ -]?key|auth_token|missing credentials|authentication method", re.IGNORECASE)
# Where frameworks look up a model by its name.
_MODEL_LOOKUPS = frozenset({"pydantic_ai.models", "google.adk.models.registry"})
_UNKNOWN_MODEL = "The framework does not know the model: check its name, and install the package for its provider"


class CannotServe(LocalProtocolError):
    """An adapter cannot serve an agent. Clients get its text: a sentence of ours that says what to do.

    It has no path, no value and nothing of another exception.
    """


def request_error_of(error: Exception, framework: str) -> RequestError | AccordError:
    """The error that the turn ends with. An `AccordError` stays as it is."""
    if isinstance(error, CannotServe):
        log.error("the agent of %s cannot be served: %s", framework, error)
        return InternalError(str(error), {"reason": "agent"})
    if isinstance(error, AccordError):
        return error
    found = recognised(error)
    if found is None:
        correlation_id = os.urandom(16).hex()
        log.error("the agent of %s failed (correlation id %s)", framework, correlation_id, exc_info=error)
        return InternalError("The agent failed: its log says why", {"correlationId": correlation_id})
    log.error("the agent of %s failed", framework, exc_info=error)
    return found


def recognised(error: BaseException) -> RequestError | None:
    """The error for the first exception, of those behind one, for which there is a remedy."""
    if isinstance(error, ImportError):
        # Frameworks raise another one, with advice, while they handle the one that names the module.
        names = (each.name for each in _chain(error) if isinstance(each, ModuleNotFoundError))
        missing = next(filter(None, names), None)
        sentence = f"A package of the agent is not installed: there is no module {missing}"
        return None if missing is None else InternalError(sentence, {"reason": "no_package"})
    return next(filter(None, map(_recognised, _chain(error))), None)


def tool_failure(error: BaseException) -> str:
    """The result of a tool that raised, for the user and for the model, which may repeat it; the log has the rest.

    Authors who want more said return a result that is an error, or use what their framework has for it.
    """
    log.error("a tool raised", exc_info=error)
    return f"The tool raised {type(error).__name__}; the agent's log says why"


def module_of(error: BaseException) -> str:
    """The name of the module whose code raised an exception; empty where it was not raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        if isinstance(error, BaseExceptionGroup):
            for inner in error.exceptions:
                yield from _chain(inner)
        error = error.__cause__ or error.__context__


def _recognised(error: BaseException) -> RequestError | None:
    status = _status(error)
    if status == TOO_MANY:
        return RateLimited(message="The model's provider has had too many requests: wait a little")
    if status in _BY_STATUS:
        return InternalError(_BY_STATUS[status], {"reason": "provider"})
    if status is not None and status >= SERVER_ERROR:
        return InternalError(_UNAVAILABLE, {"reason": "provider"})
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & _UNREACHABLE_CLASSES:
        return InternalError(_UNREACHABLE, {"reason": "provider"})
    remedy = next((_NO_KEY_CLASSES[name] for name in names & _NO_KEY_CLASSES.keys()), None) or _missing_key(error)
    if remedy is not None:
        return InternalError(remedy, {"reason": "no_key"})
    if module_of(error) in _MODEL_LOOKUPS:
        return InternalError(_UNKNOWN_MODEL, {"reason": "unknown_model"})
    return None


def _missing_key(error: BaseException) -> str | None:
    """The remedy where a library found no key, by its own exception: none of its text is in it."""
    text, module = str(error), module_of(error)
    variable = next((name for start, name in _LIBRARIES.items() if module.startswith(start)), None)
    if variable is None or _KEY_WORDS.search(text) is None:
        return None
    named = _KEYS.search(text)
    return _NO_KEY.format(variable if named is None else named[0])


def _status(error: BaseException) -> int | None:
    """The HTTP status that an exception of a provider's library has, under the names that are in use."""
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "code"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool) and value >= min(_BY_STATUS):
                return value
    return None
