"""A script without `await`."""

import sys
from pathlib import Path

import accord
from accord.client import BlockingSession, Reply

AGENT = Path(__file__).with_name("echo_agent.py")


def ask(session: BlockingSession, question: str) -> Reply:
    return session.prompt(question, deadlines=accord.Deadlines(turn_seconds=60))


def main() -> None:
    with accord.open(sys.executable, AGENT, cwd=Path.cwd(), edition="1") as session:
        reply = ask(session, "hello")
        assert reply.answer == str(reply) == "You said: hello"
        assert reply.token_usage == accord.TokenUsage(input_tokens=5, output_tokens=3, total_tokens=8)
        pieces: list[str] = []
        for event in session.stream("again", meta={"example.org/note": 1}):
            if isinstance(event, accord.MessageChunk) and event.speaker == "agent":
                if isinstance(event.block, accord.Text):
                    pieces.append(event.block.text)
        assert "".join(pieces) == "You said: again"
        assert len(session.transcript.turns) == 2
        assert session.agent.edition == "v1"
    notebook = accord.open(sys.executable, AGENT).open()
    try:
        assert notebook.prompt("one cell").text.endswith("one cell")
        assert notebook.prompt("another").text.endswith("another")
    finally:
        notebook.close()


if __name__ == "__main__":
    main()
