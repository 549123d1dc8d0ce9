"""The layout of a spec file: every key, what it may hold and what it means."""

from __future__ import annotations

from trimtab.live.spec import duration
from trimtab.live.spec.connect.layout import SOURCE, TARGET, WEBHOOK
from trimtab.live.spec.expression import BASELINE
from trimtab.plain.shapes import Choice, Either, Flag, Json, Number, Scalar, Text, Whole
from trimtab.plain.tables import Field, Items, Named, Or, Switch, Table, arguments

PLAIN = r"[^\x00-\x1f\x7f\ud800-\udfff]"  # a character that can be printed
FARTHEST = 2**53  # of a whole number: a float holds all of them exactly

NAME = Text(
    rf"(?!{BASELINE}$)[A-Za-z_][A-Za-z0-9_]{{0,63}}",
    f"use letters, digits and _, no digit first, and not the word {BASELINE}",
)
UNIT = Text(PLAIN + "{0,20}", "give at most 20 characters in quotes")
SPAN = Either(
    Text(duration.PATTERN, 'a time such as "30s", "5m", "1h" or "2d"'),
    Whole(low=1, high=duration.MOST),
)
STORAGE = Text(
    rf"(sqlite:///|postgres(ql)?(\+[a-z0-9]+)?://){PLAIN}{{1,500}}|\$\{{[A-Za-z_][A-Za-z0-9_]*\}}",
    'give a URL such as "sqlite:///tuner.db" or "postgresql://user@host/database"; ${NAME} stands '
    "for an environment variable",
    secret=True,
)
POSITIVE = Number(low=0.0, above=True)

STABILITY = Table(
    {
        "max_step": Field(
            POSITIVE,
            "the largest change at once, or within `per`: in the knob's unit, a factor on a log "
            "scale; any change by default",
        ),
        "per": Field(SPAN, "the window of max_step, a time or a number of rounds"),
        "stabilize_for": Field(
            SPAN, "how long after a move metrics are not learned from, a time or rounds"
        ),
        "tolerance": Field(Number(low=0.0), "changes smaller than this are not made"),
        "move_cost": Field(
            Number(low=0.0, high=1e9),
            "the price of moving the knob across its whole range, in weighted loss; 0 by default",
        ),
        "budget": Field(POSITIVE, "the most movement in all, or within `budget_per`"),
        "budget_per": Field(SPAN, "the window of budget, a time or a number of rounds"),
    }
)

_AROUND = {
    "unit": Field(UNIT, "the unit, for people"),
    "stability": Field(STABILITY, "how gently the knob must be moved"),
}


def _ends(number: Number | Whole) -> dict[str, Field]:
    """The keys that have the type of the knob's values."""
    return {
        "low": Field(number, "the smallest value", required=True),
        "high": Field(number, "the largest value", required=True),
        "start": Field(number, "the value it has now", required=True),
    }


KNOB = Switch(
    "scale",
    "how values are spread: linear (the default), log or integer",
    {
        "linear": Table(_ends(Number()) | _AROUND),
        "log": Table(_ends(Number(low=1e-100)) | _AROUND),
        "integer": Table(
            _ends(Whole(low=-FARTHEST, high=FARTHEST))
            | {"step": Field(Whole(low=1, high=FARTHEST), "between two values; 1 by default")}
            | _AROUND
        ),
    },
)

OBJECTIVE = Table(
    {
        "knobs": Field(
            Items(NAME, least=1, distinct=True), "the knobs it depends on", required=True
        ),
        "low": Field(Number(), "the lowest value that is to be expected", required=True),
        "high": Field(Number(), "the highest value that is to be expected", required=True),
        "direction": Field(
            Choice(("minimise", "maximise", "minimize", "maximize")), "minimise by default"
        ),
        "weight": Field(Number(low=1e-6, high=1e6), "how much it counts; 1 by default"),
        "noise": Field(
            Either(Choice(("estimate",)), POSITIVE),
            "the standard deviation of one measurement in its unit, or 'estimate', the default",
        ),
        "norm": Field(
            Number(low=1e-6, high=1e6),
            "a bound on the length of its parameter; one that follows from low and high by default",
        ),
        "unit": Field(UNIT, "the unit, for people"),
        "covariates": Field(
            Items(NAME, distinct=True),
            "what moves it and is no knob, told with the metrics; 'hour' is the time of day",
        ),
    }
)

