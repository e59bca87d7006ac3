"""A dry run of the resolver: does an extra of Accord change the version of a framework that is installed with it?

    python scripts/resolve.py google-adk              the newest google-adk, beside each extra
    python scripts/resolve.py strands-agents==1.62.0  any requirements of pip

A resolver does not fail where two bounds exclude each other: it takes a version of the framework that is years old.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = {
    name: needs for name, needs in PROJECT["optional-dependencies"].items() if name not in {"all", "dev"}
}
EXTRAS["all"] = [need for needs in EXTRAS.values() for need in needs]
# What cannot go together; docs/adapters/ag-ui.md says so.
CONFLICTS = {"crewai": {"agent", "all", "mcp"}, "ag-ui-crewai": {"agent", "all", "mcp"}}
LINE = ["uv", "pip", "compile", "-", "--quiet", "--no-header", "--no-annotate", "--python", sys.executable]


def resolved(requirements: list[str]) -> dict[str, str] | str:
    """The version of each package, or what the resolver says against it."""
    text = "\n".join(requirements)
    done = subprocess.run(LINE, input=text, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        return done.stderr.strip()
    return dict(re.findall(r"^([\w.-]+)==(\S+)", done.stdout, re.MULTILINE))


def main(requirements: list[str]) -> int:
    """Print what each extra changes; the exit status is 1 where that is not documented."""
    names = [re.split(r"[\[=<>~ ]", requirement)[0] for requirement in requirements]
    alone = resolved(requirements)
    if isinstance(alone, str):
        print(f"not resolved by themselves: {alone}")
        return 1
    conflicts: set[str] = set()
    for extra, needs in EXTRAS.items():
        found = resolved([*requirements, *PROJECT["dependencies"], *needs])
        changed: object = found
        if not isinstance(found, str):
            changed = [f"{each} {found[each]}" for each in names if found[each] != alone[each]]
        if changed:
            conflicts.add(extra)
            print(f"accord[{extra}] changes it: {changed}")
    known = set().union(*(CONFLICTS.get(name, set()) for name in names))
    resolved_alone = ", ".join(f"{name} {alone[name]}" for name in names)
    print(f"{resolved_alone}: {len(EXTRAS)} extras, {len(conflicts)} in conflict, {len(known)} of them documented")
    return 0 if conflicts == known else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
