"""The version of this package, and how it is installed."""

VERSION = "0.1.0"

# Until it is, every text that says how to install Accord says so in these words; a test reads the pages.
NOT_PUBLISHED = "Accord is not on a package index yet"


def install_line(extra: str) -> str:
    """The line that installs an extra, for a message that it is missing: of the wheel file that this copy came from."""
    from importlib.metadata import PackageNotFoundError  # noqa: PLC0415 - `--version` needs it not

    try:
        requirement = own_requirement(extra)
    except PackageNotFoundError:
        requirement = ""
    if requirement.endswith(".whl"):
        return f"pip install '{requirement}'"
    return f"in a clone ({NOT_PUBLISHED}): pip install '.[{extra}]'"


def own_requirement(extra: str) -> str:
    """A requirement that is this very copy of Accord with an extra; a name alone where it came from an index."""
    import json  # noqa: PLC0415 - `--version` needs neither
    from importlib.metadata import distribution  # noqa: PLC0415

    source = json.loads(distribution("accord").read_text("direct_url.json") or "{}").get("url")
    return f"accord[{extra}] @ {source}" if source else f"accord[{extra}]"
