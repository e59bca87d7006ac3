"""The first screen: the program, the agent, the folder, and three example prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content

from accord.cli.chat.widgets import BREAK, MUTED, StaticText, label
from accord.display import EMPTY, SafeText, exact, filled, own

# The name of the built-in agent's offline model.
OFFLINE = "offline"
EXAMPLES = (
    "What is in this folder? Explain it in a few sentences.",
    "Find something here that could go wrong, and say where.",
    "Which part has no test? Write one for it.",
)
# The offline model follows rules: it understands these prompts, also in an empty folder.
DEMO_EXAMPLES = (
    "what can you do?",
    "write \"print('hello')\" to hello.py",
    "run python3 hello.py",
)

KEYS = (
    (own("/"), own(" commands    ")),
    (own("@"), own(" files    ")),
    (own("!"), own(" your own shell    ")),
    (own("F1"), own(" help")),
)


@dataclass(frozen=True, slots=True)
class Greeting:
    """The facts of the first screen; those not known yet are empty."""

    folder: str
    agent: str = ""
    edition: str = ""
    model: str = ""
    mode: str = ""
    is_open: bool = False
    is_demo: bool = False

    @property
    def examples(self) -> Sequence[str]:
        """The example prompts, by the keys 1 to 3; none before the session is open: they depend on the agent."""
        if not self.is_open:
            return ()
        return DEMO_EXAMPLES if self.is_demo else EXAMPLES

    @property
    def model_text(self) -> SafeText:
        if self.is_demo:
            return own("none: this agent follows rules, it is no model and needs no key")
        return exact(self.model, 80)


class Welcome(StaticText):
    """The greeting in place of the conversation, until there is one."""

    DEFAULT_CSS = """
    Welcome { width: 1fr; max-width: 100; height: auto; padding: 1 2; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.greeting = Greeting("")

    def follow(self, greeting: Greeting) -> None:
        self.greeting = greeting
        lines = [
            label((own("Welcome to accord chat"), "bold $text-primary")),
            label((own("You write, the agent works in this folder. It asks you before it does what needs"), "")),
            label((own("your permission, and you see what it wants to do before you answer."), "")),
            label(),
            _fact(own("agent"), _agent(greeting)),
        ]
        if greeting.model_text:
            lines.append(_fact(own("model"), greeting.model_text))
        if greeting.mode:
            lines.append(_fact(own("mode"), exact(greeting.mode, 80)))
        lines += [_fact(own("folder"), exact(greeting.folder, 200)), label()]
        if greeting.examples:
            lines += [
                label((own("Try one of these"), "bold")),
                *(_example(number, text) for number, text in enumerate(greeting.examples, 1)),
                label((own("1, 2 or 3 puts it into the prompt below, Enter sends it."), MUTED)),
                label(),
            ]
        lines += [
            label(*(part for key, meaning in KEYS for part in ((key, "bold $text-accent"), (meaning, MUTED)))),
        ]
        self.update(BREAK.join(lines))


def _agent(greeting: Greeting) -> SafeText:
    if not greeting.agent:
        return own("starting …")
    return filled("{}{}", exact(greeting.agent, 80), filled(" · {}", greeting.edition) if greeting.edition else EMPTY)


def _fact(name: SafeText, value: SafeText) -> Content:
    return label((filled("{:<8}", name), MUTED), (value, ""))


def _example(number: int, text: str) -> Content:
    return label((filled(" {}  ", number), "bold $text-accent"), (exact(text), ""))
