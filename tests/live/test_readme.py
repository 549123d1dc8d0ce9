"""Five minutes with a live system, in the README and longer in docs/live.md: every block is run.

The output that the README shows is true: `python -m tests.live.test_readme` writes it anew. A test
compares its words; figures may change with what is learned.
"""

from __future__ import annotations

import doctest
import io
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from trimtab.cli import app
from trimtab.live.spec.spec import example

ROOT = Path(__file__).resolve().parents[2]
TITLE = "# Five minutes with a live system\n"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"[-+]?\d[\d,.:]*(?:e[-+]\d+)?")


def section(page: str) -> str:
    """The part of a page that is run."""
    return page.split(TITLE)[1].split("\n## ")[0]


def run(line: str) -> str:
    """What a line of a shell prints."""
    program, *arguments = line.split()
    if program == "trimtab":
        result = CliRunner().invoke(app, arguments, prog_name="trimtab")
        assert result.exit_code == 0, (line, result.output, result.exception)
        return result.output
    assert program == "python", line
    source = Path(*arguments).read_text(encoding="utf-8")
    with redirect_stdout(io.StringIO()) as said:
        exec(compile(source, arguments[0], "exec"), {"__name__": "__main__"})
    return said.getvalue()


def played(page: str) -> Iterator[tuple[str, str, str]]:
    """Every block as it is done: language, content, and for a text what was really printed."""
    said = ""
    for language, content in BLOCK.findall(section(page)):
        if language == "python":
            name = content.splitlines()[0].removeprefix("# ")
            assert name.endswith(".py"), content
            Path(name).write_text(content, encoding="utf-8")
        elif language == "sh":
            said = "".join(run(line) for line in content.splitlines())
        elif language == "toml":
            assert part_of(tomllib.loads(content), tomllib.loads(example()))
        else:
            assert language == "text"
        yield language, content, said
        said = "" if language == "text" else said


def part_of(some: Any, whole: Any) -> bool:
    """Whether everything in these plain data is in others."""
    if isinstance(some, dict):
        return all(key in whole and part_of(x, whole[key]) for key, x in some.items())
    if isinstance(some, list) and some and isinstance(some[0], dict):
        return all(any(part_of(each, other) for other in whole) for each in some)
    return bool(some == whole)


def words(text: str) -> str:
    """The text with every number replaced, and spaces made equal."""
    return re.sub(r"[ ]+", " ", NUMBER.sub("#", text)).strip()


@pytest.mark.slow
@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize("name", ["README.md", "docs/live.md"])
def test_every_block(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    shown = 0
    for language, content, said in played((ROOT / name).read_text(encoding="utf-8")):
        if language == "text":
            shown += 1
            same = doctest.OutputChecker().check_output(content, said, doctest.ELLIPSIS)
            assert same or words(content) == words(said), said
    sys.modules.pop("my_system", None)
    assert shown >= 1


def test_the_readme_is_short_and_its_loop_too() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(page.splitlines()) <= 150
    (loop,) = (text for _, text in BLOCK.findall(section(page)) if text.startswith("# loop.py"))
    assert len(loop.partition("with tt.Tuner")[2].splitlines()) <= 5


def renew(path: Path) -> None:
    """Write what the blocks really print into the page."""
    page = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for language, content, said in list(played(page)):
            if language == "text":
                page = page.replace(f"```text\n{content}```", f"```text\n{said}```", 1)
    path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    renew(ROOT / "README.md")
