"""The files in deploy/: each is checked by a tool that knows it, or said to be untested."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from prometheus_client import CollectorRegistry

from trimtab.live import Spec
from trimtab.run.instruments import Metrics

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana" / "trimtab.json").read_text())
RULES = yaml.safe_load((DEPLOY / "prometheus" / "trimtab-alerts.yml").read_text())

# What Grafana's reference of the dashboard kind asks for, as far as this dashboard uses it.
SOURCE = {
    "type": "object",
    "properties": {"type": {"const": "prometheus"}, "uid": {"type": "string"}},
    "required": ["type", "uid"],
    "additionalProperties": False,
}
PANEL = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 1},
        "type": {"enum": ["timeseries", "stat"]},
        "title": {"type": "string", "minLength": 1},
        "description": {"type": "string"},
        "datasource": SOURCE,
        "gridPos": {
            "type": "object",
            "properties": {
                "h": {"type": "integer", "minimum": 1},
                "w": {"type": "integer", "minimum": 1, "maximum": 24},
                "x": {"type": "integer", "minimum": 0, "maximum": 23},
                "y": {"type": "integer", "minimum": 0},
            },
            "required": ["h", "w", "x", "y"],
            "additionalProperties": False,
        },
        "targets": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "refId": {"type": "string", "pattern": "^[A-Z]$"},
                    "datasource": SOURCE,
                    "expr": {"type": "string", "minLength": 1},
                    "legendFormat": {"type": "string"},
                    "range": {"type": "boolean"},
                },
                "required": ["refId", "expr"],
                "additionalProperties": False,
            },
        },
        "fieldConfig": {
            "type": "object",
            "properties": {"defaults": {"type": "object"}, "overrides": {"type": "array"}},
            "required": ["defaults", "overrides"],
        },
        "options": {"type": "object"},
    },
    "required": ["id", "type", "title", "gridPos", "targets", "fieldConfig"],
    "additionalProperties": False,
}
SCHEMA = {
    "type": "object",
    "properties": {
        "uid": {"type": "string", "pattern": "^[a-zA-Z0-9_-]{8,40}$"},
        "title": {"type": "string", "minLength": 1},
        "description": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "schemaVersion": {"type": "integer", "minimum": 36, "maximum": 65535},
        "version": {"type": "integer"},
        "editable": {"type": "boolean"},
        "graphTooltip": {"enum": [0, 1, 2]},
        "refresh": {"type": "string", "pattern": "^[0-9]+[smhd]$"},
        "timezone": {"enum": ["browser", "utc", ""]},
        "time": {"type": "object", "required": ["from", "to"]},
        "annotations": {"type": "object", "required": ["list"]},
        "templating": {
            "type": "object",
            "properties": {
                "list": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string"},
                            "type": {"enum": ["query", "datasource"]},
                            "hide": {"enum": [0, 1, 2]},
                            "refresh": {"enum": [0, 1, 2]},
                            "multi": {"type": "boolean"},
                            "includeAll": {"type": "boolean"},
                        },
                        "required": ["name", "type"],
                    },
                }
            },
            "required": ["list"],
        },
        "links": {"type": "array"},
        "panels": {"type": "array", "items": PANEL, "minItems": 1},
    },
    "required": ["uid", "title", "schemaVersion", "panels", "templating", "time"],
    "additionalProperties": False,
}


def queries() -> list[str]:
    """Every PromQL expression of the dashboard, variables filled in."""
    found = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    found += [each["expr"] for each in DASHBOARD["annotations"]["list"]]
    return [each.replace("$tuner", ".+") for each in found]


def promtool(*words: str, folder: Path) -> str:
    done = subprocess.run(
        ["promtool", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.needs("prometheus")
def test_the_alert_rules_are_valid_and_do_what_they_say() -> None:
    folder = DEPLOY / "prometheus"
    assert "10 rules found" in promtool("check", "rules", "trimtab-alerts.yml", folder=folder)
    promtool("test", "rules", "trimtab-alerts-test.yml", folder=folder)
    tests = yaml.safe_load((folder / "trimtab-alerts-test.yml").read_text())["tests"]
    tested = {each["alertname"] for test in tests for each in test["alert_rule_test"]}
    assert tested == {rule["alert"] for rule in RULES["groups"][0]["rules"]}


def test_the_dashboard_has_the_form_of_one() -> None:
    jsonschema.validate(DASHBOARD, SCHEMA)
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert at["x"] + at["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells


@pytest.mark.needs("prometheus")
def test_every_query_of_the_dashboard_can_be_read(tmp_path: Path) -> None:
    rules = [{"record": f"a{i}", "expr": query} for i, query in enumerate(queries())]
    (tmp_path / "a.yml").write_text(yaml.safe_dump({"groups": [{"name": "a", "rules": rules}]}))
    promtool("check", "rules", "a.yml", folder=tmp_path)


def test_every_metric_that_is_used_exists() -> None:
    registry = CollectorRegistry()
    Metrics(registry)
    served = {
        name
        for family in registry.collect()
        for name in (family.name, f"{family.name}_total")
        if family.type == "counter" or not name.endswith("_total")
    }
    expressions = queries() + [rule["expr"] for rule in RULES["groups"][0]["rules"]]
    used = {name for each in expressions for name in re.findall(r"trimtab_\w+", each)}
    assert len(used) >= 12
    assert used <= served
    page = (DEPLOY.parent / "docs" / "run.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`(trimtab_\w+)`", page))
    counters = {f"{family.name}_total" for family in registry.collect() if family.type == "counter"}
    gauges = {family.name for family in registry.collect() if family.type == "gauge"}
    assert documented == counters | gauges


@pytest.mark.needs("systemd")
def test_the_units_are_valid(tmp_path: Path) -> None:
    for name in ("trimtab@.service", "trimtab-once@.service", "trimtab-once@.timer"):
        shutil.copy(DEPLOY / "systemd" / name, tmp_path)
    for unit in ("trimtab@search.service", "trimtab-once@search.timer"):
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(tmp_path / unit)],
            capture_output=True,
            text=True,
            check=False,
        )
        complaints = [line for line in done.stderr.splitlines() if str(tmp_path) in line]
        assert done.returncode == 0, done.stderr
        assert complaints == []


def test_the_manifest_is_valid_by_the_schemas_of_kubernetes() -> None:
    import kubernetes_validate

    known = kubernetes_validate.latest_version()
    for resource in yaml.safe_load_all((DEPLOY / "kubernetes" / "trimtab.yaml").read_text()):
        kubernetes_validate.validate(resource, known, strict=True)
        resource["spc"] = {}
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(resource, known, strict=True)


def test_the_dockerfile_has_no_fault_that_hadolint_knows() -> None:
    program = Path(sys.executable).with_name("hadolint")
    done = subprocess.run(
        [program, DEPLOY / "container" / "Dockerfile"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_manifest_has_a_valid_spec() -> None:
    text = (DEPLOY / "kubernetes" / "trimtab.yaml").read_text()
    config, deployment = yaml.safe_load_all(text)
    spec = Spec.parse(config["data"]["spec.toml"])
    assert spec.source is not None
    assert spec.target is not None
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["args"][0] == "run"
    (volume,) = [each for each in container["volumeMounts"] if each["name"] == "spec"]
    assert container["args"][1] == f"{volume['mountPath']}/spec.toml"


def test_the_command_of_cron_runs(tmp_path: Path) -> None:
    (line,) = [
        line
        for line in (DEPLOY / "cron" / "trimtab").read_text().splitlines()
        if line.startswith("*/5")
    ]
    command = line.split(maxsplit=6)[6]
    program = Path(sys.executable).with_name("trimtab")
    (tmp_path / "search.toml").write_text(f"""
