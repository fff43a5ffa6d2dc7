"""One table by many routes gives one model."""

import subprocess
import sys

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")
import pyarrow.csv
import pyarrow.parquet

from pitchpipe import PitchpipeClassifier, PitchpipeWarning


@pytest.fixture
def mixed():
    """A table of numbers, words, whole numbers, booleans, dates and missing cells."""
    rng = np.random.default_rng(1)
    n = 180
    size = np.round(rng.normal(size=n), 6)
    frame = pandas.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, size),
            "city": rng.choice(["Oslo", "Lima", "Cairo"], n).astype(object),
            "count": rng.integers(0, 100, n),
            "flag": rng.random(n) < 0.5,
            "day": np.datetime64("2020-01-01", "s") + rng.integers(0, 900, n) * np.timedelta64(86400, "s"),
        }
    )
    frame.loc[::17, "city"] = None
    label = np.where((size > 0) ^ (frame["city"] == "Lima").to_numpy(), "yes", "no")
    return frame, label


def routes(frame):
    """The same table in many forms."""
    arrow = pyarrow.Table.from_pandas(frame, preserve_index=False)
    yield "pandas", frame
    yield "nullable", frame.convert_dtypes()
    yield "arrow-backed", frame.convert_dtypes(dtype_backend="pyarrow")
    yield "object", frame.astype(object)
    yield "polars", polars.DataFrame(arrow)
    yield "pyarrow", arrow
    yield "batches", pyarrow.Table.from_batches(arrow.to_batches(max_chunksize=50))
    yield "reader", arrow.to_reader()


def test_one_table_by_any_route_gives_one_model(quick, mixed, tmp_path):
    frame, label = mixed
    expected = quick().fit(frame, label).predict_proba(frame)
    assert len(np.unique(expected[:, 0])) > 5
    for name, table in routes(frame):
        given = list(routes(frame)) if name == "reader" else None
        clf = quick().fit(table, label)
        later = dict(given)["reader"] if given else table
        np.testing.assert_array_equal(clf.predict_proba(later), expected, err_msg=name)


def test_an_object_with_the_dataframe_protocol_only(quick, mixed):
    frame, label = mixed
    arrow = pyarrow.Table.from_pandas(frame, preserve_index=False)

    class Only:
        def __dataframe__(self, nan_as_null=False, allow_copy=True):
            return arrow.__dataframe__(nan_as_null, allow_copy)

    clf = quick().fit(Only(), label)
    assert clf.feature_names_in_.tolist() == list(frame.columns)
    np.testing.assert_array_equal(clf.predict_proba(Only()), quick().fit(frame, label).predict_proba(frame))


