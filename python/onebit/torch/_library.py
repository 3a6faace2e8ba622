"""Loads the library of the codecs, and wraps its C interface (python/capi/onebit_codecs.h)."""
from __future__ import annotations

import ctypes
import functools
import os
import pathlib
from ctypes import POINTER, c_char_p, c_double, c_float, c_int, c_int64, c_void_p
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from onebit import _program
from onebit._program import OnebitError, _has_x86_64_v3, parse_error

VERSION = 1
NAME = "libonebit_codecs.so"
OLDER = "libonebit_codecs-x86-64-v2.so"  # a wheel has it for CPUs without x86-64-v3
PAYLOAD = 0  # the kind of exchange that the traffic counts

_PACKAGE = pathlib.Path(__file__).resolve().parent.parent
Array = npt.NDArray[Any]
Exchange = Callable[[int, Any, List[int], Any, List[int]], None]


class _Error(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * 1024)]


_EXCHANGE = ctypes.CFUNCTYPE(c_int, c_void_p, c_int, c_void_p, POINTER(c_int64), c_void_p, POINTER(c_int64))
_TAKE = ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p, c_char_p, c_void_p, c_int64)
_GIVE = ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p, c_char_p, POINTER(c_void_p), POINTER(c_int64))


class _Ranks(ctypes.Structure):
    _fields_ = [("rank", c_int64), ("size", c_int64), ("exchange", _EXCHANGE), ("context", c_void_p)]


class _Tensor(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("size", c_int64), ("rows", c_int64)]