METRIC = Table(
    {
        "unit": Field(UNIT, "the unit, for people"),
        "knobs": Field(
            Items(NAME, least=1, distinct=True), "the knobs it depends on; all by default"
        ),
    }
)

CONSTRAINT = Table(
    {
        "rule": Field(
            Text(r"[ -~]{1,500}", 'give a comparison such as "latency <= 1.05 * baseline"'),
            "a comparison of metrics",
            required=True,
        ),
        "kind": Field(
            Choice(("guardrail", "signal")),
            "guardrail (roll back to the last good state) or signal (pause)",
            required=True,
        ),
        "patience": Field(
            Whole(low=1, high=duration.MOST), "how many breaches in a row make it act; 1 by default"
        ),
        "safety": Field(
            Number(low=0.0, high=1.0, below=True),
            "with which confidence looks keep a guardrail; 0.975 by default, 0: none",
        ),
    }
)

GIVEN = {"problem", "start", "seed", "prior", "radius", "reg"}  # not by a spec's options


def own_policy(word: str) -> Table | None:
    """The options of a policy that users have registered, by the arguments of its class."""
    from trimtab import policies
    from trimtab.policies.registry import POLICIES, is_told_losses

    if hasattr(policies, word) or word not in POLICIES or not is_told_losses(POLICIES[word]):
        return None
    return Table(arguments(POLICIES[word], item=Scalar(), given=GIVEN))


def own_basis(word: str) -> Table | None:
    """The options of a basis that users have registered, by the arguments of its class."""
    from trimtab.model import bases
    from trimtab.model.bases.registry import BASES

    if hasattr(bases, word) or word not in BASES:
        return None
    return Table(arguments(BASES[word], item=Scalar()))


BASIS = Switch(
    "kind",
    "what losses are made of; auto by default",
    {
        "auto": Table({}),
        "linear": Table({}),
        "quadratic": Table(
            {"powers": Field(Whole(low=2, high=8), "the highest power of one knob; 2 by default")}
        ),
        "polynomial": Table({"degree": Field(Whole(low=1, high=8), "the degree; 2 by default")}),
        "fourier": Table(
            {
                "dim": Field(Whole(low=2, high=2000), "the number of features; 50 by default"),
                "lengthscale": Field(
                    Number(low=1e-3, high=1e3),
                    "over which part of a range a loss changes; 0.5 by default",
                ),
                "seed": Field(Whole(low=0, high=FARTHEST), "of the features; 0 by default"),
            }
        ),
    },
    own_basis,
)

_LEARNING = {
    "reg": Field(
        Either(Choice(("balanced",)), Number(low=1e-12, high=1e12)),
        "the ridge parameter; 'balanced', (noise / norm)^2, by default",
    ),
    "delta": Field(
        Number(low=1e-300, high=1.0, below=True),
        "the probability that any bound ever fails; 0.05 by default",
    ),
    "radius": Field(
        Number(low=0.0, high=1e9), "a fixed radius, which proves nothing, instead of delta"
    ),
}
_LAZY = _LEARNING | {
    "factor": Field(
        Number(low=1.0, high=1e9, above=True), "by how much information must grow for a look"
    ),
    "cold_start": Field(
        Choice(("keep", "solve")), "keep the start state, the default, or solve before round 1"
    ),
    "review": Field(Flag(), "whether to look when the clock has doubled; true by default"),
}
_STEADY = _LAZY | {
    "period": Field(Whole(low=1, high=FARTHEST), "look at the latest after this number of rounds"),
    "memory": Field(Whole(low=2, high=FARTHEST), "let data fade over this number of rounds"),
    "rho": Field(Number(low=0.0, high=1e9), "how far from optimal a smaller move may be"),
    "certify": Field(Number(low=0.0, high=1e9), "prove bounds to this share of their width"),
    "alarm": Field(Flag(), "whether to watch for changes of the system"),
}