def test_numbers_by_all_six_routes_give_the_same_predictions(quick, tmp_path):
    """numpy, which has no mixed columns, beside pandas, polars, pyarrow, CSV and Parquet."""
    rng = np.random.default_rng(5)
    X = np.round(rng.normal(size=(150, 3)), 6)
    y = np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")
    names = ["x0", "x1", "x2"]
    frame = pandas.DataFrame(X, columns=names)
    arrow = pyarrow.Table.from_pandas(frame, preserve_index=False)
    expected = quick().fit(X, y).predict_proba(X)
    for table in (np.asfortranarray(X), frame, polars.DataFrame(arrow), arrow):
        np.testing.assert_array_equal(quick().fit(table, y).predict_proba(table), expected)
    with_labels = arrow.append_column("target", pyarrow.array(y))
    pyarrow.csv.write_csv(with_labels, tmp_path / "t.csv")
    pyarrow.parquet.write_table(with_labels, tmp_path / "t.parquet")
    for file in ("t.csv", "t.parquet"):
        model, out = tmp_path / f"{file}.pp", tmp_path / f"of-{file}.parquet"
        command(
            "fit", tmp_path / file, "--target", "target", "--repeatable", "--max-evaluations", 6, "--threads", 1,
            "--out", model, "--quiet",
        )  # fmt: skip
        command("predict", model, tmp_path / file, "--proba", "--out", out)
        said = pyarrow.parquet.read_table(out)
        np.testing.assert_array_equal(said["probability_yes"].to_numpy(), expected[:, 1])
        loaded = PitchpipeClassifier.load(model)
        np.testing.assert_array_equal(loaded.predict_proba(frame), expected)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_by_the_command_give_the_same_predictions(quick, mixed, tmp_path, suffix):
    frame, label = mixed
    clf = quick().fit(frame, label)
    arrow = pyarrow.Table.from_pandas(frame.assign(target=label), preserve_index=False)
    table, model, out = tmp_path / f"t.{suffix}", tmp_path / "m.pp", tmp_path / "p.csv"
    if suffix == "csv":
        arrow = arrow.set_column(4, "day", arrow["day"].cast(pyarrow.timestamp("s")))
        pyarrow.csv.write_csv(arrow, table)
    else:
        pyarrow.parquet.write_table(arrow, table)
    command(
        "fit", table, "--target", "target", "--repeatable", "--max-evaluations", 6, "--threads", 1, "--out", model, "--quiet"
    )
    command("predict", model, table, "--proba", "--out", out)
    said = pandas.read_csv(out)
    np.testing.assert_array_equal(said["prediction"], clf.predict(frame))
    np.testing.assert_allclose(said["probability_yes"], clf.predict_proba(frame)[:, 1], rtol=0, atol=1e-15)
    # The model of the command in Python, and Python's in the command.
    loaded = PitchpipeClassifier.load(model)
    np.testing.assert_array_equal(loaded.predict_proba(frame), clf.predict_proba(frame))
    clf.save(model)
    command("predict", model, table, "--out", out)
    np.testing.assert_array_equal(pandas.read_csv(out)["prediction"], clf.predict(frame))


def command(*args):
    """Run the command that comes with the package."""
    done = subprocess.run(
        [sys.executable, "-m", "pitchpipe", *map(str, args)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?"])
def test_few_rows_and_many_of_a_frame_are_taken_in_alike(quick, dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2 if dtype == "?" else 9, size=(1200, 3)).astype(dtype)
    frame = pandas.DataFrame(X, columns=list("abc"))
    clf = quick().fit(frame, X[:, 0] > X[:, 1])
    expected = clf.predict_proba(frame)
    for few in (frame[:1], frame[7:90], frame.iloc[::-1][:5], frame.assign(c=frame["c"].astype("f8"))[:50]):
        np.testing.assert_array_equal(clf.predict_proba(few), expected[few.index])


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "u1", "?", ">f8", "O"])
def test_numbers_of_any_type_and_order(quick, dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2 if dtype == "?" else 9, size=(60, 3))
    y = X[:, 0] > X[:, 1]
    expected = quick().fit(X.astype("f8") if dtype != "?" else X.astype("?"), y).predict_proba(X.astype(dtype))
    for order in "CF":
        given = np.array(X, dtype=dtype, order=order)
        np.testing.assert_array_equal(quick().fit(given, y).predict_proba(given), expected)
    assert quick().fit(X.tolist(), y.tolist()).predict([[5, 1, 0]]).dtype == bool


def test_words_in_arrays_and_lists(quick):
    X = [["red", 1], ["blue", 2]] * 30
    y = ["r", "b"] * 30
    for table in (X, np.array(X, dtype=object), np.array(X)):
        clf = quick().fit(table, y)
        assert clf.predict(table[:2]).tolist() == ["r", "b"]
    assert clf.classes_.tolist() == ["b", "r"]


