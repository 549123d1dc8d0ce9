"""From TOML to the parts of a spec, with everything that is wrong with it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from trimtab.errors import InvalidInput
from trimtab.live.spec.basis_and_policy import MOST_FEATURES, BasisChoice, PolicyChoice
from trimtab.live.spec.connect.connection import faults_of, source_of, target_of, webhook_of
from trimtab.live.spec.constraint import Constraint
from trimtab.live.spec.duration import Duration
from trimtab.live.spec.knob import Knob, Stability
from trimtab.live.spec.objective import Objective
from trimtab.live.spec.schema import SPEC
from trimtab.plain.faults import Fault, shown
from trimtab.plain.shapes import REFUSED
from trimtab.plain.tables import shown_key
from trimtab.registry import suggestion

LARGEST = 10_000_000  # bytes of a spec file
PLAIN = (
    "name",
    "storage",
    "baseline_observations",
    "control",
    "mode",
)  # keys that are taken as they are
MOST_DOTS = 500  # in a line
DURATIONS = ("per", "stabilize_for", "budget_per")

T = TypeVar("T")


def text_of(path: str | Path) -> str:
    """The text of a file.

    Raises:
        InvalidInput: it cannot be read, is too large, or is no UTF-8.
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"{path} cannot be read: {reason}") from None
    if len(content) > LARGEST:
        raise InvalidInput(f"{path} is larger than {LARGEST:,} bytes; is it a spec?")
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InvalidInput(f"{path} is not UTF-8 at line {line}; save it as UTF-8") from None


def beside(path: Path, storage: str) -> str:
    """The storage of a spec in a file: a relative path of SQLite is relative to the file.

    Raises:
        InvalidInput: nothing is there, and a file of that path is in the working directory, where
            it was looked for once.
    """
    name = storage.removeprefix("sqlite:///")
    if name == storage or Path(name).is_absolute():
        return storage
    here, old = path.resolve().parent / name, Path(name).resolve()
    if old != here and old.exists() and not here.exists():
        raise InvalidInput(
            f"{path}: storage = {storage!r} is {here}, where nothing is; {old} is there, of a time "
            "when paths were relative to the working directory: move it, with its -wal and -lock, "
            "or write its absolute path"
        )
    return f"sqlite:///{here}"


