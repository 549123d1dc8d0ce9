"""OFREP (OpenFeature's remote evaluation protocol) and the document that flagd reads."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Path
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from trimtab.errors import InvalidInput, NotFound
from trimtab.serve.access.authentication import Guarded, Who, rule
from trimtab.serve.api.answers import documented
from trimtab.serve.api.models import Given
from trimtab.serve.flags.evaluation import all_flags, flag, tag_of
from trimtab.serve.service import Served

router = APIRouter(route_class=Guarded, tags=["flags"])
Key = Annotated[str, Path(max_length=300, description="tuner.knob", examples=["search.cache_ttl"])]
Tag = Annotated[str | None, Header(alias="If-None-Match", description="The ETag seen last.")]
OTHERS: dict[int | str, Any] = {
    304: {"description": "nothing has changed"},
    400: {"description": "the request cannot be read"},
    404: {"description": "no such flag"},
}


class Evaluation(BaseModel):
    """For whom flags are evaluated. A tuner deploys one state for all: nothing of it is used."""

    model_config = ConfigDict(
        extra="allow", json_schema_extra={"examples": [{"context": {"targetingKey": "user-7"}}]}
    )
    context: dict[str, Any] | None = Field(None)


class FlagGiven(Given):
    """A flag."""

    key: str
    value: int | float
    variant: str
    reason: str
    metadata: dict[str, str]


class FlagsGiven(Given):
    """Flags."""

    flags: list[FlagGiven]


class Document(Given):
    """Flags as flagd reads them."""

    flags: dict[str, Any]


@router.post(
    "/ofrep/v1/evaluate/flags/{key}",
    responses=documented(FlagGiven) | OTHERS,
    **rule("flags"),
)
def evaluate(key: Key, service: Served, who: Who, body: Evaluation | None = None) -> Response:
    """One value."""
    try:
        return JSONResponse(flag(service, who, key).to_dict())
    except NotFound as error:
        content = {"key": key, "errorCode": "FLAG_NOT_FOUND", "errorDetails": str(error)}
        return JSONResponse(content, 404)


@router.post("/ofrep/v1/evaluate/flags", responses=documented(FlagsGiven) | OTHERS, **rule("flags"))
def evaluate_all(
    service: Served, who: Who, body: Evaluation | None = None, tag: Tag = None
) -> Response:
    """All values that the token may read; 304 if they are as they were."""
    try:
        flags = [each.to_dict() for each in all_flags(service, who)]
    except InvalidInput as error:
        return JSONResponse({"errorCode": "GENERAL", "errorDetails": str(error)}, 400)
    return _unless_known({"flags": flags, "metadata": {}}, tag)


@router.get("/flagd/v1/flags.json", responses=documented(Document) | OTHERS, **rule("flags"))
def flagd(service: Served, who: Who, tag: Tag = None) -> Response:
    """All values that the token may read, as flagd's document: sync flagd from here."""
    flags = {
        each.key: {
            "state": "ENABLED",
            "variants": {each.variant: each.value},
            "defaultVariant": each.variant,
            "metadata": each.metadata,
        }
        for each in all_flags(service, who)
    }
    schema = "https://flagd.dev/schema/v0/flags.json"
    return _unless_known({"$schema": schema, "flags": flags}, tag)


def _unless_known(content: dict[str, Any], known: str | None) -> Response:
    tag = tag_of(content)
    headers = {"etag": tag, "cache-control": "private, no-cache"}
    if known is not None and tag in (each.strip() for each in known.split(",")):
        return Response(status_code=304, headers=headers)
    return JSONResponse(content, headers=headers)
