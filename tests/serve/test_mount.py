"""The application inside applications of Starlette and Litestar; docs/serving.md has the one of FastAPI."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from litestar import Litestar, asgi
from starlette.applications import Starlette
from starlette.routing import Mount

import accord
from accord.serve import one_token
from tests.serve.in_process import running
from tests.serve.raw_clients import HttpClient, WebSocketClient, prompt_params, said, send


def in_starlette(application: Any) -> Any:
    return Starlette(routes=[Mount("/agent", app=application)])


def in_litestar(application: Any) -> Any:
    # Its log would go on in a thread of its own, for all tests behind this one.
    handler = asgi("/agent", is_mount=True, copy_scope=True)(application.__call__)
    return Litestar(route_handlers=[handler], logging_config=None)


def by_itself(application: Any) -> Any:
    return application


@pytest.mark.parametrize(("mount", "path"), [(in_starlette, "/agent"), (in_litestar, "/agent"), (by_itself, "")])
async def test_an_agent_is_served_where_it_is_mounted(mount: Callable[[Any], Any], path: str, tmp_path: Path) -> None:
    agent = accord.Agent("mounted", store=accord.MemoryStore())

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        await turn.say(f"You said: {turn.text}")

    application = agent.asgi(authenticate=one_token("secret"), root=tmp_path)
    async with running(mount(application), is_plain=True) as port:
        assert (await send(port, "GET", f"{path}/health")).status == 200
        assert (await send(port, "POST", f"{path}/acp", body={})).status == 401
        async with WebSocketClient(f"ws://127.0.0.1:{port}{path}/acp") as client:
            session_id = await client.new_session(str(tmp_path))
            await client.prompt(session_id, "hello")
            assert said(client.seen) == "You said: hello"
        async with HttpClient(port, path=f"{path}/acp") as http:
            session_id = await http.new_session(str(tmp_path))
            await http.call("session/prompt", prompt_params(session_id, "hello"), session_id)
            assert said(http.seen) == "You said: hello"
        await application.close()


async def test_an_application_says_who_may_connect(tmp_path: Path) -> None:
    with pytest.raises(accord.LocalProtocolError):
        accord.Agent("open", store=None).asgi(root=tmp_path)
