"""Parameters that several endpoints share."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from trimtab.serve.api.models import LONGEST_NAME, MOST_ROWS, MOST_TUNERS

NAME = r"^[A-Za-z0-9_.-]{1,64}$"
KIND = r"^[a-z]{1,20}$"
TEXT = r"^[^\x00-\x1f]*$"  # no database takes a null character
MOST = 2**53 - 1  # the largest whole number that every reader of JSON knows

TunerName = Annotated[str, Path(pattern=NAME, description="The tuner.", examples=["search"])]
DecisionId = Annotated[
    str, Path(max_length=LONGEST_NAME, description="The id that ask gave.", examples=["search-2"])
]
TokenName = Annotated[str, Path(max_length=LONGEST_NAME, pattern=TEXT, description="Of the token.")]
After = Annotated[int, Query(ge=0, le=MOST, description="Begin after the event of this number.")]
Rows = Annotated[int, Query(ge=1, le=MOST_ROWS, description="How many rows at most.")]
Newest = Annotated[bool, Query(description="The newest first, from the end on.")]
Kinds = Annotated[
    list[Annotated[str, Path(pattern=KIND)]] | None,
    Query(max_length=20, description="Only these kinds of events.", examples=[["decide", "pause"]]),
]
AfterName = Annotated[
    str, Query(max_length=LONGEST_NAME, pattern=TEXT, description="Begin after this name.")
]
Tuners = Annotated[int, Query(ge=1, le=MOST_TUNERS, description="How many tuners at most.")]
Names = Annotated[
    list[Annotated[str, Path(pattern=NAME)]],
    Query(min_length=1, max_length=MOST_TUNERS, description="Tuners to listen to."),
]
