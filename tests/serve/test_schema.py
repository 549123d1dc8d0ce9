"""The document against the service: schemathesis sends what it allows, and what it does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode

from tests.serve.services import Running, running
from trimtab.serve.app import document_of

load_all_checks()
EXAMPLES = 8  # of each operation, that the document allows, and as many that it does not
WANTED = CHECKS.get_by_names(
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
    ]
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(str(tmp_path_factory.mktemp("schema") / "a.db"), most_tokens=10**6) as found:
        found.begin()
        found.post("/api/v1/tuners/shop/ask", {})
        yield found


@pytest.mark.slow
def test_no_request_leads_to_a_server_error(served: Running) -> None:
    plain = document_of(served.app)
    paths = {path: item for path, item in plain["paths"].items() if not path.endswith("/events")}
    schema = schemathesis.openapi.from_dict(plain | {"paths": paths})  # streams have no end
    headers = {"authorization": f"Bearer {served.token('admin')}"}
    tried = 0
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        modes = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
        for mode in modes:

            @given(case=operation.as_strategy(generation_mode=mode))
            @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
            def send(case: Any) -> None:
                if "name" in (case.path_parameters or {}):
                    case.path_parameters["name"] = "shop"  # else most answers are 404
                url = str(served.http.base_url)
                case.call_and_validate(base_url=url, headers=headers, checks=WANTED, timeout=30)

            try:
                send()
            except Unsatisfiable:  # nothing about this operation can be wrong
                continue
            tried += 1
    assert tried > 2 * len(paths) - 12
