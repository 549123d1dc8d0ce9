"""What can be done to a tuner: one endpoint per verb of `Tuner`, by POST.

Each may be sent again when no answer came: what was done is not done twice.
"""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter
from starlette.responses import Response

from trimtab.live.tuner import Tuner
from trimtab.serve.access.authentication import Guarded, rule
from trimtab.serve.api import models
from trimtab.serve.api.answers import Do, documented
from trimtab.serve.api.parameters import TunerName

router = APIRouter(route_class=Guarded, prefix="/api/v1/tuners/{name}", tags=["verbs"])
STATUS = documented(models.StatusGiven, 404, 409)


@router.post("/ask", responses=documented(models.DecisionGiven, 404), **rule("decide"))
def ask(name: TunerName, body: models.Ask, do: Do) -> Response:
    """The values to play; the same decision again until it is told."""
    tuner = do.tuner(name)
    return do(body, lambda: tuner.ask(body.client_id, actor=do.who.name).to_dict())


@router.post("/tell", responses=documented(models.ReceiptGiven, 404, 409), **rule("decide"))
def tell(name: TunerName, body: models.Tell, do: Do) -> Response:
    """Record what a decision led to: all at once or in parts, late, in any order."""
    tuner = do.tuner(name)
    metrics = {
        metric: tuple(value) if isinstance(value, list) else value
        for metric, value in body.metrics.items()
    }

    def told() -> dict[str, object]:
        receipt = tuner.tell(
            body.decision_id,
            metrics,
            count=body.count,
            correct=body.correct,
            arm=body.arm,
            actor=do.who.name,
        )
        return receipt.to_dict()

    def amended(known: object) -> object:
        tuner.amend()  # it may not have come so far
        return known

    return do(body, told, again=amended if body.correct else None)


@router.post("/attach", responses=STATUS, **rule("act"))
def attach(name: TunerName, body: models.Set, do: Do) -> Response:
    """Accept that somebody has set the system by hand; knobs that are not named stay."""
    tuner = do.tuner(name)
    return _ordered(do, body, tuner, lambda: tuner.attach(body.values, **_by(do, body)))


@router.post("/override", responses=STATUS, **rule("act"))
def override(name: TunerName, body: models.Set, do: Do) -> Response:
    """Have the next decisions go to these values, within the guards, and stay until resume."""
    tuner = do.tuner(name)
    return _ordered(do, body, tuner, lambda: tuner.override(body.values, **_by(do, body)))


@router.post("/pause", responses=STATUS, **rule("act"))
def pause(name: TunerName, body: models.Reason, do: Do) -> Response:
    """Leave the knobs alone until resume; only a broken guardrail still moves them back."""
    tuner = do.tuner(name)
    return _ordered(do, body, tuner, lambda: tuner.pause(body.why or "by hand", actor=do.who.name))


@router.post("/resume", responses=STATUS, **rule("act"))
def resume(name: TunerName, body: models.Reason, do: Do) -> Response:
    """Tune again from where the system is now: nothing moves until the next look."""
    tuner = do.tuner(name)
    return _ordered(do, body, tuner, lambda: tuner.resume(**_by(do, body)))


@router.post("/rollback", responses=STATUS, **rule("act"))
def rollback(name: TunerName, body: models.Back, do: Do) -> Response:
    """Go back to the last good state other than this one, within the guards, and pause there."""
    tuner = do.tuner(name)
    return _ordered(
        do, body, tuner, lambda: tuner.rollback(best=body.best, actor=do.who.name, why=body.why)
    )


@router.post("/approve", responses=STATUS, **rule("act"))
def approve(name: TunerName, body: models.Answer, do: Do) -> Response:
    """Have a proposal carried out."""
    tuner = do.tuner(name)
    return _ordered(do, body, tuner, lambda: tuner.approve(body.decision_id, **_by(do, body)))


@router.post("/reject", responses=STATUS, **rule("act"))
def reject(name: TunerName, body: models.Answer, do: Do) -> Response:
    """Turn a proposal down: the tuner stays where it is."""
    tuner = do.tuner(name)
    return _ordered(do, body, tuner, lambda: tuner.reject(body.decision_id, **_by(do, body)))


@router.post("/warm-start", responses=documented(models.WarmStarted, 404), **rule("act"))
def warm_start(name: TunerName, body: models.Table, do: Do) -> Response:
    """Learn from a table of the past; the same table again has no effect."""
    tuner = do.tuner(name)

    def warmed(known: object = None) -> dict[str, int]:
        return {"observations": tuner.warm_start(body.table, actor=do.who.name)}

    return do(body, warmed, again=warmed)


def _by(do: Do, body: models.Reason) -> dict[str, str | None]:
    return {"actor": do.who.name, "why": body.why or None}


def _ordered(do: Do, body: models.Reason, tuner: Tuner, act: Callable[[], None]) -> Response:
    """What was ordered is done; the answer is the status after it."""

    def done() -> dict[str, object]:
        act()
        return now()

    def now(known: object = None) -> dict[str, object]:
        return tuner.status().to_dict()

    return do(body, done, again=now)
