"""One description of plain data: what it reads, what it publishes, and what it says is wrong."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from trimtab.errors import InvalidInput
from trimtab.plain.faults import Fault, refuse
from trimtab.plain.shapes import Number, Shape, Text, Whole
from trimtab.plain.tables import ANYTHING, Field, Or, Switch, Table, arguments

SQUARE = Table({"side": Field(Number(low=0.0), "its length", required=True)})
DISC = Table({"radius": Field(Whole(low=1, high=9), "its size")})
SHAPE = Switch("kind", "what it is", {"square": SQUARE, "disc": DISC})
NEEDED = Switch("kind", "what it is", {"square": SQUARE, "disc": DISC}, needed=True)
COLOUR = Or(Text("[a-z]+", "a word"), Table({"red": Field(ANYTHING, "how red it is")}))


def made(side: float, *, colour: str = "red", **rest: Any) -> None:
    """Something that a table describes."""


def faults_of(shape: Shape, value: Any) -> list[str]:
    faults: list[Fault] = []
    shape.read(value, "x", faults)
    return [str(fault) for fault in faults]


@pytest.mark.parametrize(
    ("shape", "value", "wrong"),
    [
        (SHAPE, {"side": 2}, []),
        (SHAPE, {"kind": "disc"}, []),
        (SHAPE, {"kind": "dics"}, ["x.kind = 'dics': did you mean 'disc'?"]),
        (SHAPE, {}, ["x.side: it is missing; it is its length"]),
        (NEEDED, {"side": 2}, ["x.kind: it is missing; choose 'square' or 'disc'"]),
        (NEEDED, {"kind": "square", "side": 2}, []),
        (NEEDED, 3, ["x = 3: write a table, [x]"]),
        (COLOUR, "red", []),
        (COLOUR, {"red": object}, []),
        (COLOUR, {"rde": 1}, ["x.rde: no such key; did you mean 'red'?"]),
        (Table(arguments(made)), {"side": 1, "colour": "blue"}, []),
        (
            Table(arguments(made)),
            {"colours": 1},
            [
                "x.colours: no such key; did you mean 'colour'?",
                "x.side: it is missing; it is an argument of made",
            ],
        ),
        (Table(arguments(made, filled={"side"})), {}, []),
        (
            Table(arguments(made, given={"side"})),
            {"side": 1},
            ["x.side: no such key; choose 'colour'"],
        ),
        (
            Table(arguments(made, item=Number(), shapes={"colour": COLOUR})),
            {"side": "1", "colour": "blue"},
            ["x.side = '1': give a number"],
        ),
    ],
)
def test_every_fault_names_its_place(shape: Shape, value: Any, wrong: list[str]) -> None:
    assert faults_of(shape, value) == wrong


@pytest.mark.parametrize("value", [{"side": 2}, {"kind": "square", "side": 2}, {"kind": "disc"}])
def test_the_schema_wants_the_word_where_the_reader_does(value: dict[str, Any]) -> None:
    for shape in (SHAPE, NEEDED):
        refused = not jsonschema.Draft202012Validator(shape.schema()).is_valid(value)
        assert refused == bool(faults_of(shape, value))


def test_all_faults_are_listed_in_one_error() -> None:
    refuse([])
    faults = [Fault("a", ": it is missing"), Fault("b", " = 3: give a word")]
    with pytest.raises(InvalidInput, match=r"^a: it is missing$"):
        refuse(faults[:1])
    with pytest.raises(InvalidInput, match=r"^there are 2 problems:\n- a: it .*\n- b = 3: give"):
        refuse(faults)
    with pytest.raises(InvalidInput, match=r"^x\.toml has 2 problems:"):
        refuse(faults, "x.toml")
