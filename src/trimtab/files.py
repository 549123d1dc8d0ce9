"""Policies in files: one file each, checked by a digest, written whole or not at all.

The file is a line that names the format, a line with the SHA-256 digest of the rest,
and a NumPy archive of plain arrays. Nothing in it is ever executed.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import zipfile
from pathlib import Path
from typing import Any, overload

import numpy as np

from trimtab.errors import InvalidInput, TrimtabError
from trimtab.model.domain import BoundConvexDomain, ConvexDomain
from trimtab.model.problem import Problem
from trimtab.policies import GradientPolicy, Policy, restore

MAGIC = b"trimtab snapshot\n"
DIGITS = ":digits"  # ends the name of a whole number that no array type can hold


def save(policy: Policy | GradientPolicy, path: str | os.PathLike[str]) -> None:
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
    arrays: dict[str, Any] = dict(_array(name, x) for name, x in policy.snapshot().items())
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


@overload
def load(problem: Problem, path: str | os.PathLike[str]) -> Policy: ...
@overload
def load(
    problem: ConvexDomain | BoundConvexDomain, path: str | os.PathLike[str]
) -> GradientPolicy: ...
def load(
    problem: Problem | ConvexDomain | BoundConvexDomain, path: str | os.PathLike[str]
) -> Policy | GradientPolicy:
    """The policy that was saved to the file; it has the same future, bit for bit.

    A gradient policy, such as `LazyOGD`, was made for a domain: give that instead of a problem.

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
    # Whoever forges a digest can write anything: whatever that leads to is one kind of error.
    try:
        _refuse_large(body)
        with np.load(io.BytesIO(body), allow_pickle=False) as archive:
            snapshot = dict(_plain(name, archive[name]) for name in archive.files)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
    except Exception as error:
        raise InvalidInput(f"{path} holds no plain arrays: {_said(error)}") from None
    try:
        return restore(problem, snapshot)
    except TrimtabError:
        raise
    except Exception as error:
        raise InvalidInput(f"{path} is no snapshot of this problem: {_said(error)}") from None


def _refuse_large(body: bytes) -> None:
    """Refuse an archive that says it unpacks to far more than it is, or whose arrays say so."""
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        for entry in archive.infolist():
            if entry.file_size > len(body) or entry.compress_type != zipfile.ZIP_STORED:
                raise InvalidInput(f"{entry.filename!r} is packed, or unpacks to too many bytes")
            with archive.open(entry) as file:
                version = np.lib.format.read_magic(file)
                read = {(1, 0): np.lib.format.read_array_header_1_0}.get(
                    version, np.lib.format.read_array_header_2_0
                )
                shape, _, kind = read(file)
            if math.prod(shape) * kind.itemsize > entry.file_size:
                raise InvalidInput(f"{entry.filename!r} says it has {shape} entries")


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]


def _array(name: str, value: Any) -> tuple[str, Any]:
    """An entry of the file: the value as an array, or as the digits of a very large number."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return name + DIGITS, np.asarray(str(value))
    return name, np.asarray(value)


def _plain(name: str, array: Any) -> tuple[str, Any]:
    """An entry of the snapshot: scalars as scalars, everything else as it is."""
    if name.endswith(DIGITS):
        return name.removesuffix(DIGITS), int(array.item())
    return name, array.item() if array.ndim == 0 else array
