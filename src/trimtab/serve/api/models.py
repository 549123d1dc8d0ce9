"""What requests must look like, and what answers do look like: the words of the document.

Requests are checked by these models; answers are written as tuners give them, and tests compare.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt

Number = int | float
Values = dict[str, Number]
# JSON's numbers only: neither "5" nor true is a value.
Strict = StrictInt | StrictFloat
Measured = Strict | Annotated[list[Strict], Field(min_length=2, max_length=2)] | None
Count = StrictInt

LONGEST_NAME = 200
LONGEST_WHY = 500
MOST_ROWS = 500  # of history in one answer
MOST_TUNERS = 100  # in one answer


class Request(BaseModel):
    """A request's body; what it does not know is refused."""

    model_config = ConfigDict(extra="forbid")


class Ask(Request):
    """Who asks, if several do."""

    model_config = ConfigDict(json_schema_extra={"examples": [{}, {"client_id": "web-3"}]})
    client_id: str | None = Field(None, max_length=LONGEST_NAME, description="Who asks.")


class Tell(Request):
    """What a decision led to."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "decision_id": "search-2",
                    "metrics": {"latency_p99": 180.0, "click_rate": [4.1, 0.2]},
                    "count": 10,
                }
            ]
        }
    )
    decision_id: str = Field(max_length=LONGEST_NAME + 30, description="The id that ask gave.")
    arm: Literal["control"] | None = Field(None, description="If it was measured in that arm.")
    metrics: dict[str, Measured] = Field(
        description="By name: a number, [mean, standard error], or null: missing."
    )
    count: Count | dict[str, Count] = Field(1, description="Of how many rounds each is the mean.")
    correct: bool = Field(False, description="Replace what was told; null takes it back.")


class Reason(Request):
    """Why somebody acts."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"why": "load test until 15:00"}]})
    why: str | None = Field(None, max_length=LONGEST_WHY, description="For those who wonder later.")


class Back(Reason):
    """Which good state to go back to."""

    best: bool = Field(False, description="The one of the least known loss, not the last one.")


class Set(Reason):
    """Values of some or all knobs, in their units."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"values": {"freshness": 0.5}, "why": "sale begins"}]}
    )
    values: dict[str, Strict]


class Answer(Reason):
    """Which proposal is meant."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"decision_id": "search-17", "why": "looks right"}]}
    )
    decision_id: str = Field(max_length=LONGEST_NAME + 30)


class Table(Request):
    """Columns of past measurements: one per knob, metric, value, and perhaps noise and time."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"table": {"freshness": [0.2], "metric": ["click_rate"], "value": [3.9]}},
            ]
        }
    )
    table: dict[str, list[Strict | str | None]]


class SpecText(Request):
    """A spec."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "spec": 'name = "cache"\n[knobs.ttl]\nlow = 30\nhigh = 3000\nstart = 300\n'
                    '[objectives.misses]\nknobs = ["ttl"]\nlow = 0.0\nhigh = 0.5\n',
                    "shadow": True,
                }
            ]
        }
    )
    spec: str = Field(description="TOML, as in the file; its storage is not used.")
    shadow: bool | None = Field(None, description="Only propose; as before if left out.")


class Switch(Request):
    """Whether workers run a tuner's loop."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"on": True}]})
    on: bool


class NewToken(Request):
    """To whom a token is given, and for what."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "maria", "role": "operator", "tuner": "search"}]}
    )
    name: str = Field(min_length=1, max_length=LONGEST_NAME, description="The actor in journals.")
    role: Literal["viewer", "client", "operator", "admin"]
    tuner: str | None = Field(None, max_length=LONGEST_NAME, description="Only this one.")
    days: float | None = Field(None, gt=0, le=36_500, description="Until it expires.")


# Answers.


class Given(BaseModel):
    """An answer; later versions may add fields."""

    model_config = ConfigDict(extra="allow")


class Problem(Given):
    """What went wrong, in the words of the command line (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


class DecisionGiven(Given):
    """The values to play."""

    id: str
    round: int
    at: str
    values: Values
    previous: Values
    changed: list[str]
    reason: str
    next_review: int | None
    notes: list[str]
    client: str | None


class ReceiptGiven(Given):
    """What came of a tell."""

    id: str
    events: list[int]
    repeated: bool


class StatusGiven(Given):
    """Where the tuner stands."""

    name: str
    mode: str
    why: str | None
    shadow: bool
    values: Values
    rounds: int
    tells: int
    moves: int
    rollbacks: int
    events: int


class ExplanationGiven(Given):
    """Why a decision was made."""

    decision: DecisionGiven
    look: dict[str, Any] | None
    told: dict[str, Any]
    helping: dict[str, Any] | None
    text: str


class HistoryGiven(Given):
    """A page of history."""

    rows: list[dict[str, Any]]
    next: int | None = Field(description="The `after` of the next page; null at the end.")


class TunersGiven(Given):
    """A page of tuners, by name."""

    tuners: list[str]
    next: str | None = Field(description="The `after` of the next page; null at the end.")


class SpecGiven(Given):
    """The spec that the journal has, as plain tables."""

    name: str
    knobs: dict[str, Any]
    objectives: dict[str, Any]


class WarmStarted(Given):
    """What came of a table."""

    observations: int


class LoopGiven(Given):
    """Whether workers run the tuner's loop, and which replica's does now."""

    on: bool
    worker: str | None


class WhoGiven(Given):
    """Whose token it is."""

    name: str
    role: str
    tuner: str | None


class TokenGiven(Given):
    """What is known of a token."""

    id: str
    name: str
    role: str
    tuner: str | None
    created: str
    expires: str | None
    revoked: str | None
    by: str


class TokensGiven(Given):
    """All tokens."""

    tokens: list[TokenGiven]


class NewTokenGiven(TokenGiven):
    """A new token: this is the only time that it is shown."""

    token: str
