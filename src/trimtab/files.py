"""Policies in files: one file each, checked by a digest, written whole or not at all.

The file is a line that names the format, a line with the SHA-256 digest of the rest,
and a NumPy archive of plain arrays. Nothing in it is ever executed.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.errors import InvalidInput
from trimtab.policies import Policy, restore
from trimtab.problem import Problem

MAGIC = b"trimtab snapshot\n"


def save(policy: Policy, path: str | os.PathLike[str]) -> None:
    """Write the policy to a file; what was there before is replaced only when all is written.

    >>> import tempfile, pathlib, trimtab as tt
    >>> problem = tt.Problem(tt.Graph.complete(2))
    >>> policy = tt.LazyGraphLinUCB(problem, start=[0.5, 0.5], radius=0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tt.save(policy, pathlib.Path(folder) / "policy.trimtab")
    ...     again = tt.load(problem, pathlib.Path(folder) / "policy.trimtab")
    >>> again.ask().tolist() == policy.ask().tolist()
    True
    """
    content = io.BytesIO()
    arrays: dict[str, Any] = {name: np.asarray(x) for name, x in policy.snapshot().items()}
    np.savez(content, allow_pickle=False, **arrays)
    body = content.getvalue()
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.draft")
    try:
        with draft.open("wb") as file:
            file.write(MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def load(problem: Problem, path: str | os.PathLike[str]) -> Policy:
    """The policy that was saved to the file; it has the same future, bit for bit.

    Raises:
        InvalidInput: no such file, no snapshot, a damaged one, or one that `restore` refuses.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None
    if not content.startswith(MAGIC):
        raise InvalidInput(f"{path} is not a trimtab snapshot")
    digest, _, body = content[len(MAGIC) :].partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise InvalidInput(f"{path} is truncated or damaged: its digest does not match")
    try:
        with np.load(io.BytesIO(body), allow_pickle=False) as archive:
            snapshot = {name: _plain(archive[name]) for name in archive.files}
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise InvalidInput(f"{path} holds no plain arrays: {error}") from None
    return restore(problem, snapshot)


def _plain(array: Any) -> Any:
    """Scalars as scalars, everything else as it is."""
    return array.item() if array.ndim == 0 else array
