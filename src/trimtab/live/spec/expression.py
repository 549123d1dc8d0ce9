"""Comparisons of metrics, read by hand and computed by a small stack machine.

::

    comparison = sum ("<=" | "<" | ">=" | ">") sum
    sum        = product {("+" | "-") product}
    product    = factor {("*" | "/") factor}
    factor     = number | name | "baseline" | "(" sum ")" | ("+" | "-") factor

Numbers are decimal (1.05, 2e-3), names are letters, digits and underscores. `baseline` is that of
the one metric on the left. Nothing else exists: no calls, no attributes, nothing to execute.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from math import isfinite, nan

from trimtab.errors import InvalidInput

BASELINE = "baseline"
LONGEST = 500  # characters
DEEPEST = 30  # brackets and signs within one another
TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign><=|>=|[-+*/()<>]))"
)
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<=": lambda a, b: a <= b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    ">": lambda a, b: a > b,
}


@dataclass(frozen=True)
class Name:
    """Pushes the value of a metric, or of its baseline."""

    metric: str
    baseline: bool = False

    def __str__(self) -> str:
        return f"baseline({self.metric})" if self.baseline else self.metric


@dataclass(frozen=True)
class Apply:
    """Replaces the two topmost values by one."""

    sign: str  # one of + - * /

    def __str__(self) -> str:
        return self.sign


Step = float | Name | Apply
Program = tuple[Step, ...]  # in postfix order: what a stack machine reads


@dataclass(frozen=True)
class Comparison:
    """Two programs and what lies between them."""

    left: Program
    sign: str
    right: Program

    @property
    def names(self) -> tuple[Name, ...]:
        """The metrics and baselines it reads, each once, in order."""
        steps = (*self.left, *self.right)
        return tuple(dict.fromkeys(step for step in steps if isinstance(step, Name)))


@cache
def parse(text: str) -> Comparison:
    """The comparison that the text is.

    >>> parse("latency <= 1.05 * baseline").right
    (1.05, Name(metric='latency', baseline=True), Apply(sign='*'))
    >>> parse("latency < 2 + ")
    Traceback (most recent call last):
        ...
    trimtab.errors.InvalidInput: it ends where a number, a name or ( should follow

    Raises:
        InvalidInput: it is no comparison, or one that no metric decides.
    """
    if len(text) > LONGEST:
        raise InvalidInput(f"it has {len(text)} characters; {LONGEST} is the most")
    parser = _Parser(text)
    left = parser.sum()
    sign = parser.next("<=, <, >= or >", COMPARISONS)
    right = parser.sum()
    if parser.sign or parser.at < len(parser.tokens):
        raise InvalidInput(f"nothing can follow the right side; remove {parser.rest!r}")
    read = [step.metric for step in (*left, *right) if isinstance(step, Name)]
    mine = sorted({step.metric for step in left if isinstance(step, Name)} - {BASELINE})
    if not set(read) - {BASELINE}:
        raise InvalidInput("it names no metric; write one on the left, such as latency <= 200")
    if BASELINE in read and len(mine) != 1:
        found = "no metric" if not mine else f"{len(mine)} metrics ({', '.join(mine)})"
        raise InvalidInput(f"baseline is that of the metric on the left, where {found} stand")
    result = Comparison(_based(left, mine), sign, _based(right, mine))
    for side in (result.left, result.right):
        if not any(isinstance(step, Name) for step in side) and not isfinite(run(side, {}, {})):
            raise InvalidInput("one side is no finite number; look for a division by 0")
    return result


def run(program: Program, metrics: Mapping[str, float], baselines: Mapping[str, float]) -> float:
    """The number that a program leaves; NaN after a division by 0 or a NaN."""
    stack: list[float] = []
    for step in program:
        if isinstance(step, Apply):
            b, a = stack.pop(), stack.pop()
            stack.append(_applied(step.sign, a, b))
        elif isinstance(step, Name):
            stack.append((baselines if step.baseline else metrics)[step.metric])
        else:
            stack.append(step)
    return stack.pop()


def _applied(sign: str, a: float, b: float) -> float:
    if sign == "+":
        return a + b
    if sign == "-":
        return a - b
    if sign == "*":
        return a * b
    return a / b if b != 0.0 else nan


def _based(program: Program, mine: list[str]) -> Program:
    """The program with the word `baseline` made that of a metric."""
    return tuple(
        Name(mine[0], baseline=True) if step == Name(BASELINE) else step for step in program
    )


class _Parser:
    """Recursive descent over the tokens of a text; every rule gives a program."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []  # kind and text
        self.at, self.depth = 0, 0
        end, stop = 0, len(text.rstrip())
        while end < stop:
            match = TOKEN.match(text, end)
            if match is None:
                rest = text[end:].strip()
                raise InvalidInput(f"{rest[:20]!r} is neither a number, nor a name, nor a sign")
            self.tokens.append((str(match.lastgroup), match[0].strip()))
            end = match.end()

    @property
    def sign(self) -> str:
        """The sign that comes next, or nothing."""
        kind, text = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        return text if kind == "sign" else ""

    @property
    def rest(self) -> str:
        """What has not been read yet."""
        return " ".join(text for _, text in self.tokens[self.at :])

    def next(self, wanted: str, signs: Mapping[str, object]) -> str:
        """The next token, which must be one of these signs."""
        if self.sign not in signs:
            found = f"{self.rest[:20]!r} stands" if self.rest else "it ends"
            raise InvalidInput(f"{found} where {wanted} should follow")
        self.at += 1
        return self.tokens[self.at - 1][1]

    def sum(self) -> Program:
        """Products, added and subtracted from left to right."""
        program = self.product()
        while self.sign in ("+", "-"):
            sign = self.next("", {"+": 0, "-": 0})
            program = (*program, *self.product(), Apply(sign))
        return program

    def product(self) -> Program:
        """Factors, multiplied and divided from left to right."""
        program = self.factor()
        while self.sign in ("*", "/"):
            sign = self.next("", {"*": 0, "/": 0})
            program = (*program, *self.factor(), Apply(sign))
        return program

    def factor(self) -> Program:
        """A number, a name, something in brackets, or one of these with a sign before it."""
        kind, text = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        if kind == "number":
            self.at += 1
            return (self._finite(text),)
        if kind == "name":
            self.at += 1
            return (Name(text),)
        opening = self.next("a number, a name or (", {"(": 0, "+": 0, "-": 0})
        self.depth += 1
        if self.depth > DEEPEST:
            raise InvalidInput(f"more than {DEEPEST} brackets or signs within one another")
        if opening == "(":
            program = self.sum()
            self.next(")", {")": 0})
        else:
            program = self.factor()
            program = (0.0, *program, Apply("-")) if opening == "-" else program
        self.depth -= 1
        return program

    def _finite(self, text: str) -> float:
        number = float(text)
        if not isfinite(number):
            raise InvalidInput(f"{text} is too large for a number")
        return number
