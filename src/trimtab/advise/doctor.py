"""`trimtab doctor`: what a spec means, what is wrong with it, and what to expect of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from trimtab.advise.advice import Advice, Row
from trimtab.advise.ranking import advise
from trimtab.advise.rehearsal import Rehearsal, rehearse
from trimtab.errors import InvalidInput
from trimtab.learn import NEVER, Confidence, Prior
from trimtab.learn.beliefs import HOLD
from trimtab.learn.noise import LEAST_DF
from trimtab.live.spec.lint import Check, checks
from trimtab.live.spec.reader import text_of
from trimtab.live.spec.spec import Spec
from trimtab.policies import AdaptiveGraphLinUCB, FixedState, Policy
from trimtab.theory import max_accruals, max_reviews
from trimtab.theory.variants import Case

EFFORT = 0.07  # of the usual simulation of variants: people wait for it
MOST_KNOBS = 12  # of a spec that is rehearsed: more take too long
NEAR = 1.2  # times the cost of the variant that is recommended: nothing to be warned of,
ERRORS = 2.0  # nor within this number of standard errors of it


SCHEMA = "trimtab.doctor/1"


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """What the bounds allow over a horizon. They are worst cases: runs stay far below."""

    horizon: int  # rounds
    looks: float  # at how many rounds the state may be looked at again
    movement: float  # in whole ranges of knobs
    price: float  # of that movement, in weighted loss
    held: int  # rounds for which the start state stays for certain
    factor: float | None  # by how much information must grow for a look


@dataclass(frozen=True, kw_only=True)
class Report:
    """The findings: errors alone if the spec is invalid, else everything."""

    source: str
    checks: tuple[Check, ...]
    spec: Spec | None = None
    advice: Advice | None = None
    outlook: Outlook | None = None
    rehearsal: Rehearsal | None = None

    @property
    def valid(self) -> bool:
        """Whether a tuner could be started with it."""
        return all(check.level != "error" for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data, for other programs."""
        plain: dict[str, Any] = {
            "schema": SCHEMA,
            "source": self.source,
            "valid": self.valid,
            "checks": [asdict(check) for check in self.checks],
        }
        if self.spec is not None and self.advice is not None and self.outlook is not None:
            spec, advice = self.spec, self.advice
            rows = [asdict(row) for row in advice.rows]
            plain |= {
                "fingerprint": spec.fingerprint,
                "knobs": [knob.name for knob in spec.knobs],
                "graph": {each.name: list(each.knobs) for each in spec.objectives},
                "basis": spec.resolved_basis.to_dict(),
                "policy": spec.policy.to_dict(),
                "advice": {
                    "variant": advice.variant,
                    "reasons": advice.reasons,
                    "rows": rows,
                    "worlds": advice.worlds,
                    "rounds": advice.rounds,
                },
                "outlook": asdict(self.outlook),
                "rehearsal": None if self.rehearsal is None else asdict(self.rehearsal),
            }
        return plain


def examine(path: str | Path, *, horizon: int) -> Report:
    """What is to be said of the spec in a file, over this horizon; faults are in the report."""
    source = str(path)
    try:
        spec, faults = Spec.examine(text_of(path))
    except InvalidInput as error:
        return Report(source=source, checks=(Check("error", "", str(error)),))
    if faults:
        wrong = [Check("error", fault.path, str(fault)) for fault in faults]
        return Report(source=source, checks=tuple(wrong))
    return report_on(spec, source, horizon=horizon)


def report_on(spec: Spec, source: str, *, horizon: int) -> Report:
    """What is to be said of a spec that is valid in itself."""
    try:
        policy = spec.new_policy()
    except InvalidInput as error:
        wrong = [Check("error", "policy", f"{spec.policy.kind} does not go with it: {error}")]
        return Report(source=source, checks=tuple(wrong))
    advice = advice_for(spec, horizon, factor=_factor(policy))
    found = [*checks(spec), compared(spec, advice)]
    return Report(
        source=source,
        spec=spec,
        checks=tuple(found),
        advice=advice,
        outlook=outlook_for(spec, policy, horizon),
        rehearsal=rehearse(spec) if len(spec.knobs) <= MOST_KNOBS else None,
    )


