"""Two agents talk to each other: the answer of one is the next prompt of the other.

`python dialogue.py "Is a hot dog a sandwich?" 4 "gemini --acp" "opencode acp"`.
"""

import asyncio
import shlex
import sys

import accord


async def main(topic: str, rounds: int, first: str, second: str) -> None:
    """Run some rounds of the dialogue."""
    async with (
        accord.connect(*shlex.split(first)) as one,
        accord.connect(*shlex.split(second)) as other,
    ):
        speakers = [await one.new_session(), await other.new_session()]
        said = topic
        for number in range(rounds):
            session = speakers[number % 2]
            turn = await session.prompt(said)
            said = turn.text.strip() or "(silence)"
            print(f"{'first' if number % 2 == 0 else 'second'}: {said}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:5]))