@pytest.mark.parametrize(
    "y", [["a", "b"], [1, 0], [True, False], [2.0, 1.0], np.array([b"x", b"y"])], ids=str
)
def test_labels_come_back_as_they_were(quick, y, tmp_path):
    X, y = [[0.0], [1.0]] * 20, list(y) * 20
    clf = quick().fit(X, y)
    clf.save(tmp_path / "m.pp")
    for model in (clf, PitchpipeClassifier.load(tmp_path / "m.pp")):
        expected = np.array(y[:2]) if not isinstance(y[0], bytes) else np.array(["x", "y"])
        got = model.predict(X[:2])
        assert got.tolist() == expected.tolist()
        assert got.dtype.kind in (expected.dtype.kind, "O")


def test_text_is_text_in_whatever_it_is_packed(quick):
    words = ["red", "blüe"] * 30
    y = ["r", "b"] * 30
    expected = quick().fit([[word] for word in words], y).predict_proba([[word] for word in words])
    bytes_of = [word.encode() for word in words]
    forms = [np.array(bytes_of)[:, None], pandas.DataFrame({"a": bytes_of}), [[cell] for cell in bytes_of]]
    if hasattr(np.dtypes, "StringDType"):
        forms.append(np.array(words, dtype=np.dtypes.StringDType())[:, None])
    for table in forms:
        np.testing.assert_array_equal(quick().fit(table, y).predict_proba(table), expected)
    X = np.arange(60.0)[:, None] % 2
    for labels in (np.array(bytes_of), pandas.Series(bytes_of), bytes_of):
        clf = quick().fit(X, labels)
        assert clf.classes_.tolist() == ["blüe", "red"]
        assert clf.evaluate(X, labels)["scores"]["accuracy"] == 1.0
    for table, labels in ((np.array([[b"\xff"], [b"b"]] * 30), y), (X, np.array([b"\xff", b"b"] * 30))):
        with pytest.raises(ValueError, match="which are not UTF-8\nhelp: decode them first"):
            quick().fit(table, labels)
    with pytest.raises(ValueError, match="which is not sound Unicode"):
        quick().fit([["\ud800"], ["b"]] * 30, y)


def test_masked_cells_are_missing(quick, rows):
    X, y = rows
    expected = quick().fit(np.where(X > 1, np.nan, X), y).predict_proba(np.where(X > 1, np.nan, X))
    masked = np.ma.masked_array(X, mask=X > 1)
    np.testing.assert_array_equal(quick().fit(masked, y).predict_proba(masked), expected)
    whole = np.ma.masked_array(np.round(X).astype(int), mask=X > 1)
    assert quick().fit(whole, y).predict_proba(whole).shape == (200, 2)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4"])
def test_few_numbers_are_taken_in_alike_however_they_lie(quick, dtype):
    X = np.random.default_rng(0).integers(0, 9, size=(1500, 3)).astype(dtype)
    clf = quick().fit(X, X[:, 0] > X[:, 1])
    expected = clf.predict_proba(X)
    packed = np.zeros(5, dtype=[("pad", "u1"), ("cells", dtype, 3)])
    packed["cells"] = X[:5]
    for few in (X[:5], X.copy("F")[:5], np.repeat(X, 2, axis=1)[:5, ::2], X[4::-1][::-1], packed["cells"]):
        np.testing.assert_array_equal(clf.predict_proba(few), expected[:5])
    frame = pandas.DataFrame(X[:5])
    np.testing.assert_array_equal(clf.predict_proba(frame), expected[:5])


