"""The parts around the conversation: the lines at the edges, the plan, and the first screen with its examples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from textual.content import Content

from accord.cli.chat.widgets import BREAK, MUTED, StaticText, label, laid_out
from accord.cli.show.line import Span, duration
from accord.cli.show.presentation import plan_step
from accord.cli.show.screen import SPINNER
from accord.display import EMPTY, SafeText, clip, exact, filled, joined, own
from accord.protocol.model import Unknown
from accord.session.entry import Plan
from accord.session.option import ConfigOption, Select

SHOWN_CATEGORIES = ("mode", "model", "thought_level")


def _blanks(number: int) -> Content:
    return label((filled("{:{}}", EMPTY, number), ""))


class TitleBar(StaticText):
    DEFAULT_CSS = """
    TitleBar {
        dock: top; height: 1; background: $primary 30%; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._facts: tuple[str, str | None, str | None, SafeText] = ("", None, None, EMPTY)

    def on_resize(self) -> None:
        self._show()

    def follow(self, agent: str, edition: str | None, title: str | None, settings: SafeText) -> None:
        """Show the agent and the settings; the session's title is shortened where the line is too narrow."""
        self._facts = (agent, edition, title, settings)
        self._show()

    def _show(self) -> None:
        agent, edition, title, settings = self._facts
        who = label((exact(agent, 40), "bold"), (filled(" · {}", edition) if edition else EMPTY, MUTED))
        end = label((clip(settings, 60), ""))
        available = max(self.size.width - who.cell_length - end.cell_length - 3, 0)
        name = label((exact(title, max(available - 3, 1)), "italic")) if title and available > 8 else label()  # noqa: PLR2004
        middle = label((own(" · "), "")) + name if name else name
        gap = max(1, self.size.width - who.cell_length - middle.cell_length - end.cell_length)
        self.update(who + middle + _blanks(gap) + end)


def settings_text(options: list[ConfigOption]) -> SafeText:
    """The values of the settings in the bar: mode and model."""
    values = []
    for category in SHOWN_CATEGORIES:
        for option in options:
            if isinstance(option, Select) and option.category == category:
                values.append(value_name(option))
                break
    return joined(values, own(" · "))


def value_name(option: ConfigOption) -> SafeText:
    """The display name of an option's value."""
    if isinstance(option, Unknown):
        return own("?")
    if isinstance(option, Select):
        choices = [*option.choices, *(choice for group in option.groups for choice in group.choices)]
        return exact(next((choice.name for choice in choices if choice.value == option.value), option.value))
    return own("on") if option.value else own("off")


@dataclass(frozen=True, slots=True)
class StatusFacts:
    """The facts in the last line."""

    doing: SafeText
    is_busy: bool = False
    seconds: float = 0.0
    queued: int = 0
    usage: SafeText = EMPTY
    hint: SafeText = EMPTY


class StatusBar(StaticText):
    DEFAULT_CSS = """
    StatusBar { height: 1; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._facts = StatusFacts(EMPTY)

    def on_resize(self) -> None:
        self._show()

    def follow(self, facts: StatusFacts) -> None:
        self._facts = facts
        self._show()

    def _show(self) -> None:
        facts = self._facts
        mark = SPINNER[int(facts.seconds * 8) % len(SPINNER)] if facts.is_busy else "●"
        parts = [(filled("{} ", mark), "$text-warning" if facts.is_busy else "$text-success"), (facts.doing, "")]
        if facts.is_busy:
            parts.append((filled(" {}", duration(facts.seconds)), ""))
        if facts.queued:
            parts.append((filled(" · {} queued", facts.queued), "$text-accent"))
        if facts.hint:
            parts.append((filled(" · {}", facts.hint), ""))
        left, right = label(*parts), label((facts.usage, ""))
        gap = max(1, self.size.width - left.cell_length - right.cell_length)
        self.update(left + _blanks(gap) + right)


class PlanPanel(StaticText):
    DEFAULT_CSS = """
    PlanPanel { width: 1fr; height: auto; padding: 0 1; }
    """

    def follow(self, plans: Iterable[Plan]) -> None:
        shown = [plan for plan in plans if plan.entries]
        lines: list[Content] = []
        for plan in shown:
            if len(shown) > 1:
                lines.append(label((exact(plan.id, 200), "underline")))
            lines += [laid_out(plan_step(entry)) for entry in plan.entries]
        self.update(BREAK.join(lines))


class PlanLine(StaticText):
    """The plan as one line: its progress, and the current step."""

    DEFAULT_CSS = """
    PlanLine { width: 1fr; height: 1; padding: 0 1; color: $text; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def follow(self, plans: Iterable[Plan]) -> None:
        entries = [entry for plan in plans for entry in plan.entries]
        done = sum(entry.status == "completed" for entry in entries)
        now = next((entry for entry in entries if entry.status == "in_progress"), None)
        now = now or next((entry for entry in entries if entry.status == "pending"), None)
        step = [] if now is None else plan_step(now)
        self.update(laid_out([Span(filled("plan {}/{}  ", done, len(entries)), "dim"), *step]))


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
