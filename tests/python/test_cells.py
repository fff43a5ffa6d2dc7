"""Cells read by pitchpipe equal those read by pandas and pyarrow, on 20 generated files."""

import datetime as dt
import json
import math
import random
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

ROOT = Path(__file__).parents[2]
DUMP = ROOT / "target/release/examples/dump_cells"
MISSING = ["", "NA", "NaN", "null", "None", "?"]
ROWS = 300


# ---- The files. Each function returns the bytes of a file, its delimiter and its encoding. ----


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def lines(rows: list[list[str]], delimiter: str = ",", end: str = "\n") -> str:
    return "".join(delimiter.join(row) + end for row in rows)


def integers(draw):
    rows = [["id", "small", "signed"]]
    rows += [[str(i), str(draw.randrange(10)), str(draw.randrange(-10**9, 10**9))] for i in range(ROWS)]
    return lines(rows)


def floats(draw):
    rows = [["short", "full", "exponent", "tiny"]]
    for _ in range(ROWS):
        x = draw.gauss(0, 1000)
        rows.append([f"{x:.2f}", repr(x), f"{x:.8e}", repr(x * 10.0 ** draw.randrange(-300, 300))])
    return lines(rows)


def long_decimals(draw):
    """More digits than a double holds: the nearest must be found."""
    digits = lambda n: "".join(draw.choice("0123456789") for _ in range(n))
    rows = [["a", "b"]] + [[f"0.{digits(25)}", f"{digits(5)}.{digits(14)}"] for _ in range(ROWS)]
    return lines(rows)


def missing_values(draw):
    rows = [["n", "f", "s"]]
    for _ in range(ROWS):
        cells = [str(draw.randrange(100)), f"{draw.random():.4f}", draw.choice(["red", "green"])]
        rows.append([draw.choice(MISSING) if draw.random() < 0.2 else cell for cell in cells])
    return lines(rows)


def all_missing(draw):
    return lines([["a", "empty", "b"]] + [[str(i), draw.choice(MISSING), "x"] for i in range(ROWS)])


def quoting(draw):
    pieces = ['say "hi"', "a,b", "", "plain", "'single'", 'end"', '"', ",", "two  spaces"]
    rows = [[quoted("the name"), quoted('the "other"')]]
    rows += [[quoted(draw.choice(pieces) + "."), quoted(str(draw.randrange(9)))] for _ in range(ROWS)]
    return lines(rows)


def quotes_inside(draw):
    return lines([["a", "b"]] + [[f'{draw.randrange(9)}" pipe', 'x "y" z'] for _ in range(ROWS)])


def embedded_newlines(draw):
    cell = lambda: quoted("\n".join(draw.choice(["one", "two,2", ""]) + "!" for _ in range(draw.randrange(1, 4))))
    return lines([["a", "note", "b"]] + [[str(i), cell(), str(i)] for i in range(ROWS)])


def crlf(draw):
    cell = lambda: quoted(draw.choice(["x\r\ny", "z", "q\nr"]))
    return lines([["a", "b", "c"]] + [[str(i), cell(), draw.choice("uvw")] for i in range(ROWS)], end="\r\n")


def no_last_newline(draw):
    return lines([["a", "b"]] + [[str(i), draw.choice("xy")] for i in range(ROWS)]).rstrip("\n")


def byte_order_mark(draw):
    return "\ufeff" + lines([["größe", "b"]] + [[str(i), draw.choice(["ä", "ö"])] for i in range(ROWS)])


def unicode(draw):
    words = ["Zürich", "東京", "Москва", "🙂🙃", "naïve", "e\u0301", "عربى", "\u200bzero"]
    return lines([["город", "n"]] + [[draw.choice(words), str(draw.randrange(5))] for _ in range(ROWS)])


def latin1(draw):
    return lines([["città", "n"]] + [[draw.choice(["perché", "señor", "groß"]), "1"] for _ in range(ROWS)])


def windows1252(draw):
    return lines([["a", "n"]] + [[draw.choice(["€ 5", "“quoted”", "it’s"]), "1"] for _ in range(ROWS)])


def semicolons(draw):
    rows = [["a", "b", "c"]] + [[str(i), f"{draw.random():.3f}", draw.choice(["x,y", "z"])] for i in range(ROWS)]
    return lines(rows, delimiter=";")


def tabs(draw):
    rows = [["a", "b", "c"]] + [[str(i), draw.choice(["x y", "z"]), f"{draw.random():.3f}"] for i in range(ROWS)]
    return lines(rows, delimiter="\t")


def long_strings(draw):
    word = lambda: "".join(draw.choice("abcdefgh ,") for _ in range(draw.choice([15, 16, 17, 1000, 70_000])))
    return lines([["a", "b"]] + [[quoted("s" + word()), str(i)] for i in range(60)])


def dates_and_booleans(draw):
    rows = [["day", "moment", "flag"]]
    for _ in range(ROWS):
        when = dt.datetime(1950, 1, 1) + dt.timedelta(seconds=draw.randrange(10**9 * 4))
        day = "" if draw.random() < 0.1 else f"{when:%Y-%m-%d}"
        rows.append([day, f"{when:%Y-%m-%d %H:%M:%S}", draw.choice(["true", "false"])])
    return lines(rows)


