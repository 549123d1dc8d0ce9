"""What only an admin may do: begin tuners, change their specs, give and revoke tokens."""

from __future__ import annotations

from datetime import timedelta

from fastapi import APIRouter
from starlette.responses import Response

from trimtab.errors import Conflict, InvalidInput
from trimtab.live.spec.spec import Spec
from trimtab.serve.access.authentication import Guarded, Who, rule
from trimtab.serve.api import models
from trimtab.serve.api.answers import Do, documented, shown
from trimtab.serve.api.parameters import TokenName, TunerName
from trimtab.serve.api.reads import loop_of
from trimtab.serve.fleet import runnable
from trimtab.serve.service import Served
from trimtab.serve.tuners import spec_in

router = APIRouter(route_class=Guarded, prefix="/api/v1", tags=["administration"])


@router.post(
    "/tuners",
    status_code=201,
    responses=documented(models.StatusGiven, 409, status=201),
    **rule("administer"),
)
def begin(body: models.SpecText, do: Do) -> Response:
    """Begin a tuner; the same again has no effect."""
    return _begun(do, body, spec_in(body.spec), 201)


@router.put(
    "/tuners/{name}/spec", responses=documented(models.StatusGiven, 404, 409), **rule("administer")
)
def change(name: TunerName, body: models.SpecText, do: Do) -> Response:
    """Change what may change of a spec: limits, constraints, units, start values."""
    do.tuner(name)  # it must be there
    spec = spec_in(body.spec)
    if spec.name != name:
        raise InvalidInput(f"name = {spec.name!r}; the spec is to be that of tuner {name!r}")
    return _begun(do, body, spec, 200)


@router.put(
    "/tuners/{name}/loop", responses=documented(models.LoopGiven, 404), **rule("administer")
)
def switch(name: TunerName, body: models.Switch, service: Served) -> Response:
    """Have workers run the tuner's loop (`[source]`, `[target]`), or not any more."""
    spec = service.tuners.get(name).recorded_spec()
    if body.on:
        runnable(spec, local=service.settings.local)
        service.work.add(name)
    else:
        service.work.remove(name)
    return shown(loop_of(service, name))


@router.get("/tokens", responses=documented(models.TokensGiven), **rule("administer"))
def tokens(service: Served) -> Response:
    """Every token that was ever given; not the tokens themselves, which nobody can read."""
    return shown({"tokens": [token.to_dict() for token in service.tokens.all()]})


@router.post(
    "/tokens",
    status_code=201,
    responses=documented(models.NewTokenGiven, 409, status=201),
    **rule("administer"),
)
def give(body: models.NewToken, service: Served, who: Who) -> Response:
    """Give a token to a person or a program; this answer is the only place where it is shown."""
    lifetime = None if body.days is None else timedelta(days=body.days)
    secret, token = service.tokens.add(
        body.name, body.role, tuner=body.tuner, lifetime=lifetime, by=who.name
    )
    return shown(token.to_dict() | {"token": secret}, 201)


@router.delete(
    "/tokens/{token}", responses=documented(models.TokenGiven, 404, 409), **rule("administer")
)
def revoke(token: TokenName, service: Served, who: Who) -> Response:
    """Make a token worthless; on other replicas within two seconds."""
    if token == who.name:
        raise Conflict("this is the token that you use; revoke it with another one")
    return shown(service.tokens.revoke(token).to_dict())


def _begun(do: Do, body: models.SpecText, spec: Spec, status: int) -> Response:
    """The tuner's status, once it has this spec."""
    service = do.service
    if spec.name in (".", ".."):
        raise InvalidInput(f"name = {spec.name!r}; no address can have it: give another name")

    def begun() -> dict[str, object]:
        new = not service.tables.names(limit=1, only=spec.name)
        if new and service.tables.count() >= service.settings.most_tuners:
            raise InvalidInput(
                f"there are {service.settings.most_tuners:,} tuners in this store, which is its "
                "limit"
            )
        tuner = service.tuners.begin(spec, shadow=body.shadow, actor=do.who.name, row=do.row())
        return tuner.status().to_dict()

    def now(known: object) -> dict[str, object]:
        return service.tuners.get(spec.name).status().to_dict()

    return do(body, begun, status, again=now)
