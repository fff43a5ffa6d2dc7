"""Columns of numpy arrays as an Arrow record batch, through Arrow's C data interface.

Nothing but numpy is needed, and arrays that lie in memory as Arrow wants them are shared, not copied. The interface is two C
structures with a function that the reader calls when it needs them no longer:
https://arrow.apache.org/docs/format/CDataInterface.html
"""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


_ReleaseSchema = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))
_ReleaseArray = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))

_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", _ReleaseSchema),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.POINTER(_Array)),
    ("release", _ReleaseArray),
    ("private_data", ctypes.c_void_p),
]

_NULLABLE = 2

# What structures point to, by number, until they are released.
_alive: dict[int, Any] = {}
_numbers = itertools.count(1)


def _release(pointer: Any, nothing: Any) -> None:
    structure = pointer.contents
    for i in range(structure.n_children):
        child = structure.children[i]
        if child.contents.release:
            child.contents.release(child)
    if structure.dictionary and structure.dictionary.contents.release:
        structure.dictionary.contents.release(structure.dictionary)
    number = structure.private_data
    structure.release = nothing
    _alive.pop(number, None)


@_ReleaseSchema  # type: ignore[untyped-decorator]
def _release_schema(pointer: Any) -> None:
    _release(pointer, _ReleaseSchema())


@_ReleaseArray  # type: ignore[untyped-decorator]
def _release_array(pointer: Any) -> None:
    _release(pointer, _ReleaseArray())


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

# The structures that capsules point to, by address.
_roots: dict[int, Any] = {}


def _destroy(capsule: int, name: bytes) -> None:
    address = _pointer_of(capsule, name)
    root = _roots.pop(address)
    if root.release:
        root.release(ctypes.pointer(root))


@_Destructor  # type: ignore[untyped-decorator]
def _destroy_schema(capsule: int) -> None:
    _destroy(capsule, b"arrow_schema")


@_Destructor  # type: ignore[untyped-decorator]
def _destroy_array(capsule: int) -> None:
    _destroy(capsule, b"arrow_array")


def _capsule(root: Any, name: bytes, destructor: Any) -> Any:
    address = ctypes.addressof(root)
    _roots[address] = root
    return _new_capsule(address, name, ctypes.cast(destructor, ctypes.c_void_p))


class Column:
    """An Arrow array: its format, its buffers, which cells are there, its dictionary."""

    def __init__(
        self,
        format: str,
        length: int,
        buffers: list[np.ndarray[Any, Any]],
        present: np.ndarray[Any, Any] | None = None,
        dictionary: Column | None = None,
    ) -> None:
        self.format = format
        self.length = length
        self.null_count = 0
        validity = None
        if present is not None and not present.all():
            self.null_count = int(length - np.count_nonzero(present))
            validity = np.packbits(present, bitorder="little")
        self.buffers: list[Any] = [validity, *buffers]
        self.dictionary = dictionary


class RecordBatch:
    """Named columns of equal length, for whoever understands ``__arrow_c_array__``."""

    def __init__(self, names: list[str], columns: list[Column], length: int) -> None:
        self.names = names
        self.columns = columns
        self.length = length

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
        fields = [_schema(c.format, n, c.dictionary) for n, c in zip(self.names, self.columns)]
        schema = _schema("+s", "", None, fields)
        array = _array(self.length, 0, [None], None, [_array_of(c) for c in self.columns])
        return (
            _capsule(schema, b"arrow_schema", _destroy_schema),
            _capsule(array, b"arrow_array", _destroy_array),
        )


def _children(kind: Any, children: list[Any]) -> Any:
    pointers = (ctypes.POINTER(kind) * len(children))()
    for i, child in enumerate(children):
        pointers[i] = ctypes.pointer(child)
    return pointers


def _schema(
    format: str, name: str, dictionary: Column | None, children: list[Any] | None = None
) -> Any:
    schema = _Schema()
    schema.format = format.encode()
    schema.name = name.encode()
    schema.flags = _NULLABLE
    kept: list[Any] = []
    if children:
        pointers = _children(_Schema, children)
        schema.n_children = len(children)
        schema.children = ctypes.cast(pointers, ctypes.POINTER(ctypes.POINTER(_Schema)))
        kept += [pointers, children]
    if dictionary is not None:
        values = _schema(dictionary.format, "", None)
        schema.dictionary = ctypes.pointer(values)
        kept.append(values)
    schema.release = _release_schema
    schema.private_data = _keep([schema.format, schema.name, *kept])
    return schema


def _array_of(column: Column) -> Any:
    dictionary = None if column.dictionary is None else _array_of(column.dictionary)
    return _array(column.length, column.null_count, column.buffers, dictionary, [])


def _array(
    length: int,
    null_count: int,
    buffers: list[Any],
    dictionary: Any,
    children: list[Any],
) -> Any:
    array = _Array()
    array.length = length
    array.null_count = null_count
    addresses = (ctypes.c_void_p * len(buffers))()
    for i, buffer in enumerate(buffers):
        addresses[i] = None if buffer is None else buffer.ctypes.data
    array.n_buffers = len(buffers)
    array.buffers = ctypes.cast(addresses, ctypes.POINTER(ctypes.c_void_p))
    kept: list[Any] = [addresses, buffers]
    if children:
        pointers = _children(_Array, children)
        array.n_children = len(children)
        array.children = ctypes.cast(pointers, ctypes.POINTER(ctypes.POINTER(_Array)))
        kept += [pointers, children]
    if dictionary is not None:
        array.dictionary = ctypes.pointer(dictionary)
        kept.append(dictionary)
    array.release = _release_array
    array.private_data = _keep(kept)
    return array


def _keep(things: list[Any]) -> int:
    number = next(_numbers)
    _alive[number] = things
    return number
