"""Carries the tasks of a collection to a Ray cluster and back.

The driver (in Rust) says what to do next, and has the store. Here is only what is Ray's: where tables lie, how many tasks
are on their way, and what a task that does not come back means.
"""

from __future__ import annotations

import os
import socket
import tempfile
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

from . import __version__, _native

#: So many tasks for each worker are on their way: one runs, one waits.
IN_FLIGHT = 2
#: Seconds between looks at how large the cluster is, and at whether the work is to end.
LOOK = 2.0
#: Tables that a worker keeps as it has read them.
MOST_TABLES = 2


class Outdated(Exception):
    """A worker has another version of pitchpipe than the driver."""


def carry(driver: Any, address: str | None, staging: str | None, n_workers: int) -> None:
    """Have all tasks of a driver done."""
    try:
        import ray
    except ImportError:
        raise RuntimeError("Ray is not installed: pip install 'pitchpipe[ray]'") from None
    _connect(ray, address, n_workers)
    try:
        _Carrier(ray, driver, staging).run()
    finally:
        ray.shutdown()


def _connect(ray: Any, address: str | None, n_workers: int) -> None:
    quiet = {"logging_level": "ERROR", "log_to_driver": False}
    try:
        if address is None:
            ray.init(num_cpus=n_workers, include_dashboard=False, **quiet)
        else:
            _check(address)
            ray.init(address=address, **quiet)
    except (ConnectionError, OSError) as error:
        raise RuntimeError(f"no Ray cluster answers at {address}: {error}") from error


def _check(address: str) -> None:
    """Ray waits for minutes where nobody listens."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=5.0).close()


class _Carrier:
    def __init__(self, ray: Any, driver: Any, staging: str | None) -> None:
        self.ray, self.driver, self.staging = ray, driver, staging
        self.tables = driver.tables()
        self.facts = ray.put(driver.facts())
        self.data: dict[int, Any] = {}
        self.running: dict[Any, tuple[int, bool]] = {}
        self.remote = ray.remote(_task)
        self.n_workers, self.most_memory, self.looked = 1, 0.0, 0.0

    def run(self) -> None:
        while True:
            more = self._fill()
            if not self.running:
                if more:
                    continue
                return
            self._take_in()
            if self.driver.is_cancelled():
                # Whatever runs is given up: the store has all that came back.
                for ref in self.running:
                    self.ray.cancel(ref, force=True)
                return

    def _fill(self) -> bool:
        """Sends tasks out until enough are on their way; false once there are no more."""
        self._look()
        while len(self.running) < IN_FLIGHT * self.n_workers:
            task = self.driver.next(self.n_workers)
            if task == "done":
                return False
            if task == "wait":
                return True
            try:
                ref = self._send(task)
            except OSError as error:
                self.driver.failed(task["id"], str(error), False)
                continue
            self.running[ref] = (task["id"], task["task"] == "measure")
        return True

    def _look(self) -> None:
        """How many workers there are, and the memory of the largest node: clusters grow and shrink."""
        if time.monotonic() - self.looked > LOOK:
            alive = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
            self.n_workers = max(1, int(sum(node.get("CPU", 0.0) for node in alive)))
            self.most_memory = 0.9 * max((node.get("memory", 0.0) for node in alive), default=0.0)
            self.looked = time.monotonic()

    def _send(self, task: dict[str, Any]) -> Any:
        name, place, target, is_elsewhere = self.tables[task["table"]]
        memory = task.get("memory_bytes", 0)
        # A task that is expected to need more than a node has would wait for ever: it is tried all the same.
        options: dict[str, Any] = {"num_cpus": 1, "max_retries": 0}
        if memory and memory < self.most_memory:
            options["memory"] = memory
        data = None if is_elsewhere else self._bytes(task["table"], place)
        what = {"version": __version__, "name": name, "place": place, "target": target, "staging": self.staging}
        item = (task["item"], task["limit_secs"]) if task["task"] == "run" else None
        return self.remote.options(name=f"{task['task']} {name}", **options).remote(what, data, self.facts, item)

    def _bytes(self, table: int, place: str) -> Any:
        """A file's bytes in the object store, from where each node fetches them once."""
        if table not in self.data:
            self.data[table] = self.ray.put(np.fromfile(place, dtype=np.uint8))
        return self.data[table]

    def _take_in(self) -> None:
        refs = list(self.running)
        ready, _ = self.ray.wait(refs, num_returns=1, timeout=LOOK, fetch_local=False)
        if ready:
            more, _ = self.ray.wait(refs, num_returns=len(refs), timeout=0, fetch_local=False)
            ready = more or ready
        for ref in ready:
            task, is_measuring = self.running.pop(ref)
            try:
                came = self.ray.get(ref)
            except self.ray.exceptions.RayTaskError as error:
                cause = error.cause if getattr(error, "cause", None) is not None else error
                if isinstance(cause, Outdated):
                    raise RuntimeError(str(cause)) from None
                self.driver.failed(task, str(cause).strip() or type(cause).__name__, False)
                continue
            except self.ray.exceptions.RayError as error:
                # The worker, its node, or the object with what it made is gone.
                self.driver.failed(task, _first_line(error), True)
                continue
            if is_measuring:
                self.driver.measured(task, came)
            else:
                self._take_in_shard(task, came)
        for table in self.driver.take_over_tables():
            self.data.pop(table, None)

    def _take_in_shard(self, task: int, came: bytes | str) -> None:
        if isinstance(came, bytes):
            self.driver.finished(task, came)
            return
        try:
            system, path = _file_system(came)
            with system.open_input_stream(path) as stream:
                shard = stream.read()
        except OSError as error:
            self.driver.failed(task, f"{came}: {error}", True)
            return
        self.driver.finished(task, shard)
        system.delete_file(path)


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


