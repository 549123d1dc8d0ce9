"""Values set by a program."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.run.faults import TargetFault
from trimtab.run.program import output_of
from trimtab.run.signing import body_of
from trimtab.run.targets.target import Names, Order
from trimtab.run.web import parsed


class CommandTarget:
    """Runs a program, which gets the order as JSON; another one may print what holds now.

    Args:
        command: the program that sets values, and its arguments.
        reader: the one that prints them as JSON; None if there is none.
        names: what knobs are called there.
        timeout: seconds of either.
    """

    def __init__(
        self, command: Sequence[str], *, reader: Sequence[str] | None, names: Names, timeout: float
    ) -> None:
        self._command, self._reader = command, reader
        self._names, self._timeout = names, timeout
        self.readable = reader is not None

    def push(self, order: Order) -> None:
        """Set all values.

        Raises:
            TargetFault: the program fails or takes too long.
        """
        output_of(
            self._command,
            TargetFault,
            timeout=self._timeout,
            given=body_of(order.to_dict(self._names)),
            variables={"TRIMTAB_DECISION": order.decision},
        )

    def read(self) -> dict[str, float]:
        """The values that hold now.

        Raises:
            TargetFault: the program fails, takes too long or prints no JSON.
        """
        if self._reader is None:
            raise TargetFault("program", "no program is known that reads values back")
        printed = output_of(self._reader, TargetFault, timeout=self._timeout)
        return self._names.inward(parsed(printed, self._reader[0], TargetFault), self._reader[0])

    def close(self) -> None:
        """Nothing is open."""
