"""Values in a file that is replaced as a whole: a reader sees the old ones or the new ones."""

from __future__ import annotations

import json
import os
import re
import signal as signals
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from trimtab.run.faults import TargetFault
from trimtab.run.targets.target import Names, Order, written

MODE = 0o644  # of a new file
LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)=(.*)")


class FileTarget:
    """Writes JSON, YAML or lines of NAME=value, and may send a signal.

    Args:
        path: the file; its folder must be there.
        format: json, yaml or env.
        signal: sent after every change, such as HUP.
        pid_file: holds the number of the process that gets it.
        names: what knobs are called there.
    """

    readable = True

    def __init__(
        self, path: str, *, format: str, signal: str | None, pid_file: str | None, names: Names
    ) -> None:
        self._path, self._format, self._names = Path(path), format, names
        self._signal, self._pid_file = signal, pid_file
        if format == "yaml":
            import yaml  # noqa: F401 - a missing package shows now, not at the first change

    def push(self, order: Order) -> None:
        """Replace the file, force it to the disk, and send the signal.

        Raises:
            TargetFault: the file cannot be written, or nobody gets the signal.
        """
        text = self._text(self._names.outward(order.values))
        try:
            self._replace(text.encode())
        except OSError as error:
            raise TargetFault("file", f"{self._path} cannot be written: {error.strerror}") from None
        if self._signal is not None:
            self._send(self._signal)

    def _replace(self, content: bytes) -> None:
        folder = self._path.resolve().parent
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{self._path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fchmod(file.fileno(), self._mode())
                os.fsync(file.fileno())
            os.replace(temporary, self._path.resolve())
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
        directory = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def _mode(self) -> int:
        try:
            return stat.S_IMODE(self._path.stat().st_mode)
        except FileNotFoundError:
            return MODE

    def _send(self, name: str) -> None:
        try:
            number = int(Path(self._pid_file or "").read_text(encoding="ascii"))
            if number <= 1:
                raise ValueError(f"{number} is no process of yours")
            os.kill(number, signals.Signals[f"SIG{name}"])
        except (OSError, ValueError) as error:
            raise TargetFault(
                "signal", f"SIG{name} reaches nobody; {self._pid_file}: {error}"
            ) from None

    def read(self) -> dict[str, float]:
        """The values in the file; none if it is not there yet.

        Raises:
            TargetFault: it cannot be read, or is not of this format.
        """
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            raise TargetFault("file", f"{self._path} cannot be read: {error}") from None
        return self._names.inward(self._parsed(text), str(self._path))

    def _text(self, values: Mapping[str, float]) -> str:
        if self._format == "env":
            return "".join(f"{name}={written(x)}\n" for name, x in values.items())
        if self._format == "yaml":
            import yaml

            return str(yaml.safe_dump(dict(values), sort_keys=False))
        return json.dumps(values, indent=2) + "\n"

    def _parsed(self, text: str) -> Any:
        if self._format == "env":
            lines = (LINE.fullmatch(line) for line in text.splitlines())
            return {match[1]: match[2].strip(" \"'") for match in lines if match}
        try:
            return _yaml(text) if self._format == "yaml" else json.loads(text)
        except (ValueError, RecursionError) as error:
            said = " ".join(str(error).split())
            text = f"{self._path} is no {self._format.upper()}, or half-written: {said}"
            raise TargetFault("format", text) from None

    def close(self) -> None:
        """Nothing is open."""


def _yaml(text: str) -> Any:
    """The content of a YAML text.

    Raises:
        ValueError: it is none.
    """
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
