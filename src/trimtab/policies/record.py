"""Why a policy did what it did: one record for every look at the state."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.arrays import Array, Ints
from trimtab.display import displayed


@displayed
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Record:
    """A look at the state: what brought it about, what was weighed, and what came of it.

    Losses are totals per round, weights included. The move that was weighed is the one made,
    or for a hold the best one that was not worth its price.
    """

    round: int  # rounds told before the look
    cause: str  # "trigger", "review" or "alarm"
    criteria: Ints  # those that triggered or rang
    cut: Ints  # those of which a loss was cut since the last look, being far from all others
    information: float  # growth of log det V since the last look, all criteria together
    gain: float  # by how much the move lowers the lower confidence bound, per round
    expected: float  # by how much it lowers the estimated loss, per round
    rounds: int  # over which the move has to pay
    price: float  # of the move, once, and of the rounds in which nothing is learned after it
    gap: float  # by how much another state's bound may be lower than the one taken, per round
    certified: bool  # whether that is proven
    knobs: Ints  # those that move; none for a hold
    before: Array  # where from
    after: Array  # where to
    next_review: int  # rounds until the next look if everything is observed

    @property
    def held(self) -> bool:
        """Whether the state stays."""
        return self.knobs.size == 0

    @property
    def improves(self) -> bool:
        """Whether the move pays by what is known. Otherwise its point is to learn."""
        return self.expected > 0.0 and self.expected * self.rounds >= self.price

    @property
    def worth(self) -> str:
        """What the move weighed is worth, in words: what is known, or what is possible.

        A hold was decided by the bounds, so that these are given.
        """
        if self.held:
            verb, gain = "is worth", self.gain
        elif self.improves:
            verb, gain = "gains", self.expected
        else:
            verb, gain = "could gain up to", self.gain
        return (
            f"{verb} {gain:.3g} a round, {gain * self.rounds:.3g} over {self.rounds:,} "
            f"round{'s' * (self.rounds != 1)}, and costs {self.price:.3g}"
        )

    def __repr__(self) -> str:
        return f"<Record: {self}>"

    def __str__(self) -> str:
        """One line for people."""
        why = self.cause
        if self.criteria.size:
            named = ", ".join(map(str, self.criteria[:3].tolist()))
            more = f" and {self.criteria.size - 3} more" if self.criteria.size > 3 else ""
            why += f" of objective {named}{more}"
        if self.held:
            better = f"the best move {self.worth}"
            done = "hold: " + ("nothing better is known" if self.gain <= 0.0 else better)
        else:
            steps = [
                f"knob {j} {x:.3g} -> {y:.3g}"
                for j, x, y in zip(self.knobs[:3].tolist(), self.before, self.after, strict=False)
            ]
            more = f" and {self.knobs.size - 3} more" if self.knobs.size > 3 else ""
            done = f"move {', '.join(steps)}{more}: it {self.worth}"
        proven = "" if self.certified else " (not proven)"
        wild = f", wild losses of {self.cut.size} cut" if self.cut.size else ""
        return (
            f"round {self.round:,}, {why}, {self.information:.2f} nats learned{wild}: {done}; "
            f"at most {self.gap:.3g} a round is left{proven}; next look in {self.next_review:,}"
        )