name = "search"
storage = "sqlite:///{tmp_path / "a.db"}"
[knobs.ttl]
low = 1
high = 9
start = 5
[objectives.latency]
knobs = ["ttl"]
low = 0
high = 1
[source]
kind = "command"
command = ["echo", '{{"latency": 0.5}}']
[target]
kind = "file"
path = "{tmp_path / "knobs.json"}"
""")
    for old, new in (
        ("/run/lock/trimtab-search", str(tmp_path / "lock")),
        (" trimtab run", f" {program} run"),
        ("/etc/trimtab", str(tmp_path)),
        ("/var/log/trimtab", str(tmp_path)),
    ):
        assert old in command
        command = command.replace(old, new)
    done = subprocess.run(["sh", "-c", command], check=False)
    assert done.returncode == 0
    assert json.loads((tmp_path / "knobs.json").read_text()) == {"ttl": 5.0}
    lines = [json.loads(each) for each in (tmp_path / "search.log").read_text().splitlines()]
    assert [each["event"] for each in lines] == ["began", "decided", "applied"]


def test_what_is_untested_says_so() -> None:
    page = (DEPLOY.parent / "docs" / "deploy.md").read_text(encoding="utf-8")
    assert "never built" in page
    named = set(re.findall(r"\]\(\.\./deploy/([^)]+)\)", page))
    files = {p.relative_to(DEPLOY).as_posix() for p in DEPLOY.rglob("*") if p.is_file()}
    assert files - named <= {"systemd/trimtab-once@.service"}  # the timer's
    assert named <= files
