"""`module:attribute`: which texts are one, what the source tells before anything is imported, and how it is loaded."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from accord.adapters.import_string import ImportString, is_import_string


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", {**sys.modules})
    return tmp_path


@pytest.mark.parametrize(
    "text",
    [
        "langgraph.json",
        "x y/langgraph.json:my-graph",
        "/x/langgraph.json:a",
        "a:b",
        "a.b.c:d.e",
        "x/y.py:agent",
        "./y.py:agent",
        "/x y/z.py:agent",
        "größe:ü",
    ],
)
def test_a_module_or_a_file_with_an_attribute_is_one(text: str) -> None:
    assert is_import_string(text)


@pytest.mark.parametrize(
    "text", ["demo", "a:", ":b", "a:b:c", "ws://host", "C:\\x", "1a:b", "a:1b", "a b:c", "x.txt:agent.", ""]
)
def test_other_texts_are_none(text: str) -> None:
    assert not is_import_string(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [("support:agent", "support"), ("a.b:helper", "a.b.helper"), ("x/support.py:agent", "support")],
)
def test_the_agents_name_says_where_it_is(text: str, name: str) -> None:
    assert ImportString.parse(text).name == name


SOURCES = {
    "import accord\nagent = accord.Agent('x')": True,
    "from accord import Agent\nagent = Agent('x')": True,
    "import accord.adapters as adapters\nfrom other import inner\nagent = adapters.serve(inner)": True,
    "from accord.adapters.langgraph import serve\nagent = serve(None)": True,
    "import accord\ndef make():\n    return accord.Agent('x')\nagent = make()": True,
    "import accord\nimport other\nmake = other\nagent: accord.Agent = make()": False,
    "import accord\nagent: accord.Agent": True,
    "from elsewhere import agent": True,
    "from elsewhere import framework as agent": False,
    "if True:\n    import accord\n    agent = accord.Agent('x')": True,
    "import accord\nfrom pydantic_ai import Agent\nagent = Agent('test', tools=[accord])": False,
    "agent = 1": False,
    "nothing = 1": False,
    "agent = (": False,
    "from itself import agent": False,
}


@pytest.mark.parametrize("source", SOURCES)
def test_the_source_tells_whether_it_is_an_agent_of_ours_and_is_not_run(source: str, project: Path) -> None:
    elsewhere = "import accord, pydantic_ai\nagent = accord.Agent('x')\nframework = pydantic_ai.Agent()"
    (project / "elsewhere.py").write_text(elsewhere)
    (project / "itself.py").write_text("from itself import agent")
    (project / "here.py").write_text(f"{source}\nraise SystemExit\n")
    for text in ("here:agent", "here.py:agent"):
        assert ImportString.parse(text).is_made_by_accord() is (SOURCES[source] and source[-1] != "(")


def test_a_package_beside_is_followed(project: Path) -> None:
    (project / "pack").mkdir()
    (project / "pack" / "__init__.py").write_text("from .inner import agent\nraise SystemExit")
    (project / "pack" / "inner.py").write_text("from accord import Agent\nagent = Agent('x')")
    assert ImportString.parse("pack:agent").is_made_by_accord()
    assert not ImportString.parse("missing:agent").is_made_by_accord()


def test_a_module_and_a_file_are_loaded_with_dotted_attributes(project: Path) -> None:
    (project / "holder_of_agents.py").write_text("class Box:\n    agent = 'inside'\n")
    assert ImportString.parse("holder_of_agents:Box.agent").load() == "inside"
    assert ImportString.parse("./holder_of_agents.py:Box.agent").load() == "inside"


def test_a_file_of_the_project_does_not_stand_in_for_an_installed_module(project: Path) -> None:
    (project / "colorsys.py").write_text("raise SystemExit")
    (project / "user_of_colorsys.py").write_text("import colorsys\nagent = colorsys.__file__")
    sys.modules.pop("colorsys", None)
    assert str(project) not in ImportString.parse("user_of_colorsys:agent").load()


def test_a_file_with_the_name_of_a_module_is_still_that_file(project: Path) -> None:
    (project / "json.py").write_text("agent = 'mine'")
    assert ImportString.parse("json.py:agent").load() == "mine"


def test_a_graph_of_a_langgraph_json_is_found_and_its_modules_are_those_beside(project: Path) -> None:
    (project / "app" / "src").mkdir(parents=True)
    (project / "app" / "graph_names.py").write_text("NAME = 'beside'")
    (project / "app" / "src" / "graph_file.py").write_text("import graph_names\nagent = graph_names.NAME")
    graphs = {"first": "./src/graph_file.py:agent", "second-one": {"path": "graph_names:NAME"}}
    (project / "app" / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))
    assert ImportString.parse("app/langgraph.json:first").load() == "beside"
    assert ImportString.parse(f"{project}/app/langgraph.json:second-one").load() == "beside"
    (project / "langgraph.json").write_text(json.dumps({"graphs": {"only": "./app/src/graph_file.py:agent"}}))
    assert ImportString.parse("langgraph.json").attribute == "agent"


@pytest.mark.parametrize(
    "config",
    [
        "{",
        "[]",
        "{}",
        '{"graphs": []}',
        '{"graphs": {"a": 1}}',
        '{"graphs": {}}',
        '{"graphs": {"a": "b:c", "d": "e:f"}}',
    ],
)
def test_a_langgraph_json_without_the_graph_is_a_sentence(config: str, project: Path) -> None:
    (project / "langgraph.json").write_text(config)
    for text in ("langgraph.json", "langgraph.json:nowhere", "elsewhere/langgraph.json"):
        with pytest.raises(ValueError, match="langgraph"):
            ImportString.parse(text)


def test_the_module_of_a_file_in_a_package_is_named(project: Path) -> None:
    (project / "outer" / "inner").mkdir(parents=True)
    for folder in ("outer", "outer/inner"):
        (project / folder / "__init__.py").touch()
    assert ImportString.parse("outer/inner/agent.py:graph").in_package == "outer.inner.agent:graph"
    assert ImportString.parse("./outer/agent.py:graph").in_package == "outer.agent:graph"
    assert ImportString.parse("outer.agent:graph").in_package is None