def advice_for(spec: Spec, horizon: int, *, factor: float | None) -> Advice:
    """`theory.advise` for the problem of a spec; unknown noise is taken to be a tenth of a range.

    No state's total loss is further above the least one than all weights together, since the
    expected losses are in [0, 1]. Bounds above what can be lost at all are left out.
    """
    beliefs, given = spec.beliefs, spec.policy.options
    advice = advise(
        spec.problem,
        horizon,
        start=spec.start,
        prior=Prior(sigma=beliefs.sigma),
        sigma=beliefs.assumed_sigma if beliefs.sigma is None else None,
        norm=beliefs.norm,
        delta=spec.policy.delta,
        reg=beliefs.reg,
        factor=2.0 if factor is None else factor,
        worst=float(spec.problem.weights.sum()),
        graph_known="gamma" not in given,
        gamma=given.get("gamma"),
        factor_norm=given.get("factor_norm"),
        effort=EFFORT,
    )
    most = horizon * float(spec.problem.weights.sum())
    rows = tuple(replace(row, bound=None) if _vacuous(row, most) else row for row in advice.rows)
    kept = replace(advice, rows=rows)
    if kept.row(advice.variant).bound is not None:
        return kept
    return replace(kept, reasons=tuple(x for x in advice.reasons if not x.startswith("Its bound")))


def _vacuous(row: Row, most: float) -> bool:
    """Whether a bound is above what anybody can lose."""
    total = None if row.bound is None else row.bound.total
    return total is not None and total > most


def outlook_for(spec: Spec, policy: Policy, horizon: int) -> Outlook:
    """How often the policy of a spec may look, and how far and dear it may move, at most."""
    held = LEAST_DF + 1 if spec.beliefs.sigma is None and spec.policy.fixed_radius is None else 0
    if spec.policy.recommended:
        held = HOLD
    if isinstance(policy, AdaptiveGraphLinUCB) and policy.warming:
        held = 0
    nothing = Outlook(
        horizon=horizon, looks=0.0, movement=0.0, price=0.0, held=horizon, factor=None
    )
    if isinstance(policy, FixedState):
        return nothing
    factor, options, problem = _factor(policy), spec.policy.options, spec.problem
    looks = float(horizon) if factor is None else _most_looks(spec, horizon, factor)
    if options.get("memory", NEVER) < NEVER and factor is not None:
        looks = max_reviews(horizon) + max_accruals(
            problem.dims, horizon, memory=options["memory"], reg=spec.beliefs.reg, factor=factor
        )
    looks = min(looks + horizon / options.get("period", NEVER), float(horizon))
    dearest = float(problem.move_cost @ (problem.domain.high - problem.domain.low))
    most = horizon * float(problem.weights.sum())  # nobody can lose more
    return replace(
        nothing,
        looks=looks,
        movement=(looks + 1.0) * problem.domain.diameter,
        price=min((looks + 1.0) * dearest, most),
        held=min(held, horizon),
        factor=factor,
    )


def _most_looks(spec: Spec, horizon: int, factor: float) -> float:
    """The bound on the looks of a lazy policy."""
    beliefs, options = spec.beliefs, spec.policy.options
    radius = Confidence(sigma=beliefs.assumed_sigma, norm=beliefs.norm, delta=spec.policy.delta)
    case = Case(spec.problem, horizon, radius=radius, reg=beliefs.reg, factor=factor)
    looks: float | None = case.looks(horizon)
    if spec.policy.kind == "AdaptiveGraphLinUCB":
        gamma = options.get("gamma")  # without it there is a prior, and no bound
        looks = None if gamma is None else case.adaptive(gamma, 1)[0].looks
    if spec.policy.kind == "JointLazyGraphLinUCB":
        norm = options.get("factor_norm")
        looks = None if norm is None else case.joint(norm, correlated=False)[0].looks
    return float(horizon) if looks is None else looks


def _factor(policy: Policy) -> float | None:
    factor = float(policy.learner.estimators.factor)
    return factor if factor > 1.0 else None  # LinUCB looks in every round


def compared(spec: Spec, advice: Advice) -> Check:
    """The policy of the spec against the one that the simulation recommends."""
    kind, best = spec.policy.kind, advice.variant
    mine, theirs = advice.row(kind), advice.row(best)
    if kind == best:
        return Check("ok", "policy", f"{kind}, which costs least of all that was simulated")
    if best == "FixedState":
        said = f"{kind}; nothing that was simulated costs less than staying put"
        return Check("warn", "policy", f"{said}, at these prices and in this number of rounds")
    doubt = 0.0 if mine.times_error is None else ERRORS * mine.times_error
    if mine.times is not None and mine.times - doubt <= NEAR:
        said = f"{kind}, which costs {mine.ratio:.3f} of staying put; {best} {theirs.ratio:.3f}"
        return Check("ok", "policy", said)
    said = f"{kind}; simulated, {best} costs least. {mine.against}"
    return Check("warn", "policy", said.rstrip())
