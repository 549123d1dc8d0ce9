"""The newcomer's five minutes in the README: every block is run, in order, in one folder."""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trimtab.cli import app

README = Path(__file__).resolve().parents[2] / "README.md"
TITLE = "## Five minutes with a live system"


def blocks() -> list[tuple[str, str]]:
    """Language and content of every block of the section."""
    section = README.read_text(encoding="utf-8").split(f"{TITLE}\n")[1].split("\n## ")[0]
    return re.findall(r"^```(\w+)\n(.*?)^```$", section, flags=re.DOTALL | re.MULTILINE)


def run(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a line of a shell prints."""
    program, *arguments = line.split()
    if program == "trimtab":
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, (line, result.output, result.exception)
        return result.output
    assert program == "python", line
    source = Path(*arguments).read_text(encoding="utf-8")
    exec(compile(source, arguments[0], "exec"), {"__name__": "__main__"})
    return capsys.readouterr().out


def test_every_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    said, ran = "", list[str]()
    for language, content in blocks():
        if language == "python":
            name = content.splitlines()[0].removeprefix("# ")
            assert name.endswith(".py"), content
            Path(name).write_text(content, encoding="utf-8")
        elif language == "sh":
            lines = content.splitlines()
            said, ran = "".join(run(line, capsys) for line in lines), ran + lines
        else:
            assert language == "text"
            assert doctest.OutputChecker().check_output(content, said, doctest.ELLIPSIS), said
            said = ""
    sys.modules.pop("my_system")
    assert said == ""
    commands = [line.split()[1] for line in ran]
    assert commands == ["init", "doctor", "loop.py", "status", "explain"]


def test_the_loop_has_twelve_lines_at_most() -> None:
    (loop,) = (content for _, content in blocks() if content.startswith("# loop.py"))
    assert 5 < len(loop.splitlines()) <= 12
