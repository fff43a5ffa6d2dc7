"""One-dimensional arrays of whatever Python holds as Arrow columns."""

from __future__ import annotations

import datetime
import decimal
import numbers
from typing import Any

import numpy as np

from ._arrow import Column

Array = np.ndarray[Any, Any]

_FORMATS = {
    "i1": "c", "i2": "s", "i4": "i", "i8": "l",
    "u1": "C", "u2": "S", "u4": "I", "u8": "L",
    "f2": "e", "f4": "f", "f8": "g",
}  # fmt: skip
_UNITS = {"s": "s", "ms": "m", "us": "u", "ns": "n"}


def column_of(values: Array, name: str, present: Array | None = None) -> Column:
    """The column of a one-dimensional array; where ``present`` is false, the cell is missing."""
    kind = values.dtype.kind
    if kind in "iuf":
        return _numbers_of(values, present)
    if kind == "b":
        bits = np.packbits(values, bitorder="little")
        return Column("b", len(values), [bits], present)
    if kind in "mM":
        return _times_of(values, present)
    if kind == "U":
        return text_of(_sound(values.tolist(), name), present)
    if kind == "S":
        return text_of([decoded(cell, f"column {name!r}") for cell in values.tolist()], present)
    if kind in "OT":
        return _objects_of(values.tolist(), name)
    if kind == "c":
        raise ValueError(f"Complex data not supported: column {name!r}")
    raise ValueError(f"column {name!r} holds {values.dtype}, which cannot be learnt from")


def dictionary_of(codes: Array, levels: Column) -> Column:
    """A column of codes into levels; -1 is missing."""
    present = codes >= 0
    if not present.all():
        codes = np.where(present, codes, 0)
    keys = _numbers_of(codes, present)
    return Column(keys.format, keys.length, keys.buffers[1:], present, levels)


def text_of(cells: list[Any], present: Array | None = None) -> Column:
    """A column of text; None is missing."""
    if present is None:
        missing = [cell is None for cell in cells]
        present = ~np.array(missing, dtype=bool) if any(missing) else None
    encoded = [b"" if cell is None else cell.encode() for cell in cells]
    offsets = np.zeros(len(cells) + 1, dtype=np.int64)
    np.cumsum([len(cell) for cell in encoded], out=offsets[1:])
    # An empty buffer may have no address, so there is always a byte.
    data = np.frombuffer(b"".join(encoded) or b"\0", dtype=np.uint8)
    return Column("U", len(cells), [offsets, data], present)


def _numbers_of(values: Array, present: Array | None) -> Column:
    dtype = values.dtype.newbyteorder("=")
    format = _FORMATS.get(dtype.str[1:])
    if format is None:
        dtype, format = np.dtype(np.float64), "g"
    values = np.ascontiguousarray(values, dtype=dtype)
    if values.ctypes.data % dtype.itemsize:
        values = values.copy()
    return Column(format, len(values), [values], present)


def _times_of(values: Array, present: Array | None) -> Column:
    unit = np.datetime_data(values.dtype)[0]
    if np.datetime_data(values.dtype)[1] != 1 or unit not in _UNITS:
        unit = "s" if unit in ("Y", "M", "W", "D", "h", "m") else "ns"
        values = values.astype(f"{values.dtype.kind}8[{unit}]")
    is_there = ~np.isnat(values)
    present = is_there if present is None else present & is_there
    cells = np.ascontiguousarray(values).view(np.int64)
    stamp = f"ts{_UNITS[unit]}:" if values.dtype.kind == "M" else f"tD{_UNITS[unit]}"
    return Column(stamp, len(cells), [cells], present)


def is_missing(cell: Any) -> bool:
    """Whether a cell is None, NaN, NaT or pandas' NA."""
    if cell is None:
        return True
    if type(cell).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(cell, (float, np.floating, np.datetime64, np.timedelta64, decimal.Decimal)):
        return bool(cell != cell)
    return False


def decoded(cell: bytes, place: str) -> str:
    """Bytes as the text that they are taken to be."""
    try:
        return cell.decode()
    except UnicodeDecodeError:
        raise ValueError(f"{place} holds the bytes {cell[:40]!r}, which are not UTF-8\nhelp: decode them first") from None


def _sound(cells: list[Any], name: str) -> list[Any]:
    """Text that can be written: halves of surrogate pairs cannot."""
    for cell in cells:
        if isinstance(cell, str) and not cell.isascii():
            try:
                cell.encode()
            except UnicodeEncodeError:
                raise ValueError(
                    f"column {name!r} holds {cell[:40]!r}, which is not sound Unicode\n"
                    "help: such as cell.encode('utf-8', 'replace').decode()"
                ) from None
    return cells


def _objects_of(cells: list[Any], name: str) -> Column:
    cells = _sound([decoded(cell, f"column {name!r}") if isinstance(cell, bytes) else cell for cell in cells], name)
    missing = [is_missing(cell) for cell in cells]
    there = [cell for cell, gone in zip(cells, missing) if not gone]
    present = ~np.array(missing, dtype=bool)
    kinds = {_kind(cell, name) for cell in there}
    if kinds <= {"text"}:
        return text_of([None if gone else cell for cell, gone in zip(cells, missing)], present)
    if kinds == {"boolean"}:
        return column_of(np.array([bool(c) and not g for c, g in zip(cells, missing)]), name, present)
    if kinds == {"integer"}:
        whole = [0 if gone else int(cell) for cell, gone in zip(cells, missing)]
        try:
            return column_of(np.array(whole, dtype=np.int64), name, present)
        except OverflowError:
            kinds = {"real"}
    if kinds <= {"integer", "real"}:
        real = [np.nan if gone else float(cell) for cell, gone in zip(cells, missing)]
        return column_of(np.array(real, dtype=np.float64), name)
    if kinds == {"instant"}:
        stamps = [np.datetime64("NaT") if g else _instant(c) for c, g in zip(cells, missing)]
        return column_of(np.array(stamps, dtype="datetime64[us]"), name)
    if "instant" in kinds:
        raise TypeError(
            f"column {name!r} holds dates beside other things, but a cell's argument must be a string or a number"
        )
    words = [None if gone else _written(cell) for cell, gone in zip(cells, missing)]
    return text_of(words, present)


def _kind(cell: Any, name: str) -> str:
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, (bool, np.bool_)):
        return "boolean"
    if isinstance(cell, numbers.Integral):
        return "integer"
    if isinstance(cell, complex):
        raise ValueError(f"Complex data not supported: column {name!r}")
    if isinstance(cell, (numbers.Real, decimal.Decimal)):
        return "real"
    if isinstance(cell, (datetime.date, np.datetime64)):
        return "instant"
    raise TypeError(
        f"argument must be a string or a number: column {name!r} holds a {type(cell).__name__}, {str(cell)[:40]!r}"
    )


def _instant(cell: Any) -> Any:
    if isinstance(cell, datetime.datetime) and cell.tzinfo is not None:
        cell = cell.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return np.datetime64(cell)


def _written(cell: Any) -> str:
    """A cell among words, as it would be written in a table."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, (bool, np.bool_)):
        return "true" if cell else "false"
    if isinstance(cell, numbers.Integral):
        return str(int(cell))
    number = float(cell)
    return str(int(number)) if number.is_integer() else repr(number)
