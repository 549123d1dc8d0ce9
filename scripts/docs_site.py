"""What the documentation's site has beyond the files in docs/: MkDocs calls these functions.

Generated from the code at every build: the reference of the library, of the command line and of
JSON schemas, the decisions' list, and the notebooks as pages. Links that lead out of docs/ become
the paths of files in the repository.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import nbformat
import typer
from mkdocs.structure.files import File
from typer.testing import CliRunner

import trimtab
from trimtab.cli import app

ROOT = Path(__file__).resolve().parents[1]
STYLED = re.compile(r"<style.*?</style>", re.DOTALL)  # of pandas; the site has its own
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")
API = {  # pages of the library's reference, and the public names on each
    "Live tuning": ("Tuner", "Client"),
    "Problems": ("Graph", "Problem", "Box", "Balls", "Simplex", "Prior", "Confidence"),
    "Policies": ("SteadyGraphLinUCB", "LinUCB", "LazyGraphLinUCB", "AsyncLazyGraphLinUCB"),
    "More policies": (
        "AdaptiveGraphLinUCB",
        "JointLazyGraphLinUCB",
        "PooledGraphLinUCB",
        "LazyOGD",
    ),
    "Baselines": (
        *("FixedState", "RandomState", "ScalarLinUCB", "FollowThePerturbedLeader", "binary"),
    ),
    "Simulation": ("play", "Trace", "Record", "sweep"),
    "Files and errors": (
        *("save", "load", "restore", "TrimtabError", "InvalidInput", "NotFound", "Conflict"),
        "SolverFailed",
    ),
}
MODULES = ("bases", "plot", "theory", "worlds")  # public names that are modules


SECTIONS = {  # what stands where; a page that is not listed is a guide
    "Tutorials": ("live.md", "notebooks/"),
    "How-to guides": ("ask-and-tell.md", "play.md", "figures.md", "sweeps.md"),
    "Reference": (
        *("names.md", "reference/cli.md", "spec.md", "reference/schemas.md", "tuner.md"),
        *("journal.md", "compatibility.md", "records.md", "solvers.md", "speed.md"),
    ),
    "Library": ("reference/api/",),
    "Explanation": (
        *("notation.md", "paper-map.md", "errata.md", "reproduction.md", "movement.md"),
        "fairness.md",
    ),
}
OTHERS = "How-to guides"


def on_config(config: Any) -> Any:
    """List the pages: those of `SECTIONS` in their order, all others under the guides."""
    written = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    left = sorted((written | generated().keys()) - {"index.md"})
    sections: dict[str, list[str]] = {}
    for title, wanted in SECTIONS.items():
        found = [path for want in wanted for path in left if path == want or _below(path, want)]
        sections[title] = found
        left = [path for path in left if path not in found]
    records = [path for path in left if path.startswith("decisions/")]
    sections["Decisions"] = records
    sections[OTHERS] += [path for path in left if path not in records]
    config.nav = ["index.md", *({title: paths} for title, paths in sections.items())]
    return config


def _below(path: str, folder: str) -> bool:
    return folder.endswith("/") and path.startswith(folder)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are generated."""
    for path, text in generated().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Replace links out of docs/ by the path of the file, which the repository has."""
    here = posixpath.dirname(page.file.src_uri)

    def inside(match: re.Match[str]) -> str:
        text, target = match.groups()
        plain = target.partition("#")[0]
        if not plain or "://" in plain or plain.startswith("mailto:"):
            return match[0]
        full = posixpath.normpath(posixpath.join("docs", here, plain))
        if full.startswith("docs/"):
            if (ROOT / full).is_dir():
                return f"[{text}]({posixpath.join(plain, 'index.md')})"
            return match[0]
        return f"{text} (`{full}`)"

    return LINK.sub(inside, markdown)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Give the theme's search dialog a name, for those who hear the page."""
    dialog = 'data-md-component="search" role="dialog"'
    return output.replace(dialog, f'{dialog} aria-label="Search"')


@cache
def generated() -> dict[str, str]:
    """Every generated page, by its path below docs/."""
    pages = {
        "reference/cli.md": command_line(),
        "reference/schemas.md": schemas(),
        "decisions/index.md": decisions(),
    }
    pages |= {f"reference/api/{slug(title)}.md": text for title, text in library()}
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        pages[f"notebooks/{path.stem}.md"] = notebook(path)
    return pages


