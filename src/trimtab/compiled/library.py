"""How numba builds kernels here: each piece of code is optimised once, where Python calls it.

Numba makes machine code of every kernel, and optimises again what a kernel calls as part of
it, level after level. Here a kernel that others call is a *part*: it is kept as it was
written. Only a *whole*, which Python calls, takes in its parts and theirs, and is optimised.
docs/decisions/0013 has the figures.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar

import numba
from numba import _dynfunc
from numba.core import typed_passes as typed
from numba.core import untyped_passes as untyped
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import PassManager
from numba.core.targetconfig import ConfigStack
from numba.core.types.functions import BaseFunction

# What it takes to compile a bare kernel. Numba has twice as many steps, for closures, generators,
# arrays as operands and the like, none of which a kernel has that makes no arrays.
STEPS = (
    untyped.TranslateByteCode,
    untyped.FixupArgs,
    untyped.IRProcessing,
    untyped.ReconstructSSA,
    typed.NopythonTypeInference,
    typed.PreLowerStripPhis,
    typed.NoPythonSupportedFeatureValidation,
    typed.IRLegalization,
    typed.AnnotateTypes,
    typed.NativeLowering,
    typed.NoPythonBackend,
)


class _Library(JITCodeLibrary):  # type: ignore[misc]
    def _optimize_functions(self, module: Any) -> None:
        """Leave the code as it is; the whole is optimised."""
        module.data_layout = self._codegen._data_layout


class PartLibrary(_Library):
    """The code of a part: never run by itself."""

    def finalize(self) -> None:
        """Take no more code."""
        self._raise_if_finalized()
        self._finalized = True


class WholeLibrary(_Library):
    """The code of a whole: its own and that of its parts."""

    def finalize(self) -> None:
        """Take in what the parts need, optimise and make machine code."""
        self._linking_libraries[:] = _reached(self._linking_libraries)
        super().finalize()


def _reached(libraries: list[Any]) -> dict[Any, None]:
    """These libraries and all that their parts need, in order of appearance."""
    found: dict[Any, None] = {}
    ahead = libraries[::-1]
    while ahead:
        library = ahead.pop()
        if library not in found:
            found[library] = None
            if isinstance(library, PartLibrary):
                ahead += library._linking_libraries[::-1]
    return found


class _Settings(Flags):  # type: ignore[misc]
    """Numba's settings of a compilation, of which equal ones are the same object.

    Numba looks up every operator under the settings of the moment, and compares those one by one.
    """

    __slots__ = ()
    known: ClassVar[dict[str, _Settings]] = {}

    def copy(self) -> _Settings:
        """The one object with these settings, which nobody changes."""
        return self.known.setdefault(self.summary(), _Settings(self))

    __eq__ = Flags.__eq__

    def __hash__(self) -> int:
        return 0  # those of Flags are all equal, too, and take longer


class _Compiler(Compiler):  # type: ignore[misc]
    library: type[JITCodeLibrary]

    def __init__(self, *parts: Any) -> None:
        """The usual compiler, with its settings replaced."""
        super().__init__(*parts)
        self.state.flags = _Settings(self.state.flags)

    def define_pipelines(self) -> Any:
        state = self.state
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        state.flags.no_cfunc_wrapper = True
        if state.flags.nrt:
            return super().define_pipelines()
        manager = PassManager("bare")
        for step in STEPS:
            manager.add_pass(step, step.__name__)
        manager.finalize()
        return [manager]

    def compile_extra(self, kernel: Callable[..., Any]) -> Any:
        """Compile with the collector of garbage off: numba makes much that lives on."""
        collecting = gc.isenabled()
        gc.disable()
        try:
            with _calls_remembered():
                return super().compile_extra(kernel)
        finally:
            if collecting:
                gc.enable()


_find_call: Any = BaseFunction.get_call_type
_calls: dict[Any, tuple[Any, Any]] = {}


def _known_call(function: Any, context: Any, args: Any, kws: dict[str, Any]) -> Any:
    """The signature of a call of what numba knows by itself, looked for once under each settings.

    Numba tries all definitions of an operator at every place where it stands.
    """
    key = function, args, tuple(kws.items()), ConfigStack.top_or_none()
    if key not in _calls:
        signature = _find_call(function, context, args, kws)
        _calls[key] = signature, function._impl_keys[signature.args]
    signature, function._impl_keys[signature.args] = _calls[key]
    return signature


@contextmanager
def _calls_remembered() -> Iterator[None]:
    """While our own kernels compile, calls are looked for once."""
    before: Any = BaseFunction.get_call_type
    BaseFunction.get_call_type = _known_call  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        BaseFunction.get_call_type = before  # type: ignore[method-assign]


class WholeCompiler(_Compiler):
    """Compiles what Python calls."""

    library = WholeLibrary


class PartCompiler(_Compiler):
    """Compiles what other kernels call."""

    library = PartLibrary

    def define_pipelines(self) -> Any:
        """The same steps, without asking for machine code."""
        flags = self.state.flags
        flags.no_compile = flags.no_cpython_wrapper = True
        return super().define_pipelines()

    def compile_extra(self, kernel: Callable[..., Any]) -> Any:
        """The part, with a door for Python that is shut: a call from there is a TypeError."""
        part = super().compile_extra(kernel)
        door = _shut_door()
        address = door.library.get_pointer_to_function(door.fndesc.llvm_cpython_wrapper_name)
        entry = _dynfunc.make_function(
            part.fndesc.lookup_module(),
            kernel.__name__,
            "only kernels call this",
            address,
            part.environment,
            (door.library,),
        )
        part.target_context.insert_user_function(entry, part.fndesc, [part.library])
        return part._replace(entry_point=entry)


@cache
def _shut_door() -> Any:
    """A compiled function without arguments, which refuses the arguments of any other."""

    def takes_nothing() -> int:
        return 0

    function = numba.njit(_nrt=False)(takes_nothing)
    function.compile(())
    return function.overloads[()]
