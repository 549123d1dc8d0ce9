"""The wheel alone, in an empty environment away from the checkout, is a working trimtab."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq")


def run(*command: str | Path, cwd: Path) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    child = subprocess.run(
        command,
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert child.returncode == 0, f"{command}\n{child.stdout}\n{child.stderr}"
    return child.stdout


def locked_versions() -> str:
    """The lock as plain constraints: with its hashes pip would want one for our wheel too."""
    lines = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8").splitlines()
    return "\n".join(line.removesuffix(" \\") for line in lines if "==" in line.split("#")[0])


def test_wheel_in_an_empty_environment(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", wheels, ROOT, cwd=tmp_path)
    (wheel,) = wheels.iterdir()
    with ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "trimtab/py.typed" in names
    assert "trimtab/live/spec/example.toml" in names
    assert "trimtab/live/spec/spec.schema.json" in names
    assert "trimtab/live/schemas/status.schema.json" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert not [name for name in names if name.endswith((".pyc", ".hpp", ".cpp"))]
    assert [name for name in names if name.startswith("trimtab/_core.") and name.endswith(".so")]
    assert wheel.stat().st_size <= 2 * 2**20

    (tmp_path / "constraints.txt").write_text(locked_versions(), encoding="utf-8")
    venv.create(tmp_path / "env", symlinks=True)
    bin_ = tmp_path / "env" / "bin"
    pip = (*PIP, "--python", bin_ / "python")
    run(*pip, "install", "--no-compile", "-c", "constraints.txt", wheel, cwd=tmp_path)

    where = run(bin_ / "python", "-c", "import trimtab; print(trimtab.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(tmp_path / "env")
    assert "demo" in run(bin_ / "trimtab", "--help", cwd=tmp_path)
    assert run(bin_ / "trimtab", "demo", "--rounds", "50", cwd=tmp_path).strip()