# ---- on workers ----

_tables: OrderedDict[tuple[str, str, str | None], Any] = OrderedDict()


def _task(what: dict[str, Any], data: Any, facts: str, item: tuple[str, float] | None) -> bytes | str:
    """Measures a table, or runs pipelines on it."""
    if what["version"] != __version__:
        raise Outdated(
            f"a worker has pitchpipe {__version__}, the driver {what['version']}: install one version on all nodes"
        )
    table = _table(what, data)
    if item is None:
        return str(table.measure())
    shard: bytes = table.work(facts, *item)
    if what["staging"] is None:
        return shard
    return _stage(shard, what["staging"], what["name"])


def _table(what: dict[str, Any], data: Any) -> Any:
    """The table, as it was read before if this worker has it."""
    key = (what["name"], what["place"], what["target"])
    if key not in _tables:
        if data is None:
            data = _fetched(what["place"])
        _tables[key] = _native.CorpusTable(what["name"], what["place"], memoryview(data).tobytes(), what["target"])
    _tables.move_to_end(key)
    while len(_tables) > MOST_TABLES:
        _tables.popitem(last=False)
    return _tables[key]


def _fetched(place: str) -> bytes:
    """A file from elsewhere, which this node keeps."""
    import hashlib

    folder = Path(tempfile.gettempdir()) / "pitchpipe-tables"
    folder.mkdir(exist_ok=True)
    kept = folder / hashlib.sha256(place.encode()).hexdigest()
    if not kept.exists():
        system, path = _file_system(place)
        with system.open_input_stream(path, compression=None) as stream:
            _write(kept, stream.read())
    return kept.read_bytes()


def _stage(shard: bytes, staging: str, name: str) -> str:
    """Leaves a shard where the driver finds it, and says where."""
    import uuid

    place = f"{staging.rstrip('/')}/{name}-{uuid.uuid4().hex}.parquet"
    system, path = _file_system(place)
    if "://" not in staging or staging.startswith("file://"):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with system.open_output_stream(path) as stream:
        stream.write(shard)
    return place


def _file_system(place: str) -> tuple[Any, str]:
    from pyarrow import fs

    if "://" not in place:
        place = Path(place).absolute().as_uri()
    system, path = fs.FileSystem.from_uri(place)
    return system, path


def _write(path: Path, data: bytes) -> None:
    """Writes a file whole or not at all: another worker of the node may do the same."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(data)
    os.replace(file.name, path)