def tables_of(text: str) -> tuple[dict[str, Any], list[Fault]]:
    """The tables of a TOML text, or the fault that keeps it from being read."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MOST_DOTS:  # the parser's memory grows with their square
            return {}, [Fault("", f": no TOML: line {number} has more than {MOST_DOTS} dots")]
    try:
        return tomllib.loads(text), []
    except RecursionError:
        return {}, [Fault("", ": no TOML: it is nested too deeply")]
    except ValueError as error:  # also numbers of more digits than Python reads
        return {}, [Fault("", f": no TOML: {error}")]


def parts_of(plain: Any) -> tuple[dict[str, Any], list[Fault]]:
    """The fields of the `Spec` that the tables describe, and all faults; use them if none."""
    faults: list[Fault] = []
    read = SPEC.read(plain, "", faults)
    if read is REFUSED:
        return {}, faults
    parts = {key: read[key] for key in PLAIN if key in read}
    if "approve_within" in read:
        parts["approve_within"] = Duration.of(read["approve_within"])
    parts["knobs"] = _built("knobs", read.get("knobs", {}), _knob, faults)
    parts["objectives"] = _built("objectives", read.get("objectives", {}), _objective, faults)
    metrics = read.get("metrics", {})
    tables = {name: x for name, x in metrics.items() if isinstance(x, dict)}
    parts["metrics"] = metrics | {name: x.get("unit", "") for name, x in tables.items()}
    parts["metric_knobs"] = {n: tuple(x["knobs"]) for n, x in tables.items() if "knobs" in x}
    rules = _constraints(read.get("constraints", []), faults)
    parts["constraints"] = tuple(rules.values())
    parts["basis"] = _choice("basis", read.get("basis", {}), BasisChoice, faults)
    parts["policy"] = _choice("policy", read.get("policy", {}), PolicyChoice, faults)
    parts |= _connections(read, parts, faults)
    _check_names(plain, parts, rules, faults)
    _check_features(parts, faults)
    return parts, faults


def _knob(name: str, table: Mapping[str, Any]) -> Knob:
    gentle: dict[str, Any] = {
        key: Duration.of(value) if key in DURATIONS else value
        for key, value in table.get("stability", {}).items()
    }
    rest = {key: value for key, value in table.items() if key != "stability"}
    return Knob(name=name, stability=Stability(**gentle), **rest)


def _objective(name: str, table: Mapping[str, Any]) -> Objective:
    rest = {**table, "knobs": tuple(table["knobs"])}
    if "covariates" in rest:
        rest["covariates"] = tuple(rest["covariates"])
    if rest.get("noise") == "estimate":
        del rest["noise"]
    if "direction" in rest:
        rest["direction"] = rest["direction"].replace("z", "s")  # American spelling
    return Objective(name=name, **rest)


def _built(
    section: str,
    tables: Mapping[str, Any],
    build: Callable[[str, Mapping[str, Any]], T],
    faults: list[Fault],
) -> tuple[T, ...]:
    """One object per table; a table that makes no sense becomes a fault."""
    found = []
    for name, table in tables.items():
        try:
            found.append(build(name, table))
        except InvalidInput as error:
            faults.append(Fault(f"{section}.{name}", f".{error}", structural=False))
    return tuple(found)


def _constraints(tables: list[Any], faults: list[Fault]) -> dict[str, Constraint]:
    """The constraints by their paths."""
    found = {}
    for i, table in enumerate(tables):
        path = f"constraints[{i}].rule"
        if table is not REFUSED:
            try:
                found[path] = Constraint(**table)
            except InvalidInput as error:
                text = f" = {shown(table['rule'])}: {error}"
                if str(error).startswith("safety"):
                    path, text = f"constraints[{i}]", f".{error}"
                faults.append(Fault(path, text, structural=False))
    return found


def _choice(section: str, table: Mapping[str, Any], build: Any, faults: list[Fault]) -> Any:
    """The choice of a basis or a policy; the default one in the place of nonsense."""
    options = dict(table)
    kind = {"kind": options.pop("kind")} if "kind" in options else {}
    try:
        return build(options=options, **kind)
    except InvalidInput as error:
        faults.append(Fault(section, f".{error}", structural=False))
        return build()


def _connections(
    read: Mapping[str, Any], parts: Mapping[str, Any], faults: list[Fault]
) -> dict[str, Any]:
    """The source, the target and the webhooks, where the spec has them."""
    knobs = [knob.name for knob in parts["knobs"]]
    used = {name for rule in parts["constraints"] for name in rule.metrics}
    objectives = [each.name for each in parts["objectives"]]
    known = [*objectives, *parts["metrics"]]
    needed = [name for name in known if name in used.union(objectives)]
    webhooks = [table for table in read.get("webhook", []) if table is not REFUSED]
    tables = {f"webhook[{i}]": table for i, table in enumerate(webhooks)}
    tables |= {key: read[key] for key in ("source", "target") if key in read}
    before = len(faults)
    for path, table in tables.items():
        faults += faults_of(path, table, knobs=knobs, known=known, needed=needed)
    if before or len(faults) > before:
        return {}
    found: dict[str, Any] = {"webhooks": tuple(webhook_of(table) for table in webhooks)}
    for key, build in (("source", source_of), ("target", target_of)):
        if key in read:
            found[key] = build(read[key])
    return found


def _check_names(
    plain: Mapping[str, Any],
    parts: Mapping[str, Any],
    rules: Mapping[str, Constraint],
    faults: list[Fault],
) -> None:
    """Every name means one thing, and every name that is used is there."""

    def given(section: str) -> list[str]:
        table = plain.get(section)
        return [str(name) for name in table] if isinstance(table, Mapping) else []

    def blame(path: str, text: str) -> None:
        faults.append(Fault(path, text, structural=False))

    knobs, objectives, metrics = given("knobs"), given("objectives"), given("metrics")
    turned, measured = set(knobs), [*objectives, *metrics]
    for name in objectives:
        if name in turned:
            blame(f"objectives.{name}", ": a knob has that name; rename one")
    for name in metrics:
        if name in turned.union(objectives):
            blame(
                f"metrics.{shown_key(name)}",
                ": a knob or an objective has that name; drop or rename it",
            )
    scopes = {f"objectives.{each.name}": each.knobs for each in parts["objectives"]}
    scopes |= {f"metrics.{name}": names for name, names in parts["metric_knobs"].items()}
    for place, names in scopes.items():
        for name in names:
            if name not in turned:
                text = f" names {name!r}: no such knob; {suggestion(name, knobs)}"
                blame(f"{place}.knobs", text)
    for each in parts["objectives"]:
        for name in each.covariates:
            if name in turned or name in objectives:
                blame(f"objectives.{each.name}.covariates", f" names {name!r}: a knob or objective")
    for path, rule in rules.items():
        for name in rule.metrics:  # a baseline is always that of one of these
            if name not in measured:
                text = f" names {name!r}: no such objective or metric; {suggestion(name, measured)}"
                blame(path, text + f' Or declare it: [metrics] {name} = "its unit"')


def _check_features(parts: Mapping[str, Any], faults: list[Fault]) -> None:
    """No objective is too wide for its basis, and every one has a norm."""
    widest = max((len(objective.knobs) for objective in parts["objectives"]), default=1)
    basis = parts["basis"].resolved(widest, bends=parts["policy"].recommended)
    for objective in parts["objectives"]:
        d, path = basis.features(len(objective.knobs)), f"objectives.{objective.name}"
        if d > MOST_FEATURES:
            text = (
                f".knobs: {len(objective.knobs):,} knobs make {d:,} {basis.kind} features, and "
                f"{MOST_FEATURES:,} is the most; name only knobs that matter, or take a simpler "
                "basis"
            )
            faults.append(Fault(path, text, structural=False))
        if parts["policy"].recommended:
            continue
        if objective.norm is None and not basis.has_norm:
            text = f".norm: it is missing; with basis.kind = {basis.kind!r} no default is known"
            faults.append(Fault(path, text, structural=False))
