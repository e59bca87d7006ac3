"""The failures of the first day, each with a remedy: no key, no package, an unknown model, an old framework."""

from __future__ import annotations

import ast
import importlib.metadata
from pathlib import Path
from typing import Any

import pytest

import accord.adapters
from accord.adapters import serving
from accord.adapters.failures import CannotServe, recognised, request_error_of
from accord.errors import InternalError

AGENT_EXTRA = 'it is missing: pip install -e ".[agent]"'
SECRET = "sk-secret-key-123"  # noqa: S105 - a made-up one


def raised_in(module: str, error: str) -> Exception:
    """An exception that the code of a module raised."""
    with pytest.raises(Exception) as raised:  # noqa: PT011 - which one is the caller's
        exec(f"raise {error}", {"__name__": module})  # noqa: S102 - what a library would raise
    return raised.value


@pytest.fixture(autouse=True)
def without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(name, raising=False)


NO_KEY: list[tuple[str, str, str]] = [
    ("openai.lib._client_auth", f"ValueError('Missing credentials. Pass an `api_key` {SECRET}')", "OPENAI_API_KEY"),
    ("google.genai._api_client", "ValueError('No API key was provided.')", "GOOGLE_API_KEY"),
    ("google.genai._api_client", "ValueError('Missing key inputs argument! Provide (`api_key`)')", "GOOGLE_API_KEY"),
    ("anthropic._client", f"TypeError('Could not resolve authentication method {SECRET}')", "ANTHROPIC_API_KEY"),
    ("pydantic.main", f"ValueError('API key required: set GEMINI_API_KEY, input_value={SECRET}')", "GEMINI_API_KEY"),
    ("pydantic_ai.providers.groq", "ValueError('Set the `GROQ_API_KEY` environment variable')", "GROQ_API_KEY"),
    ("botocore.auth", "type('NoCredentialsError', (Exception,), {})('Unable to locate')", "AWS_SECRET_ACCESS_KEY"),
    ("google.auth", "type('DefaultCredentialsError', (Exception,), {})('not found')", "gcloud"),
]


@pytest.mark.parametrize(("module", "error", "word"), NO_KEY)
def test_a_missing_key_is_said_with_the_remedy_and_without_the_text(module: str, error: str, word: str) -> None:
    found = request_error_of(raised_in(module, error), "x")
    assert isinstance(found, InternalError)
    assert found.data == {"reason": "no_key"}
    assert word in found.message
    assert SECRET not in found.message


def test_the_word_key_in_an_exception_of_the_authors_own_code_is_no_missing_key() -> None:
    assert recognised(raised_in("my_tools", "ValueError('the API key of the door')")) is None
    assert recognised(raised_in("openai.types", "ValueError('a strange answer')")) is None


@pytest.mark.parametrize("model", ["openai:gpt-5", "anthropic:claude-sonnet-5-5", "openrouter:a/b"])
def test_the_exceptions_of_pydantic_ai_are_recognised(model: str) -> None:
    pydantic_ai = pytest.importorskip("pydantic_ai", reason=AGENT_EXTRA)
    with pytest.raises(Exception) as raised:  # noqa: PT011 - its class is the framework's
        pydantic_ai.Agent(model)
    found = recognised(raised.value)
    assert found is not None
    assert found.data == {"reason": "no_key"}
    assert f"{model.partition(':')[0].upper()}_API_KEY" in found.message


@pytest.mark.parametrize(("model", "reason"), [("nonsense:x", "unknown_model"), ("groq:x", "no_package")])
def test_a_model_without_a_package_or_a_known_name_is_said(model: str, reason: str) -> None:
    pydantic_ai = pytest.importorskip("pydantic_ai", reason=AGENT_EXTRA)
    with pytest.raises(Exception) as raised:  # noqa: PT011 - its class is the framework's
        pydantic_ai.Agent(model)
    found = recognised(raised.value)
    assert found is not None
    assert found.data == {"reason": reason}


def test_the_exception_of_the_openai_package_is_recognised() -> None:
    openai = pytest.importorskip("openai", reason=AGENT_EXTRA)
    with pytest.raises(openai.OpenAIError) as raised:
        openai.AsyncOpenAI()
    found = recognised(raised.value)
    assert found is not None
    assert "OPENAI_API_KEY" in found.message


def test_a_remedy_of_ours_is_sent_as_it_is() -> None:
    found = request_error_of(CannotServe("do this"), "x")
    assert isinstance(found, InternalError)
    assert found.message == "do this"


def test_every_remedy_that_clients_get_is_a_fixed_sentence() -> None:
    """`FrameworkTooOld` has a package of ours and the numbers of a version."""
    raised: list[str] = []
    for path in Path(accord.adapters.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "CannotServe":
                (sentence,) = node.args
                assert isinstance(sentence, ast.Constant), (path, node.lineno)
                raised.append(str(sentence.value))
    assert len(raised) >= 4
    assert [text for text in raised if "/" in text.replace("https://", "").replace("http://", "")] == []


@pytest.mark.parametrize("adapter", serving.OLDEST)
def test_a_framework_that_is_too_old_is_named(adapter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package, oldest = serving.OLDEST[adapter].split()
    versions: dict[str, Any] = {}
    monkeypatch.setattr(serving, "version", versions.__getitem__)
    for number in (oldest, "999.0rc1", f"{oldest}.post1"):
        versions[package] = number
        serving.check_version(adapter)
    versions[package] = "0.0.1"
    with pytest.raises(serving.FrameworkTooOld) as raised:
        serving.check_version(adapter)
    assert package in str(raised.value)
    assert "0.0.1" in str(raised.value)


def test_a_framework_without_metadata_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(serving, "version", version)
    serving.check_version("accord.adapters.strands")
