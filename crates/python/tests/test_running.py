"""While it runs: Ctrl-C, callbacks, threads, forks, processes."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import pitchpipe
from pitchpipe import PitchpipeClassifier, PitchpipeWarning


def test_a_callback_hears_plain_events_and_ends_the_search(rows):
    heard = []

    def hear(event):
        heard.append(event)
        return event["event"] == "finished" and event["n_evaluated"] >= 3

    clf = PitchpipeClassifier(30, n_jobs=1, callback=hear).fit(*rows)
    assert heard[0]["event"] == "begun" and heard[0]["n_rows"] == 200
    assert all(type(event) is dict for event in heard)
    assert clf.model_.inspect()["report"]["stop_reason"] == "cancelled"
    assert not clf.interrupted_


def test_an_exception_of_the_callback_is_raised(rows):
    def hear(event):
        raise LookupError("heard enough")

    with pytest.raises(LookupError, match="heard enough"):
        PitchpipeClassifier(30, n_jobs=1, callback=hear).fit(*rows)


def test_ctrl_c_keeps_the_best_so_far(rows):
    stopped = []

    def hear(event):
        if event["event"] == "finished" and not stopped:
            stopped.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.warns(PitchpipeWarning, match="interrupted: the model is the best of"):
        clf = PitchpipeClassifier(60, n_jobs=1, callback=hear).fit(*rows)
    assert time.monotonic() - stopped[0] < 2.0, "the benchmark is stricter; this machine may be busy"
    assert clf.interrupted_ and clf.predict(rows[0]).shape == (200,)


def test_ctrl_c_before_there_is_a_model_is_a_keyboard_interrupt(rows):
    def hear(event):
        if event["event"] == "begun":
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        PitchpipeClassifier(60, n_jobs=1, callback=hear).fit(*rows)


def test_ctrl_c_is_heard_while_a_table_is_read():
    pyarrow = pytest.importorskip("pyarrow")
    words = pyarrow.array([f"word {i * 7919 % 1000}" for i in range(400_000)])
    X = pyarrow.table({f"c{j}": words for j in range(40)})
    y = np.arange(400_000) % 2
    started = time.monotonic()
    seen = []

    def hear(event):
        seen.append(time.monotonic() - started)
        return True

    with pytest.raises(ValueError, match="interrupted"):
        PitchpipeClassifier(600, n_jobs=1, callback=hear).fit(X, y)
    reading = seen[0]
    timer = threading.Timer(0.2 * reading, os.kill, (os.getpid(), signal.SIGINT))
    started = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        PitchpipeClassifier(600, n_jobs=1).fit(X, y)
    assert time.monotonic() - started < 0.7 * reading


def test_too_little_time_is_out_of_time():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 40)), rng.integers(0, 2, 20_000)
    with pytest.raises(pitchpipe.OutOfTime) as error:
        PitchpipeClassifier(0.002, n_jobs=1).fit(X, y)
    assert "no pipeline finished within the time budget of 2ms" in str(error.value)
    assert 'help: try time_budget="5s"' in str(error.value)


def test_other_threads_go_on_while_it_fits(rows):
    ticks = []
    is_over = threading.Event()

    def tick():
        while not is_over.wait(0.01):
            ticks.append(None)

    thread = threading.Thread(target=tick)
    thread.start()
    PitchpipeClassifier(0.5, n_jobs=1).fit(*rows)
    is_over.set()
    thread.join()
    assert len(ticks) > 5


def _in_child(clf, X, y, queue):
    again = PitchpipeClassifier(repeatable=True, max_evaluations=6, n_jobs=2).fit(X, y)
    queue.put((clf.predict_proba(X), again.predict_proba(X)))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_predicts_and_fits(quick, rows):
    X, y = rows
    clf = quick(n_jobs=2).fit(X, y)
    expected = clf.predict_proba(X)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(clf, X, y, queue))
    child.start()
    predicted, fitted = queue.get(timeout=60)
    child.join(60)
    np.testing.assert_array_equal(predicted, expected)
    np.testing.assert_array_equal(fitted, expected)


def test_joblib_workers_fit_and_predict(quick, rows):
    joblib = pytest.importorskip("joblib")
    X, y = rows
    expected = quick().fit(X, y).predict_proba(X)
    for backend in ("loky", "multiprocessing", "threading"):
        fitted = joblib.Parallel(n_jobs=2, backend=backend)(
            joblib.delayed(quick(n_jobs=None).fit)(X, y) for _ in range(2)
        )
        for clf in fitted:
            np.testing.assert_array_equal(clf.predict_proba(X), expected)


def _threads():
    from pitchpipe import _settings

    return _settings.n_threads(None), _settings.n_threads(-1)


def test_nested_threads_do_not_multiply():
    joblib = pytest.importorskip("joblib")
    cores = len(os.sched_getaffinity(0))
    for backend in ("loky", "multiprocessing", "threading"):
        told = joblib.Parallel(n_jobs=cores, backend=backend)(joblib.delayed(_threads)() for _ in range(2))
        assert all(inner * cores <= max(cores, inner) for pair in told for inner in pair), (backend, told)


def test_a_pickle_travels_to_another_process(quick, rows, tmp_path):
    X, y = rows
    clf = quick().fit(X, y)
    (tmp_path / "clf").write_bytes(pickle.dumps((clf, X)))
    program = "import pickle, sys; clf, X = pickle.load(open(sys.argv[1], 'rb')); print(clf.predict(X).sum())"
    said = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "clf")], capture_output=True, text=True, check=True
    )
    assert int(said.stdout) == clf.predict(X).sum()


def test_any_number_of_threads_gives_one_model(quick, rows):
    X, y = rows
    one, two = (quick(n_jobs=n).fit(X, y).predict_proba(X) for n in (1, 2))
    np.testing.assert_array_equal(one, two)
