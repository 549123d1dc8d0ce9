"""The target that a spec names; only its own kind is imported."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime

from trimtab.errors import InvalidInput
from trimtab.live.spec.connect.environment import expanded
from trimtab.live.spec.spec import Spec
from trimtab.run.sources.opening import headers_of, seconds
from trimtab.run.targets.target import Names, Target


def open_target(
    spec: Spec,
    *,
    clock: Callable[[], datetime],
    environment: Mapping[str, str] = os.environ,
) -> Target:
    """The target of a spec.

    Raises:
        InvalidInput: the spec has none, a variable is not set, or a package is missing.
    """
    target = spec.target
    if target is None:
        raise InvalidInput("the spec has no [target]; say where its values go")
    options = target.options
    names = Names(tuple(knob.name for knob in spec.knobs), target.names)
    timeout = seconds(target.timeout, 10.0)

    def text(key: str) -> str:
        return expanded(options[key], f"target.{key}", environment)

    try:
        match target.kind:
            case "command":
                from trimtab.run.targets.command import CommandTarget

                commands = {
                    key: [expanded(word, f"target.{key}", environment) for word in options[key]]
                    for key in ("command", "read")
                    if key in options
                }
                return CommandTarget(
                    commands["command"], reader=commands.get("read"), names=names, timeout=timeout
                )
            case "http":
                from trimtab.run.targets.http import HttpTarget

                return HttpTarget(
                    text("url"),
                    method=options.get("method", "PUT"),
                    read_url=text("read_url") if "read_url" in options else None,
                    secret=text("secret") if "secret" in options else None,
                    headers=headers_of(options.get("headers", {}), "target", environment),
                    names=names,
                    timeout=timeout,
                    clock=clock,
                )
            case "file":
                from trimtab.run.targets.file import FileTarget

                return FileTarget(
                    text("path"),
                    format=options.get("format", "json"),
                    signal=options.get("signal"),
                    pid_file=text("pid_file") if "pid_file" in options else None,
                    names=names,
                )
            case _:
                from trimtab.run.targets.redis import RedisTarget

                return RedisTarget(
                    text("url"),
                    hash=options.get("hash"),
                    prefix=options.get("prefix", ""),
                    names=names,
                    timeout=timeout,
                )
    except ImportError as error:
        raise InvalidInput(
            f"a {target.kind} target needs {error.name}: pip install 'trimtab[run]'"
        ) from None
