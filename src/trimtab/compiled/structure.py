"""Many arrays under names, handed to a kernel as one pointer.

A tuple of arrays costs a kernel seven values for each of them, at every call and in every
function on the way, and most of the time it takes to compile goes there. A `Structure` is a
frozen dataclass of arrays, whole numbers, floats and other structures which lays out a table
of where its parts are, in order of the fields,

    array of n axes      address, n lengths
    int, float           the number
    structure            its own table, in place

and goes in as the address of that table. In the kernel an attribute is a look at the table.
Arrays may be written to there, read-only or not: that a kernel leaves alone what is not its
own is between the two. Kernels never count references to what is in a structure, so it must
outlive the call, and nothing in it may be returned.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import as_dtype, from_dtype

from trimtab.errors import InvalidInput

WORD = ir.IntType(64)
Shape = Any  # of a field: its type; of an array its dtype and number of axes


class Structure:
    """Base of the dataclasses that kernels take by address; see the module."""

    def __post_init__(self) -> None:
        kind: type = type(self)
        table: list[int] = []
        shapes: list[Shape] = []
        for name in _names(kind):
            shape, words = _laid_out(getattr(self, name), kind, name)
            shapes.append(shape)
            table += words
        words_ = np.array(table, np.int64)
        object.__setattr__(self, "_table", words_)
        object.__setattr__(self, "_address", words_.ctypes.data)
        object.__setattr__(self, "_numba_type_", _type_of(kind, tuple(shapes)))


class Place(NamedTuple):
    """Where in the table a field is, and what it is."""

    at: int
    kind: types.Type


class StructureType(types.Type):
    """The type of a structure in kernels: its name, and what is where in its table."""

    def __init__(self, name: str, places: dict[str, Place]) -> None:
        self.places = places
        described = ", ".join(f"{field}@{at}: {kind}" for field, (at, kind) in places.items())
        super().__init__(name=f"{name}({described})")
        self.words = sum(_words(place.kind) for place in places.values())


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


@cache  # numba takes longer over a type than a small kernel runs
def _type_of(kind: type, shapes: tuple[Shape, ...]) -> StructureType:
    """The type of structures of this kind whose fields have these shapes."""
    places: dict[str, Place] = {}
    at = 0
    for name, shape in zip(_names(kind), shapes, strict=True):
        if isinstance(shape, tuple):
            part = types.Array(from_dtype(shape[0]), shape[1], "C")
        else:
            part = shape
        places[name] = Place(at, part)
        at += _words(part)
    return StructureType(kind.__qualname__, places)


def _words(kind: types.Type) -> int:
    """How many words of a table such a part takes."""
    if isinstance(kind, StructureType):
        return kind.words
    return 1 + kind.ndim if isinstance(kind, types.Array) else 1


def _laid_out(value: Any, kind: type, name: str) -> tuple[Shape, list[int]]:
    """The shape of a field and its words in the table."""
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise InvalidInput(
                f"{kind.__name__}.{name} is not contiguous; kernels need np.ascontiguousarray of it"
            )
        return (value.dtype, value.ndim), [value.__array_interface__["data"][0], *value.shape]
    if isinstance(value, Structure):
        return value._numba_type_, value._table.tolist()  # type: ignore[attr-defined]
    if isinstance(value, (int, np.integer)):
        return types.int64, [int(value)]
    if isinstance(value, (float, np.floating)):
        return types.float64, [int(np.float64(value).view(np.int64))]
    raise InvalidInput(
        f"{kind.__name__}.{name} is a {type(value).__name__}; structures hold arrays and numbers"
    )


@typeof_impl.register(Structure)
def _typeof(value: Any, context: object) -> types.Type:
    kind: types.Type = value._numba_type_
    return kind


@register_model(StructureType)
class _StructureModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: StructureType) -> None:
        super().__init__(manager, kind, WORD.as_pointer())


@unbox(StructureType)
def _unbox(kind: StructureType, value: Any, c: Any) -> NativeValue:
    address = c.pyapi.object_getattr_string(value, "_address")
    number = c.pyapi.long_as_longlong(address)
    c.pyapi.decref(address)
    return NativeValue(c.builder.inttoptr(number, WORD.as_pointer()))


@infer_getattr
class _StructureAttributes(AttributeTemplate):
    key = StructureType

    def generic_resolve(self, kind: StructureType, name: str) -> types.Type | None:
        place = kind.places.get(name)
        return None if place is None else place.kind


@cache
def _size(kind: types.Array) -> int:
    """The bytes of an entry; numba's own way makes a module of code each time."""
    return as_dtype(kind.dtype).itemsize


@lower_getattr_generic(StructureType)
def _getattr(context: Any, builder: Any, kind: StructureType, table: Any, name: str) -> Any:
    at, part = kind.places[name]

    def word(n: int) -> Any:
        load = builder.load(builder.gep(table, [WORD(at + n)]))
        load.set_metadata("invariant.load", builder.module.add_metadata([]))
        return load

    if isinstance(part, StructureType):
        return builder.gep(table, [WORD(at)])
    if part == types.int64:
        return word(0)
    if part == types.float64:
        return builder.bitcast(word(0), ir.DoubleType())
    array = make_array(part)(context, builder)
    size = _size(part)
    shape = [word(1 + n) for n in range(part.ndim)]
    strides = [WORD(size)]
    for length in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], length))
    populate_array(
        array,
        data=builder.inttoptr(word(0), array.data.type),
        shape=cgutils.pack_array(builder, shape),
        strides=cgutils.pack_array(builder, strides),
        itemsize=WORD(size),
        meminfo=None,
    )
    return array._getvalue()