POLICY = Switch(
    "kind",
    "the policy; SteadyGraphLinUCB by default",
    {
        "SteadyGraphLinUCB": Table(_STEADY),
        "LazyGraphLinUCB": Table(_LAZY),
        "AsyncLazyGraphLinUCB": Table(_LAZY),
        "LinUCB": Table(_LEARNING),
        "PooledGraphLinUCB": Table(
            _STEADY
            | {
                "noise": Field(
                    Choice(("independent", "correlated")),
                    "whether the noise of objectives that are pooled is independent; it is learned "
                    "if no bound is to be proven",
                )
            }
        ),
        "JointLazyGraphLinUCB": Table(
            _LAZY
            | {
                "factor_norm": Field(
                    Number(low=0.0, high=1e9, above=True),
                    "a bound on the length of all shared factors' parameters, for proven bounds",
                ),
                "joint_only": Field(Flag(), "leave the bounds of single objectives out"),
            }
        ),
        "AdaptiveGraphLinUCB": Table(
            _STEADY
            | {
                "gamma": Field(
                    Number(low=0.0, high=1e9, above=True),
                    "the least size of a dependency, in losses; a tenth of their spread by default",
                ),
                "warmup": Field(Whole(low=0, high=FARTHEST), "the most rounds of the warm-up"),
                "laps": Field(Whole(low=1, high=1000), "how often its tour is walked at most"),
            }
        ),
        "FixedState": Table({}),
    },
    own_policy,
)

SPEC = Table(
    {
        "name": Field(
            Text(r"[A-Za-z0-9_.-]{1,64}", "use letters, digits and _ . -, at most 64"),
            "the name of the tuner",
            required=True,
        ),
        "storage": Field(STORAGE, "where its journal is kept; sqlite:///trimtab.db by default"),
        "baseline_observations": Field(
            Whole(low=1, high=duration.MOST),
            "how many observations at the start make a metric's baseline, at most; 8 by default",
        ),
        "control": Field(
            Flag(), "whether a share of the traffic stays at the start state and is told as well"
        ),
        "mode": Field(
            Choice(("auto", "approve")),
            "auto (the default), or approve: moves are proposed, and made when a person approves",
        ),
        "approve_within": Field(
            SPAN, "how long a proposal waits for approval, a time or rounds; 1d by default"
        ),
        "knobs": Field(Named(NAME, KNOB, least=1), "what may be turned", required=True),
        "objectives": Field(
            Named(NAME, OBJECTIVE, least=1), "what should get better", required=True
        ),
        "metrics": Field(
            Named(NAME, Or(UNIT, METRIC)), "metrics that only constraints read: units, and knobs"
        ),
        "constraints": Field(Items(CONSTRAINT), "what must hold"),
        "basis": Field(BASIS, "the features through which objectives see their knobs"),
        "policy": Field(POLICY, "the policy and its options"),
        "source": Field(SOURCE, "where `trimtab run` gets metrics from"),
        "target": Field(TARGET, "where `trimtab run` sets values"),
        "webhook": Field(Items(WEBHOOK), "who is told when something happens"),
    }
)

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> Json:
    """The published JSON Schema of spec files, draft 2020-12, for editors and other programs.

    It accepts every valid spec, and refuses what needs no second look: unknown and missing keys,
    types, bounds. That a range is not empty, that a name is defined or that a rule
    can be read is up to `Spec`.

    >>> sorted(schema()["properties"])[:3]
    ['approve_within', 'baseline_observations', 'basis']
    """
    about = "A trimtab spec: the knobs, objectives and constraints of a live system."
    return {"$schema": DRAFT, "title": "trimtab spec", "description": about, **SPEC.schema()}
