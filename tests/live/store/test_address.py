"""A password is shown nowhere: not in events, exports, errors, logs, JSON or tracebacks."""

from __future__ import annotations

import json
import logging
import secrets
import traceback
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import trimtab as tt
from tests.live.tuners import Clock, spec_with
from trimtab.cli import app
from trimtab.errors import InvalidInput, TrimtabError
from trimtab.live import Spec
from trimtab.live.store.address import address_of, without_password
from trimtab.live.store.opening import open_journal

AWKWARD = "/?#%:@["


@given(st.text(st.sampled_from("ab1" + AWKWARD), min_size=1, max_size=12), st.booleans())
def test_awkward_passwords_are_taken_as_they_are(password: str, driver: bool) -> None:
    """But for valid escapes, and for what a URL could mean as well: a query, or a host."""
    scheme = "postgresql+psycopg" if driver else "postgres"
    address = address_of(f"{scheme}://me:x{password}x@db.example:5433/tuning")
    assert address.shown == "postgresql://me@db.example:5433/tuning"
    if "%" not in password:
        assert address.options["password"] == f"x{password}x"
    assert address.options["host"] == "db.example"
    assert password not in repr(address) or password in address.shown


def test_a_variable_holds_any_password(monkeypatch: pytest.MonkeyPatch) -> None:
    password = f"p%40{AWKWARD}${{X}} '\"\\"
    monkeypatch.setenv("TUNING_PASSWORD", password)
    monkeypatch.setenv("TUNING_URL", "postgresql://me:pa/ss@host/db")
    given = address_of("postgresql://me:${TUNING_PASSWORD}@host/db?passfile=/run/pass")
    assert given.options["password"] == password
    assert given.options["passfile"] == "/run/pass"
    assert address_of("${TUNING_URL}").options["password"] == "pa/ss"
    with pytest.raises(InvalidInput, match="the environment variable NOWHERE is not set"):
        address_of("postgresql://me:${NOWHERE}@host/db")


@pytest.mark.parametrize("scheme", ["mysql", "postgresqll", "mongodb+srv", "sqlite"])
def test_other_schemes_are_refused_without_the_password(scheme: str) -> None:
    with pytest.raises(InvalidInput, match="no place for a journal") as refused:
        open_journal(f"{scheme}://me:s3/cr?et@host/db")
    assert "et@host" not in str(refused.value)
    assert without_password("no url") == "no url"


@pytest.mark.parametrize("password", [*AWKWARD, " ", "\n", "'", "\\", "&x=", "://", "{", "$", "é"])
@pytest.mark.parametrize(
    "url",
    [
        "postgresql:/me:{}@host/db",
        "postgresql:me:{}@host",
        "POSTGRESQL://me:{}@host/db",
        "//me:{}@host/db",
        "host=db user=me password={}",
        "postgresql://me:{}/",
        "mysql://me:{}@host/db",
    ],
)
def test_what_is_nearly_a_url_becomes_no_file_and_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, password: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if "{}/" in url and password in "@":
        return  # that is a host
    wrong = url.format(f"s3cr{password}3t")
    with pytest.raises(InvalidInput) as refused:
        open_journal(wrong)
    assert "s3cr" not in str(refused.value)
    assert not list(tmp_path.iterdir())
    for text in (
        f"storage = [{json.dumps(wrong)}]",
        f'[source]\nkind = "sql"\nurl = {json.dumps(wrong)}',
        f'[target]\nkind = "redis"\nurl = {json.dumps(wrong)}',
    ):
        with pytest.raises(InvalidInput) as refused:
            Spec.parse(text)
        assert "@" not in wrong or "s3cr" not in str(refused.value)


def test_a_path_with_any_signs_can_be_said(tmp_path: Path) -> None:
    address = address_of(f"sqlite:///{tmp_path}/10:30@noon.db")
    assert address.path == tmp_path / "10:30@noon.db"


def test_a_spec_does_not_show_its_storage() -> None:
    plain = spec_with().to_dict() | {"storage": "ftp://me:s3cret@host/db"}
    with pytest.raises(InvalidInput, match="storage: give a URL") as refused:
        Spec.from_dict(plain)
    assert "s3cret" not in str(refused.value)
    spec = Spec.from_dict(plain | {"storage": "postgresql://me:s3cret@host/db"})
    assert "s3cret" not in repr(spec)


@pytest.mark.needs("postgresql")
def test_a_password_is_in_no_byte_that_is_written_or_printed(
    postgres_url: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    password = f"pw{secrets.token_hex(6)}{AWKWARD}"
    caplog.set_level(logging.DEBUG)
    url = postgres_url.replace("postgres@", f"postgres:{password}@")
    mark = password[2:14]
    seen: list[Any] = []
    spec = Spec.from_dict(spec_with().to_dict() | {"storage": url})
    with tt.Tuner(spec, clock=Clock()) as tuner:  # the server trusts everybody
        decision = tuner.ask()
        tuner.tell(decision.id, {"latency": 90.0})
        seen += [tuner.status().to_dict(), tuner.explain(decision.id).to_dict(), repr(spec)]
        seen += [tuner._projection.content(), repr(vars(tuner)), repr(vars(tuner._journal))]
        seen += [event.line() for event in tuner._journal.events("shop")]
    file = tmp_path / "spec.toml"
    file.write_text(_toml(spec), encoding="utf-8")
    file.chmod(0o600)
    run = CliRunner()
    for command in ("check", "export", "upgrade"):
        seen.append(run.invoke(app, ["storage", command, url]).output)
    for words in (["status"], ["history", "--json"], ["explain", "last"]):
        seen.append(run.invoke(app, [words[0], str(file), *words[1:]]).output)
    for broken in (
        url.replace("host=", "host=/nowhere"),
        url.replace("postgres?", "nobody?"),
        url.replace("postgresql", "mysql"),
        url + "&nonsense=1",
    ):
        try:
            open_journal(broken, timeout=2).close()
        except TrimtabError as error:
            seen += [str(error), "".join(traceback.format_exception(error)), repr(error)]
    out = capfd.readouterr()
    everything = json.dumps([str(each) for each in seen]) + out.out + out.err + caplog.text
    assert mark not in everything
    assert len(everything) > 3000


def _toml(spec: Spec) -> str:
    """A spec file with the storage of this one."""
    from trimtab.live.spec.spec import example

    text = example()
    lines = [line for line in text.splitlines() if not line.startswith("storage")]
    return f"storage = {json.dumps(spec.storage)}\n" + "\n".join(lines)


def test_what_is_made_belongs_to_its_owner(tmp_path: Path) -> None:
    clock = Clock()
    with tt.Tuner(spec_with(), storage=str(tmp_path / "a.db"), clock=clock) as tuner:
        tuner.ask()
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    assert set(modes) == {"a.db", "a.db-wal", "a.db-shm", "a.db-lock", "a.db-queue"}
    assert set(modes.values()) == {0o600}


@pytest.mark.parametrize("name", ["a.db", "a.db-lock", "a.db-queue", "a.db-wal"])
def test_links_are_not_followed(tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / name).symlink_to(victim)
    with pytest.raises(InvalidInput, match="is a symbolic link; give the path of the file itself"):
        open_journal(tmp_path / "a.db")
    assert victim.read_bytes() == b"precious"