def slug(title: str) -> str:
    """The file name of a title."""
    return title.lower().replace(" ", "-")


def library() -> Iterator[tuple[str, str]]:
    """Title and text of each page of the library's reference; every public name is on one."""
    placed = {*MODULES, *(name for names in API.values() for name in names)}
    rest = tuple(name for name in trimtab.__all__ if name not in placed)
    for title, names in (API | {"Others": rest} if rest else API).items():
        listed = [name for name in names if name in trimtab.__all__]
        blocks = [f"::: {path_of(name)}\n" for name in listed]
        yield title, f"# {title}\n\n" + "\n".join(blocks)
    for name in MODULES:
        public = getattr(trimtab, name)
        members = [x for x in getattr(public, "__all__", ()) if not x.startswith("_")]
        blocks = [f"::: {home(public, x)}\n" for x in sorted(members) if home(public, x)]
        yield name, f"# {name}\n\n`trimtab.{name}`\n\n" + "\n".join(blocks)


def path_of(name: str) -> str:
    """The module of a public name, and the name."""
    value = getattr(trimtab, name)
    return f"{value.__module__}.{value.__qualname__}"


def home(module: Any, name: str) -> str:
    """The same of a name in a public module; empty for constants."""
    value = getattr(module, name)
    return f"{value.__module__}.{name}" if hasattr(value, "__qualname__") else ""


def command_line() -> str:
    """The help of every command."""
    parts = ["# The command line\n\nGenerated from `trimtab -h`.\n"]
    for path in _commands(typer.main.get_command(app)):
        said = CliRunner().invoke(app, [*path, "--help"], prog_name="trimtab").output
        parts.append(f"## {' '.join(('trimtab', *path))}\n\n```text\n{said}```\n")
    return "\n".join(parts)


def _commands(group: Any, *path: str) -> Iterator[tuple[str, ...]]:
    yield path
    for name, command in getattr(group, "commands", {}).items():
        yield from _commands(command, *path, name)


def schemas() -> str:
    """The JSON schemas of what files and programs exchange; search finds other pages first."""
    from trimtab.live.spec.schema import schema

    found = {
        "A spec": (
            "As `trimtab init --schema` prints it. Editors that know TOML and JSON Schema complete "
            "and check specs with it.",
            schema(),
        )
    }
    for path in sorted((ROOT / "src/trimtab/live/schemas").glob("*.json")):
        name = path.name.partition(".")[0].replace("decision", "ask")
        said = f"What `trimtab {name} --json` prints."
        found[f"trimtab {name}"] = said, json.loads(path.read_text(encoding="utf-8"))
    parts = ["---\nsearch: {boost: 0.1}\n---\n\n# JSON schemas\n"]
    for title, (said, plain) in found.items():
        parts.append(f"## {title}\n\n{said}\n\n```json\n{json.dumps(plain, indent=2)}\n```\n")
    return "\n".join(parts)


def decisions() -> str:
    """The list of decision records, by their titles."""
    rows = []
    for path in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        rows.append(f"- [{title}]({path.name})")
    return "# Decisions\n\nWhat we will be asked about twice.\n\n" + "\n".join(rows) + "\n"


def notebook(path: Path) -> str:
    """A notebook as a page: its words, its code and what that shows."""
    parts = []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        else:
            parts += [f"```python\n{cell.source}\n```", *map(shown, cell.outputs)]
    note = f"*This page is the notebook `docs/notebooks/{path.name}`; figures are pictures here.*"
    return "\n\n".join([parts[0], note, *parts[1:]]) + "\n"


def shown(output: Any) -> str:
    """What a cell has shown, for a page: a picture, a table or text."""
    data = output.get("data", {})
    plain = data.get("text/plain", output.get("text", ""))
    if picture := data.get("image/png"):
        source = f"data:image/png;base64,{picture}"
        return f'<img class="output" alt="{escape(plain)}" src="{source}">'
    if table := data.get("text/html"):  # the theme would wrap a table without a class
        plainer = STYLED.sub("", table).replace("<table>", '<table class="shown">')
        return f'<div class="output" tabindex="0">{plainer}</div>'
    return f"```text\n{plain.rstrip()}\n```"
