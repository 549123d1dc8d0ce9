"""What every gradient policy offers: the verbs of a policy, for convex losses.

There is no problem here, and nothing to estimate. After each round the policy is told a
gradient of that round's loss, so all it needs to know is the domain.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np

from trimtab.arrays import Array, ArrayLike, Ints, floats, read_only, refuse, vector, whole
from trimtab.errors import Conflict, InvalidInput
from trimtab.model.domain import BoundBox, BoundConvexDomain, ConvexDomain
from trimtab.policies.base import FORMAT, Told

Kind = Literal["one", "knobs", "components", "grid"]  # of how many numbers something consists
SLACK = 1e-9  # by this share a gradient may be longer than promised: what rounding adds


@runtime_checkable
class GradientPolicy(Protocol):
    """A policy for convex losses: `ask` reads the state to play, `tell` takes a gradient."""

    domain: BoundConvexDomain
    start: Array  # (k,) the state the system was in before this policy
    origin: Array  # (k,) the state that the policy's own first move leaves
    state: Array  # (k,) deployed
    horizon: int
    rounds: int  # the round clock: how many gradients have been told
    lipschitz: Array  # (c,) how long each component's gradient may be
    component: Ints | None = None  # (k,) of each knob; None: all in one, or the domain's own
    _own: ClassVar[dict[str, Kind]]  # what the policy itself remembers, beside these

    def _begin(
        self, domain: ConvexDomain | BoundConvexDomain, start: ArrayLike, horizon: int
    ) -> None:
        """The part of the constructor that all share; the start says how many knobs there are."""
        self.domain = bound(domain, np.size(floats(start, "start")))
        self.start = self.origin = self.state = read_only(self.domain.check(start, "start"))
        self.horizon = whole(horizon, "horizon", low=1)
        self.rounds = 0

    def ask(self) -> Array:
        """The state to play: a read-only array (k,). Asking changes nothing."""
        return self.state

    @property
    def gradient_point(self) -> Array:
        """Where the gradient of this round's loss is wanted: a read-only array (k,)."""
        return self.state

    def tell(self, gradient: ArrayLike) -> Told:
        """Learn from a (sub)gradient of the round's loss at `gradient_point`.

        A refused call changes nothing.

        Raises:
            InvalidInput: the gradient is malformed, or longer than `lipschitz` says: the
                regret bound would not hold.
            Conflict: the horizon has passed.
        """

    def place(self, state: ArrayLike) -> None:
        """Accept that somebody else has set the system to `state`: `ask` gives it from now on.

        It stays until the policy's own next move, and costs nothing of its budget. What
        the policy has learned stays as it is.
        """
        self.state = read_only(self.domain.check(state))
        if self.rounds == 0:
            self.origin = self.state

    def snapshot(self) -> dict[str, Any]:
        """The whole policy as plain scalars and arrays; `restore` goes on from it bit for bit."""
        held = {name: getattr(self, name) for name in _SHARED | self._own}
        return {
            "format": FORMAT,
            "policy": type(self).__name__,
            "domain": fingerprint(self.domain),
            **{name: x.copy() if isinstance(x, np.ndarray) else x for name, x in held.items()},
        }

    @classmethod
    def restored(
        cls, domain: ConvexDomain | BoundConvexDomain, snapshot: Mapping[str, Any]
    ) -> Self:
        """The policy that `snapshot` saw."""
        kinds = _SHARED | cls._own
        missing = sorted(name for name in kinds if name not in snapshot)
        if missing:
            raise InvalidInput(f"the snapshot is incomplete: {', '.join(missing)} is missing")
        policy = object.__new__(cls)
        policy.domain = bound(domain, np.size(snapshot["start"]))
        if snapshot.get("domain") != fingerprint(policy.domain):
            raise InvalidInput(
                "the snapshot was taken on another domain; restore it with the domain it was "
                "made for"
            )
        sizes = {"knobs": policy.domain.knobs, "components": np.size(snapshot["lipschitz"])}
        for name, kind in kinds.items():
            x = snapshot[name]
            expected: tuple[int, ...] = ()
            if kind == "grid":  # the same number of entries for every knob
                expected = (policy.domain.knobs, *np.shape(x)[1:2])
            elif kind != "one":
                expected = (sizes[kind],)
            if np.shape(x) != expected:
                raise InvalidInput(
                    f"the snapshot is damaged: {name} has shape {np.shape(x)}, expected {expected}"
                )
            setattr(policy, name, x if kind == "one" else read_only(np.array(x)))
        for name in ("start", "origin", "state"):
            policy.domain.check(getattr(policy, name), name)
        return policy

    def _checked(self, gradient: ArrayLike) -> Array:
        """The gradient as a new array, or an error before anything has changed."""
        g = vector(gradient, self.domain.knobs, "gradient", "knob")
        if self.rounds >= self.horizon:
            raise Conflict(
                f"the horizon of {self.horizon} rounds has passed, and the policy's step and "
                "budget with it; go on with a new one from start=policy.ask()"
            )
        of = self._component_of
        lengths = np.sqrt(np.bincount(of, g * g, self.lipschitz.size))
        refuse(
            lengths > self.lipschitz * (1.0 + SLACK),
            lambda c: (
                f"gradient{_named(of, c)} has length {lengths[c]:.6g}, above lipschitz = "
                f"{self.lipschitz[c]:.6g}, so the regret bound would not hold; start anew with a "
                "larger lipschitz, or scale the losses"
            ),
        )
        return g

    @cached_property
    def _component_of(self) -> Ints:
        """The component of each knob: (k,), all in one unless there are several budgets."""
        if self.component is not None:
            return self.component
        if self.lipschitz.size == 1:
            return np.zeros(self.domain.knobs, np.int64)
        return self.domain.components


_SHARED: dict[str, Kind] = {
    "start": "knobs",
    "origin": "knobs",
    "state": "knobs",
    "horizon": "one",
    "rounds": "one",
    "lipschitz": "components",
}


def _named(component_of: Ints, c: int) -> str:
    """The knobs of component c, as an index; nothing if it has all."""
    knobs = np.flatnonzero(component_of == c).tolist()
    return "" if len(knobs) == component_of.size else str(knobs)


def bound(domain: ConvexDomain | BoundConvexDomain, knobs: int) -> BoundConvexDomain:
    """The domain for this number of knobs; gradients need an interval behind every knob.

    Raises:
        InvalidInput: no domain, one of another number of knobs, or one with levels.
    """
    if isinstance(domain, ConvexDomain):
        domain = domain.bind(knobs)
    if not isinstance(domain, BoundConvexDomain):
        raise InvalidInput(f"domain is {domain!r}; give tt.Box(), tt.Balls(...) or tt.Simplex()")
    if domain.knobs != knobs:
        raise InvalidInput(
            f"start has {knobs} entries for {domain.knobs} knobs; give one value per knob"
        )
    if isinstance(domain, BoundBox) and domain.leveled.size:
        raise InvalidInput(
            f"knob {domain.leveled[0]} has levels; gradient policies need a convex domain: use "
            "an interval, and round what they say"
        )
    return domain


def fingerprint(domain: BoundConvexDomain) -> str:
    """A digest that only equal domains share."""
    digest = hashlib.sha256(type(domain).__name__.encode())
    for array in domain.signature:
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