def wide_integers(draw):
    """Beyond 2^53 pitchpipe gives the nearest double, as the peers do when asked for floats."""
    rows = [["signed", "near", "hashes"]]
    for _ in range(ROWS):
        near = 2**53 + draw.randrange(-5, 6)
        rows.append([str(draw.randrange(-(2**63), 2**63)), str(near), str(draw.randrange(2**62))])
    return lines(rows)


CSV_FILES = [
    integers, floats, long_decimals, missing_values, all_missing, quoting, quotes_inside, embedded_newlines,
    crlf, no_last_newline, byte_order_mark, unicode, latin1, windows1252, semicolons, tabs, long_strings,
    dates_and_booleans, wide_integers,
]
ENCODINGS = {"latin1": "latin-1", "windows1252": "cp1252"}
DELIMITERS = {"semicolons": ";", "tabs": "\t"}


def typed_table(draw) -> pa.Table:
    """Every type that a Parquet file commonly holds, with nulls."""
    some = lambda make: [None if draw.random() < 0.15 else make() for _ in range(ROWS)]
    moment = lambda: dt.datetime(1950, 1, 1) + dt.timedelta(milliseconds=draw.randrange(10**12))
    return pa.table({
        "i8": pa.array(some(lambda: draw.randrange(-128, 128)), pa.int8()),
        "i64": pa.array(some(lambda: draw.randrange(-(2**63), 2**63)), pa.int64()),
        "u64": pa.array(some(lambda: draw.randrange(2**64)), pa.uint64()),
        "f16": pa.array(np.array([draw.gauss(0, 9) for _ in range(ROWS)], dtype=np.float16)),
        "f32": pa.array(some(lambda: draw.gauss(0, 1)), pa.float32()),
        "f64": pa.array(some(lambda: draw.gauss(0, 1)), pa.float64()),
        "flag": pa.array(some(lambda: draw.random() < 0.5), pa.bool_()),
        "text": pa.array(some(lambda: draw.choice(["NA", "", "ä", "x" * 100])), pa.string()),
        "large": pa.array(some(lambda: draw.choice("abc")), pa.large_string()),
        "category": pa.array(some(lambda: draw.choice("pqr"))).dictionary_encode(),
        "day": pa.array(some(lambda: moment().date()), pa.date32()),
        "ms": pa.array(some(moment), pa.timestamp("ms")),
        "us": pa.array(some(moment), pa.timestamp("us", tz="UTC")),
        "dec": pa.array(some(lambda: draw.randrange(10**12)), pa.decimal128(14, 0)),
    })


# ---- The comparison. ----


def seconds(value) -> float:
    if isinstance(value, str):
        value = dt.datetime.fromisoformat(value)
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    if value.tzinfo is None:
        value = value.replace(tzinfo=dt.timezone.utc)
    return (value - dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)) / dt.timedelta(seconds=1)


def is_missing(value) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))


def equal(ours, theirs, kind: str) -> bool:
    if ours is None or is_missing(theirs):
        return ours is None and is_missing(theirs)
    if kind in ("integers", "numbers"):
        return ours == float(theirs)
    if kind == "instants":
        return ours == seconds(theirs)
    if isinstance(theirs, (bool, np.bool_)):
        return ours == str(theirs).lower()
    return ours == str(theirs)


def compare(ours: dict, peer: str, names: list[str], columns: list[list]) -> None:
    assert [c["name"] for c in ours["columns"]] == names
    for column, theirs in zip(ours["columns"], columns):
        assert ours["n_rows"] == len(theirs) == len(column["cells"])
        for row, (a, b) in enumerate(zip(column["cells"], theirs)):
            assert equal(a, b, column["kind"]), f"{peer}: {column['name']}[{row}]: {a!r} is not {b!r}"


def dump(path: Path) -> dict:
    done = subprocess.run([DUMP, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("make", CSV_FILES, ids=lambda f: f.__name__)
def test_csv_cells(make, tmp_path):
    name = make.__name__
    encoding, delimiter = ENCODINGS.get(name, "utf-8"), DELIMITERS.get(name, ",")
    path = tmp_path / f"{name}.csv"
    path.write_bytes(make(random.Random(name)).encode(encoding))
    ours = dump(path)

    frame = pd.read_csv(
        path, sep=delimiter, encoding=encoding, keep_default_na=False, na_values=MISSING,
        float_precision="round_trip",
    )
    compare(ours, "pandas", list(frame.columns), [frame[c].tolist() for c in frame.columns])

    table = pa.csv.read_csv(
        path,
        read_options=pa.csv.ReadOptions(encoding=encoding),
        parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(null_values=MISSING, strings_can_be_null=True),
    )
    compare(ours, "pyarrow", table.column_names, [c.to_pylist() for c in table.columns])


def test_parquet_cells(tmp_path):
    path = tmp_path / "typed.parquet"
    table = typed_table(random.Random("typed"))
    pa.parquet.write_table(table, path, row_group_size=100, compression="zstd")
    ours = dump(path)
    read = pa.parquet.read_table(path)
    compare(ours, "pyarrow", read.column_names, [c.to_pylist() for c in read.columns])
    # Nullable types, as pandas would otherwise round integers that stand beside a null.
    frame = pd.read_parquet(path, dtype_backend="numpy_nullable")
    compare(ours, "pandas", list(frame.columns), [frame[c].tolist() for c in frame.columns])
