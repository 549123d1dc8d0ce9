"""Commands by what people want, instead of one long list."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

GROUPS = {
    "First steps": ("demo", "init", "doctor"),
    "The loop": ("ask", "tell", "run", "warm-start"),
    "A service of many tuners": ("serve", "token"),
    "What it does, and why": ("status", "explain", "history", "report", "top"),
    "Orders of people": (
        *("pause", "resume", "rollback", "override", "attach", "approve", "reject"),
    ),
    "The journal": ("replay", "export", "storage"),
    "Research": ("sweep", "reproduce", "errata"),
}
OTHERS = "Others"


class Grouped(TyperGroup):
    """A list of commands under headings, each with its first sentence, whole."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the headings and what stands under each."""
        names = self.list_commands(ctx)
        listed = {name for names_ in GROUPS.values() for name in names_}
        groups = GROUPS | {OTHERS: tuple(name for name in names if name not in listed)}
        wide = max(len(name) for name in names)
        for title, members in groups.items():
            rows = [(name.ljust(wide), self._line(ctx, name)) for name in members if name in names]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def _line(self, ctx: Any, name: str) -> str:
        """What the command does, up to the first full stop or semicolon."""
        command = self.get_command(ctx, name)
        text = "" if command is None else " ".join((command.help or "").split("\n\n")[0].split())
        return text.split(";")[0].split(". ")[0].rstrip(".")
