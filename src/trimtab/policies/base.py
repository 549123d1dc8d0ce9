"""What every policy offers: two verbs, and what they return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np

from trimtab.arrays import NOBODY, Array, ArrayLike, Ints
from trimtab.display import displayed
from trimtab.errors import InvalidInput
from trimtab.model.problem import Problem
from trimtab.policies.learner import Certificate, Learner
from trimtab.policies.record import Record
from trimtab.solve.admissible import Admissible

FORMAT = 2  # of snapshots: no other one is read
GROW = ("diary.", "first.", "pending.")  # entries with a row for each of something, however many
Cause = Literal["none", "trigger", "review", "alarm"]


@dataclass(frozen=True, slots=True)
class Told:
    """What a `tell` has brought about."""

    triggered: Ints  # criteria whose determinant passed the factor
    cause: Cause  # why the state was looked at again, or "none"
    moved: float  # l1 length of the move to the state that ask() now gives
    next_review: int  # rounds until the next review if everything is observed; 2^62 for never
    record: Record | None = None  # the reasons, from a policy that gives them
    rung: Ints = field(default_factory=NOBODY.view)  # criteria whose losses rang the alarm
    cut: Ints = field(default_factory=NOBODY.view)  # and those of which a loss was cut


@displayed
class Policy(Protocol):
    """A policy: `ask` reads the state to play, `tell` is the one write.

    The learner is the policy's memory; a policy itself is only the rule by which
    the state is looked at again.
    """

    learner: Learner
    _own: ClassVar[tuple[str, ...]]  # what the policy itself remembers, beside the learner
    _memory: ClassVar[type[Learner]] = Learner  # what remembers everything else

    def __repr__(self) -> str:
        state = np.array2string(self.ask(), precision=4, threshold=8, edgeitems=3)
        return f"{type(self).__name__}({self.problem.graph!r}, rounds={self.rounds}, state={state})"

    @property
    def problem(self) -> Problem:
        """The problem that is being solved."""
        return self.learner.problem

    @property
    def start(self) -> Array:
        """The state the system was in before this policy."""
        return self.learner.start

    @property
    def rounds(self) -> int:
        """The round clock: how many rounds have been told."""
        return self.learner.clock

    @property
    def certificate(self) -> Certificate:
        """A bound on the regret so far, computed from what was really observed."""
        return self.learner.certificate

    def ask(self) -> Array:
        """The state to play: a read-only array (k,). Asking changes nothing."""
        return self.learner.state

    def tell(
        self, losses: ArrayLike | None, *, played: ArrayLike | None = None, count: ArrayLike = 1
    ) -> Told:
        """Learn from the losses of a round, or of several at once.

        Losses that come late are told in two steps: ``tell(None)`` says that a round of the state
        which `ask` gives was played, ``tell(losses, played=state)`` answers it, and NaN gives it
        up. Until then the round counts where widths are concerned, so that nobody goes on looking
        where the answer is on its way.

        Input that is refused changes nothing. Should a solve fail (`SolverFailed`, or an
        error of your own basis function) the losses are learned and the state stays.

        Args:
            losses: one per criterion, NaN where none was observed; None if they come later.
            played: the state they belong to, if it is not the one `ask` gives.
            count: of how many rounds each loss is the mean, one number or one each; 0 beside a
                NaN whose loss still comes.
        """

    def place(self, state: ArrayLike) -> None:
        """Accept that somebody else has set the system to `state`: `ask` gives it from now on."""
        self.learner.place(state)

    def within(self, low: ArrayLike | None, high: ArrayLike | None) -> None:
        """Stay between these values from now on, one number or one per knob; None: no limit.

        A state outside them moves to the nearest one inside at once.

        Raises:
            InvalidInput: some knob has no value between them, or the domain is no box.
        """
        self.learner.within(low, high)

    def constrain(self, admissible: Callable[[], Admissible] | None) -> None:
        """Choose only admissible states from now on; None: all states are.

        The function is called at every look, so that the set may follow what was learned since.
        It is no part of a snapshot: a policy that was restored has to be told again. Policies with
        bounds of their own kind (`JointLazyGraphLinUCB`) do not heed it.
        """
        self.learner.admissible = admissible

    def settling(self, rounds: Ints | None) -> None:
        """Know for how many rounds nothing is learned after each knob has moved, (k,).

        None: losses are learned at once.

        It is no part of a snapshot. Only policies that weigh moves heed it.
        """
        self.learner.settling = rounds

    def snapshot(self) -> dict[str, Any]:
        """The whole policy as plain scalars and arrays; `restore` goes on from it bit for bit."""
        return {
            "format": FORMAT,
            "policy": type(self).__name__,
            "problem": self.problem.fingerprint(),
            **{name: getattr(self, name) for name in self._own},
            **self.learner.snapshot(),
        }

    @classmethod
    def restored(cls, problem: Problem, saved: Mapping[str, Any]) -> Self:
        """The policy that `snapshot` saw.

        Raises:
            InvalidInput: the snapshot is incomplete or damaged.
        """
        seen = cls._as_learned(problem)
        check_entries(saved, cls._memory.entries(seen, saved) | dict.fromkeys(cls._own, ()))
        policy = object.__new__(cls)
        policy.learner = cls._memory.restored(seen, saved)
        for name in cls._own:
            setattr(policy, name, saved[name])
        return policy

    @classmethod
    def _as_learned(cls, problem: Problem) -> Problem:
        """The problem that the learner sees."""
        return problem


def check_entries(saved: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...] | None]) -> None:
    """Refuse a snapshot that lacks one of these entries, or has one of another shape."""
    missing = sorted(shapes.keys() - saved.keys())
    if missing:
        raise InvalidInput(f"the snapshot is incomplete: {', '.join(missing)} is missing")
    for name, shape in shapes.items():
        found, grows = np.shape(saved[name]), name.startswith(GROW)
        if shape is not None and (found[grows:] != shape[grows:] or len(found) != len(shape)):
            raise InvalidInput(
                f"the snapshot is damaged: {name} has shape {found}, expected {shape}"
            )


def part(saved: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The entries of a snapshot that belong to a part, by their names there.

    >>> part({"inner.clock": 3, "noise": 0.1}, "inner.")
    {'clock': 3}
    """
    return {name[len(prefix) :]: x for name, x in saved.items() if name.startswith(prefix)}