class _Option(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class _Problem(ctypes.Structure):
    _fields_ = [("ranks", _Ranks), ("tensors", POINTER(_Tensor)), ("tensor_count", c_int64),
                ("options", POINTER(_Option)), ("option_count", c_int64), ("steps", c_int64), ("warmup", c_int64),
                ("threads", c_int)]


class _Report(ctypes.Structure):
    _fields_ = [("bytes_up", c_double), ("bytes_down", c_double), ("messages", c_int64), ("phase", c_char_p),
                ("events", c_char_p)]


class Report(NamedTuple):
    """What a step sent, counted as in a log's columns of the same names, and the step's phase and events."""
    bytes_up: float
    bytes_down: float
    messages: int
    phase: str
    events: List[str]


def find() -> str:
    """Returns the path of the library: $ONEBIT_CODECS, otherwise the one in the package, otherwise the one that was
    installed with the program."""
    named = os.environ.get("ONEBIT_CODECS")
    if named:
        if not os.path.isfile(named):
            raise OnebitError("the library of the codecs was not found", f"ONEBIT_CODECS={named}",
                              f"set it to the path of {NAME}, or unset it")
        return os.path.abspath(named)
    for folder in (_PACKAGE, _PACKAGE / "program/lib/onebit", _PACKAGE / "program/lib64/onebit"):
        library, older = folder / NAME, folder / OLDER
        if library.is_file():
            return str(older if older.is_file() and not _has_x86_64_v3() else library)
    installed = _installed()
    if installed is not None:
        return installed
    raise OnebitError("the library of the codecs was not found", f"{NAME} in {_PACKAGE}",
                      "install the package's wheel, or set ONEBIT_CODECS to the path of the library")


def _installed() -> Optional[str]:
    """Returns the path of the library next to the program, as 'cmake --install' or a build places both."""
    try:
        program = pathlib.Path(_program.find()).resolve()
    except OnebitError:
        return None
    places = (program.parent.parent / "lib/onebit" / NAME, program.parent.parent / "lib64/onebit" / NAME,
              program.parent.parent / "python" / NAME)
    return next((str(place) for place in places if place.is_file()), None)


@functools.lru_cache(maxsize=None)
def _load(path: str) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(path)
        version = int(library.onebit_codecs_version())
    except (OSError, AttributeError) as error:
        raise OnebitError("the library of the codecs cannot be loaded", f"{path}: {error}") from None
    if version != VERSION:
        raise OnebitError("the library of the codecs has another version",
                          f"{path}: {version}, this package needs {VERSION}",
                          "build the library and install the package from the same source")
    library.onebit_mean_create.restype = library.onebit_optimizer_create.restype = c_void_p
    library.onebit_worker_free.argtypes = [c_void_p]
    library.onebit_mean.argtypes = [c_void_p, c_int64, POINTER(c_float), POINTER(c_float), POINTER(_Error)]
    library.onebit_step.argtypes = [c_void_p, c_int64, c_double, POINTER(c_float), POINTER(c_float), POINTER(_Error)]
    library.onebit_last_report.argtypes = [c_void_p]
    library.onebit_last_report.restype = _Report
    library.onebit_save.argtypes = [c_void_p, _TAKE, c_void_p, POINTER(_Error)]
    library.onebit_load.argtypes = [c_void_p, _GIVE, c_void_p, POINTER(_Error)]
    return library


def _floats(values: Array) -> Any:
    if values.dtype != np.float32 or not values.flags.c_contiguous:
        raise TypeError(f"expected a contiguous array of float32, got {values.dtype}")
    return values.ctypes.data_as(POINTER(c_float))


class Worker:
    """A worker of the library: `kind` is mean or optimizer.

    tensors: name, elements and rows of each tensor (rows = 1: a vector). options: by the program's names.
    exchange(kind, send, send_bytes, receive, receive_bytes) exchanges the bytes at two addresses, as the
    header describes; an exception that it raises is raised again by the call that led to the exchange.
    """

    def __init__(self, kind: str, rank: int, size: int, exchange: Exchange, tensors: Sequence[Tuple[str, int, int]],
                 options: Mapping[str, str], threads: int, steps: int, warmup: int) -> None:
        self._handle: Optional[int] = None
        self._library = _load(find())
        self._parameters = sum(elements for _, elements, _ in tensors)
        self._failure: Optional[BaseException] = None

        def guarded(_context: Any, what: int, send: Any, send_bytes: Any, receive: Any, receive_bytes: Any) -> int:
            return self._guard(lambda: exchange(what, send, send_bytes[:size], receive, receive_bytes[:size]))

        self._exchange = _EXCHANGE(guarded)  # has to live as long as the worker
        table = (_Tensor * len(tensors))(*[_Tensor(name.encode(), elements, rows) for name, elements, rows in tensors])
        settings = (_Option * len(options))(*[_Option(name.encode(), text.encode()) for name, text in options.items()])
        problem = _Problem(_Ranks(rank, size, self._exchange, None), table, len(tensors), settings, len(options), steps,
                           warmup, threads)
        create = getattr(self._library, f"onebit_{kind}_create")
        error = _Error()
        self._handle = create(ctypes.byref(problem), ctypes.byref(error))
        if not self._handle:
            self._raise(error)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.onebit_worker_free(self._handle)

    def mean(self, step: int, vector: Array, mean: Array) -> None:
        """Writes the compressed mean of all ranks' vectors to `mean`. Collective."""
        self._require_sizes(vector, mean)
        self._call(self._library.onebit_mean, step, _floats(vector), _floats(mean))

    def step(self, step: int, lr: float, gradient: Array, parameters: Array) -> None:
        """Exchanges with the other ranks, and updates `parameters`. Collective."""
        self._require_sizes(gradient, parameters)
        self._call(self._library.onebit_step, step, lr, _floats(gradient), _floats(parameters))

    def report(self) -> Report:
        last = self._library.onebit_last_report(self._handle)
        events = last.events.decode()
        return Report(last.bytes_up, last.bytes_down, last.messages, last.phase.decode(),
                      events.split("\n") if events else [])

    def save(self) -> Dict[str, Array]:
        """Returns this rank's part of the state, by name."""
        items: Dict[str, Array] = {}

        def take(_context: Any, name: bytes, type_: bytes, data: Any, count: int) -> int:
            def copy() -> None:
                values = np.empty(count, type_.decode())
                if count:
                    ctypes.memmove(values.ctypes.data, data, values.nbytes)
                items[name.decode()] = values
            return self._guard(copy)

        self._call(self._library.onebit_save, _TAKE(take), None)
        return items

    def load(self, items: Mapping[str, Array]) -> None:
        """Restores what save() returned. The worker must be new."""
        kept: List[Array] = []

        def give(_context: Any, name: bytes, type_: bytes, data: Any, count: Any) -> int:
            values = items.get(name.decode())
            if values is None:
                return 1

            def hand() -> None:
                kept.append(np.ascontiguousarray(values, type_.decode()))
                data[0], count[0] = kept[-1].ctypes.data, kept[-1].size
            return self._guard(hand)

        self._call(self._library.onebit_load, _GIVE(give), None)

    def _require_sizes(self, *vectors: Array) -> None:
        for vector in vectors:
            if vector.size != self._parameters:
                raise ValueError(f"{vector.size} elements, expected {self._parameters}")

    def _guard(self, work: Callable[[], None]) -> int:
        try:
            work()
        except BaseException as failure:  # must not pass through C
            self._failure = failure
            return 1
        return 0

    def _call(self, function: Any, *arguments: Any) -> None:
        error = _Error()
        if function(self._handle, *arguments, ctypes.byref(error)) != 0:
            self._raise(error)

    def _raise(self, error: _Error) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        raise parse_error(error.text.decode(errors="replace"))
