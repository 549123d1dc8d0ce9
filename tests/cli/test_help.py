"""Help that reads at 80 columns, under headings, by -h as well; and completion in a real shell."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from trimtab.cli import app
from trimtab.cli.groups import GROUPS, OTHERS

COMMAND = Path(sys.executable).with_name("trimtab")


def commands(group: Any, *path: str) -> Iterator[tuple[str, ...]]:
    """Every command and every group of commands, by the words that lead there."""
    yield path
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, *path, name)


ALL = list(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_fits_and_has_two_names(path: tuple[str, ...]) -> None:
    said = [CliRunner().invoke(app, [*path, flag]) for flag in ("-h", "--help")]
    assert [each.exit_code for each in said] == [0, 0]
    assert said[0].output == said[1].output
    assert said[0].output.startswith(" ".join(("Usage: trimtab", *path)))
    assert max(len(line) for line in said[0].output.splitlines()) <= 80


def test_every_command_is_under_one_heading() -> None:
    listed = [name for names in GROUPS.values() for name in names]
    assert len(listed) == len(set(listed))
    said = CliRunner().invoke(app, ["-h"]).output
    assert "..." not in said.partition("First steps")[2]  # no sentence is cut
    for path in ALL:
        if len(path) == 1:
            assert f"\n  {path[0]} " in said


def test_a_command_that_is_under_no_heading_is_shown_all_the_same() -> None:
    from trimtab.cli.groups import Grouped

    other = typer.Typer(cls=Grouped, rich_markup_mode=None)

    @other.command()
    def brew() -> None:
        """Make tea; or coffee."""

    @other.command()
    def demo() -> None:
        """Show it."""

    said = CliRunner().invoke(other, ["--help"]).output
    assert f"{OTHERS}:\n  brew  Make tea\n" in said


SHELL = """
set -eu
eval "$("$1" --show-completion bash)"
shift
COMP_WORDS=(trimtab "$@")
COMP_CWORD=$#
_trimtab_completion trimtab
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("st",), {"status", "storage"}),
        (("storage", "ch"), {"check"}),
        (("history", "--mo"), {"--moves"}),
    ],
)
def test_bash_completes(words: tuple[str, ...], found: set[str]) -> None:
    path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    child = subprocess.run(
        ["bash", "-c", SHELL, "bash", str(COMMAND), *words],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path, "SHELL": "/bin/bash"},
        check=False,
    )
    assert child.returncode == 0, child.stderr
    assert set(child.stdout.split()) == found
