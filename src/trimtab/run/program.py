"""Programs that measure or set something: started without a shell, and ended in time."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress

from trimtab.run.faults import OutsideFault

SHOWN = 200  # characters of what it complains about


def output_of(
    command: Sequence[str],
    fault: type[OutsideFault],
    *,
    timeout: float,
    given: bytes = b"",
    variables: Mapping[str, str] | None = None,
) -> bytes:
    """What a program prints.

    Args:
        command: the program and its arguments.
        fault: what is raised.
        timeout: seconds, after which it and what it has started are killed.
        given: on its standard input.
        variables: of its environment, beside those of this process.

    Raises:
        OutsideFault: it cannot be started, takes too long, or ends with an error.
    """
    name = os.path.basename(command[0])
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | dict(variables or {}),
            start_new_session=True,  # Ctrl-C is for us; and all of it can be killed at once
        )
    except OSError as error:
        raise fault("program", f"{name} cannot be started: {error.strerror}") from None
    try:
        printed, complaint = process.communicate(given, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise fault("timeout", f"{name} does not end in {timeout:g} s") from None
    finally:
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode:
        said = " ".join(complaint.decode(errors="replace").split())[:SHOWN]
        ended = f"{name} ends with {process.returncode}"
        raise fault("program", ended + (f": {said}" if said else ""))
    return printed
