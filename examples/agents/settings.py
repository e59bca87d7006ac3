"""An agent with modes, options and slash commands. They are declared once, for every edition.

Name it in an editor's settings,

    "agent_servers": {"Greeter": {"type": "custom", "command": "python", "args": ["/path/to/settings.py"]}}

and choose a mode and a language there, or type /languages, or /greet Ada.
"""

import accord

GREETINGS = {"en": "Good day", "de": "Guten Tag", "fr": "Bonjour", "ja": "こんにちは"}

agent = accord.Agent("greeter", version="1.0")
agent.modes([accord.Choice("calm", "Calm"), accord.Choice("loud", "Loud", "Everything in capitals")])
agent.select(
    "language",
    "Language",
    [
        accord.Group("europe", "Europe", [accord.Choice("en", "English"), accord.Choice("de", "German")]),
        accord.Group("more", "More", [accord.Choice("fr", "French"), accord.Choice("ja", "Japanese")]),
    ],
    default="en",
)
# Only clients that declare toggles show it; for the others it keeps this value.
agent.toggle("wave", "Wave", description="Ends every greeting with a hand", default=False)


@agent.on_option
async def check(session: accord.agent.Session, option_id: str, value: object) -> None:
    """Refuse an invalid combination before it is set."""
    if option_id == "mode" and value == "loud" and session.option("language") == "ja":
        raise accord.InvalidParams("Japanese has no capitals")


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    """Greet back."""
    await greet(turn, "you")


@agent.command("greet", "Greets a person", hint="name")
async def greet(turn: accord.agent.Turn, name: str) -> None:
    """`/greet Ada`; the handler of prompts calls it too."""
    text = f"{GREETINGS[str(turn.option('language'))]}, {name or 'stranger'}"
    text = text.upper() if turn.option("mode") == "loud" else text
    await turn.say(f"{text} 👋" if turn.option("wave") else text)


@agent.command("languages", "Switches to the next language")
async def next_language(turn: accord.agent.Turn, _: str) -> None:
    """An agent may change options too; the client gets an update."""
    known = list(GREETINGS)
    place = known.index(str(turn.option("language")))
    await turn.session.set_option("language", known[(place + 1) % len(known)])
    await greet(turn, "you")


if __name__ == "__main__":
    agent.run()
