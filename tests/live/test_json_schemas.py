"""What the command line prints as JSON is what its published schemas say, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from typer.testing import CliRunner

import trimtab as tt
from tests.live.tuners import SPEC, Clock, play, world
from trimtab.cli import app

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "src" / "trimtab" / "live" / "schemas"
NAMES = ["decision", "doctor", "explain", "history", "status"]


def published(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))


def strict(schema: Any) -> Any:
    """The same schema, but a field that it does not name is refused."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: strict(each) for key, each in schema.items()}
    return {"additionalProperties": False} | found if "properties" in schema else found


def printed(name: str, *command: str, code: int = 0) -> Any:
    """What a command prints, checked."""
    result = CliRunner().invoke(app, [*command, "--json"])
    assert result.exit_code == code, (result.output, result.exception)
    plain = json.loads(result.stdout)
    assert plain["schema"] == f"trimtab.{name}/1"
    jsonschema.validate(plain, strict(published(name)))
    return plain


@pytest.fixture
def spec(tmp_path: Path) -> str:
    """A tuner that learns, with a journal beside its spec."""
    path = tmp_path / "shop.toml"
    text = f'storage = "sqlite:///{tmp_path / "a.db"}"\n' + SPEC.partition("[policy]")[0]
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_every_schema_is_valid_and_listed() -> None:
    assert sorted(path.name for path in SCHEMAS.iterdir()) == [f"{x}.schema.json" for x in NAMES]
    docs = (ROOT / "docs" / "tuner.md").read_text(encoding="utf-8")
    for name in NAMES:
        schema = published(name)
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["properties"]["schema"] == {"const": f"trimtab.{name}/1"}
        assert f"{name}.schema.json" in docs
        assert f"trimtab.{name}/1" in docs


def test_a_new_tuner(spec: str) -> None:
    assert printed("decision", "ask", spec)["round"] == 1
    assert printed("status", "status", spec)["helping"] is None
    why = printed("explain", "explain", spec)
    assert (why["look"], why["helping"]) == (None, None)
    assert "is it helping" not in why["text"]
    assert len(printed("history", "history", spec)["rows"]) == 2


def test_a_tuner_with_a_past(spec: str) -> None:
    clock = Clock()
    with tt.Tuner(spec, clock=clock) as tuner:
        made = play(tuner, clock, 40)
        tuner.tell(made[3].id, {"sales": None}, correct=True)
        status = tuner.status()
        assert status.helping is not None
        assert tuner.explain("last").helping == status.helping
        assert f"  is it helping now? {status.helping}" in str(tuner.explain(made[0].id))
        for _ in range(3):  # a guardrail breaks
            bad = tuner.ask(actor="ana")
            told = world(bad.values, np.random.default_rng(1)) | {"errors": 99.0}
            tuner.tell(bad.id, told)
        clock.wait(minutes=30)
        tuner.ask("web")
    for decision in ("last", made[0].id, made[3].id, next(x.id for x in made if x.changed)):
        assert printed("explain", "explain", spec, decision)["helping"] is not None
    rows = printed("history", "history", spec, "--all")["rows"]
    assert any(row["look"] for row in rows)
    assert printed("status", "status", spec)["noise"]
    printed("status", "pause", spec)
    printed("decision", "ask", spec, "--shadow")


@pytest.mark.usefixtures("brief")
def test_a_doctor_of_a_good_spec_and_of_a_bad_one(tmp_path: Path) -> None:
    path = tmp_path / "shop.toml"
    path.write_text(SPEC, encoding="utf-8")
    assert printed("doctor", "doctor", str(path), "--offline", "--horizon", "200")["valid"]
    path.write_text(SPEC.replace("low = 30", "low = 30000"), encoding="utf-8")
    assert not printed("doctor", "doctor", str(path), code=2)["valid"]