def test_labels_and_rows_are_as_many(quick, rows):
    X, y = rows
    clf = quick().fit(X, y)
    for measure in (clf.evaluate, clf.permutation_importance):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            measure(X, y[:-1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        quick().fit(X, y, validation=(X[:50], y[:40]))
    with pytest.raises(ValueError, match="must be a tuple of two"):
        quick().fit(X, y, validation=X)
    with pytest.warns(PitchpipeWarning, match="labels the model does not know are left out: 1, such as 7"):
        assert clf.evaluate(X, np.r_[y[:-1], 7])["n_rows"] == 199


def test_categories_keep_their_declared_levels(quick):
    codes = ["lo", "mid", "hi"] * 30
    series = pandas.Categorical(codes, categories=["lo", "mid", "hi", "never"])
    frame = pandas.DataFrame({"c": series})
    clf = quick().fit(frame, codes)
    columns = clf.model_.inspect()["schema"]["columns"]
    assert columns[0]["levels"] == ["lo", "mid", "hi", "never"]
    assert clf.score(frame, codes) == 1.0


def test_columns_are_matched_by_name(quick, mixed):
    frame, label = mixed
    clf = quick().fit(frame, label)
    other = frame[frame.columns[::-1]].assign(more=1)
    np.testing.assert_array_equal(clf.predict_proba(other), clf.predict_proba(frame))
    with pytest.raises(ValueError, match='is missing: "city"'):
        clf.predict(frame.drop(columns="city"))
    with pytest.raises(ValueError, match="X has 2 features, but PitchpipeClassifier is expecting 5"):
        clf.predict([[1.0, 2.0]])


def test_sparse_matrices_are_taken_or_refused_with_their_size(quick, rows):
    sparse = pytest.importorskip("scipy.sparse")
    X, y = rows
    X = np.where(np.abs(X) > 0.5, X, 0)
    dense = quick().fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(quick().fit(sparse.csr_matrix(X), y).predict_proba(sparse.csc_array(X)), dense)
    large = sparse.csr_matrix((1_000_000, 1_000_000))
    with pytest.raises(ValueError, match=r"takes 8000\.0 GB"):
        quick().fit(large, y)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (pandas.DataFrame([[1, 2]] * 4, columns=pandas.MultiIndex.from_tuples([("a", 1), ("a", 2)])), "MultiIndex"),
        (polars.DataFrame({"a": [1.0]}).lazy(), "collect"),
        ([[1, 2], [3]] * 2, "equally long"),
        ([1, 2, 3, 4], "Expected 2D array"),
        (np.array([[1.0, np.inf]] * 4), "but numbers must be finite"),
        (np.ones((4, 0)), "minimum of 1 is required"),
        (np.array([[1 + 2j]] * 4), "Complex data not supported"),
        (pandas.DataFrame([[1, 2]] * 4, columns=["a", "a"]), "\"a\""),
    ],
    ids=["multiindex", "lazy", "ragged", "flat", "infinite", "empty", "complex", "twice"],
)
def test_what_is_no_table_is_refused_in_words(quick, X, words):
    with pytest.raises(ValueError) as error:
        quick().fit(X, [0, 1, 0, 1])
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([0, 1, 1], "inconsistent numbers of samples"),
        ([0.5, 1.5, 0.25, 1.0], "Unknown label type: continuous"),
        ([0.0, float("nan"), 1.0, 1.0], "Input y contains NaN"),
        (["a", None, "b", "b"], "row 2 has no label"),
        ([1, 1, 1, 1], "nothing to tell apart"),
        ([{}, {}, 1, 2], "Unknown label type"),
    ],
    ids=["short", "continuous", "nan", "none", "one", "objects"],
)
def test_what_are_no_labels_is_refused_in_words(quick, y, words):
    with pytest.raises(ValueError) as error:
        quick().fit([[1.0], [2.0], [3.0], [4.0]], y)
    assert words in str(error.value)


def test_a_float64_frame_is_not_copied():
    from pitchpipe import _arrow
    from pitchpipe._input import frame_of

    block = np.asfortranarray(np.random.default_rng(0).normal(size=(2000, 3)))
    before = set(_arrow._alive)
    frame = frame_of(pandas.DataFrame(block, columns=list("abc"), copy=False))
    kept = [things for number, things in _arrow._alive.items() if number not in before]
    arrays = [b for things in kept for group in things if isinstance(group, list) for b in group]
    buffers = [b for b in arrays if isinstance(b, np.ndarray)]
    assert len(buffers) == 3 and all(np.shares_memory(block, b) for b in buffers)
    del frame
    assert set(_arrow._alive) <= before
