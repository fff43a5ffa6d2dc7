"""What sharing a collection out on Ray costs: efficiency beside the local collector, overhead, the store, memory.

    cargo xtask bench cluster            or, with the wheel beside requirements/cluster.txt:
    target/venvs/cluster/bin/python bench/cluster/measure.py [--corpus FOLDER] [--out FILE] [--only PART ...]

simulate.py takes what --out writes; parts measured before stay in it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cluster"))

import clusters  # noqa: E402

MEMORY = 300 * 2**20
QUIET: dict[str, Any] = {"include_dashboard": False, "logging_level": "ERROR", "log_to_driver": False}
#: What a shard of some hundred entries takes.
SHARD_BYTES = 12_000


class Enough(Exception):
    """Ends a collection that was begun to measure its driver."""


def collect(manifest: Path, store: Path, scope: list[str], *more: object) -> float:
    """Seconds of one collection in a process of its own."""
    line = clusters.command("collect", manifest, "--store", store, *scope, *more)
    began = time.monotonic()
    subprocess.run(line, check=True, capture_output=True, env=clusters.QUIET)
    return time.monotonic() - began


def efficiency(manifest: Path, scope: list[str], n: int, rounds: int) -> dict[str, float]:
    """The local collector with so many threads and Ray with as many workers, in turn; on a cluster that is up."""
    from ray.cluster_utils import Cluster

    head = {"num_cpus": n, "include_dashboard": False, "object_store_memory": MEMORY}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    local, whole, work = [], [], []
    try:
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                here, there = Path(folder) / "local", Path(folder) / "ray"
                local.append(collect(manifest, here, scope, "--threads", n))
                whole.append(collect(manifest, there, scope, "--engine", "ray", "--address", cluster.address))
                status = clusters.status(there)
                work.append(float(status["elapsed_secs"]))  # type: ignore[arg-type]
                n_local, n_ray = len(clusters.entries(here)), len(clusters.entries(there))
            assert n_local == n_ray, (n_local, n_ray)
    finally:
        cluster.shutdown()
    local_secs, ray_secs, work_secs = map(min, (local, whole, work))
    cpu_secs = float(status["cpu_secs"])  # type: ignore[arg-type]
    return {
        "entries": n_local, "local_secs": local_secs, "ray_secs": ray_secs, "ray_secs_without_start": work_secs,
        "efficiency": local_secs / ray_secs, "efficiency_without_start": local_secs / work_secs,
        "tasks": status["n_tasks"], "entries_per_sec": n_ray / ray_secs, "cpu_secs": cpu_secs,
        "entries_per_cpu_sec": n_ray / cpu_secs,
    }  # fmt: skip


class _Nothing:
    """Says what to do as the driver does, and has nothing done."""

    def __init__(self, n: int) -> None:
        self.n, self.sent, self.came = n, 0, 0

    def tables(self) -> list[tuple[str, str, None, bool]]:
        return [("nothing", os.devnull, None, False)]

    def facts(self) -> str:
        return ""

    def next(self, n_workers: int) -> Any:
        if self.sent == self.n:
            return "wait" if self.came < self.n else "done"
        self.sent += 1
        item = json.dumps({"pipelines": list(range(100)), "n_folds": 3})
        return {"task": "run", "id": self.sent, "table": 0, "item": item, "limit_secs": 60.0, "memory_bytes": 300 << 20}

    def finished(self, task: int, shard: bytes) -> None:
        self.came += 1

    def failed(self, task: int, reason: str, lost: bool) -> None:
        raise RuntimeError(reason)

    def take_over_tables(self) -> list[int]:
        return []

    def is_cancelled(self) -> bool:
        return False


def overhead(n: int, n_workers: int) -> dict[str, float]:
    """What carrying tasks that do nothing costs the driver, with all of them in flight, and with as few as there are workers."""
    import ray
    from pitchpipe import _cluster

    def nothing(what: Any, data: Any, facts: Any, item: Any) -> bytes:
        return b"x" * SHARD_BYTES

    found: dict[str, float] = {}
    ray.init(num_cpus=n_workers, object_store_memory=MEMORY, **QUIET)
    for name, workers in [("few", n_workers), ("many", n // _cluster.IN_FLIGHT)]:
        driver = _Nothing(n)
        carrier = _cluster._Carrier(ray, driver, None)
        carrier.remote = ray.remote(nothing)
        carrier._look = lambda: None  # type: ignore[method-assign]
        carrier.n_workers, carrier.most_memory = workers, float("inf")
        ray.get([carrier.remote.remote(None, None, None, None) for _ in range(50)])
        before, cpu, began = _resident(), time.process_time(), time.monotonic()
        held = before
        if name == "many":
            carrier._fill()
            held = _resident()
        carrier.run()
        secs, cpu_secs = time.monotonic() - began, time.process_time() - cpu
        assert driver.came == n
        found[f"secs_per_task_{name}"] = secs / n
        found[f"driver_cpu_secs_per_task_{name}"] = cpu_secs / n
        found[f"tasks_per_sec_{name}"] = n / secs
    ray.shutdown()
    found["tasks_in_flight"] = n
    found["driver_bytes_per_task_in_flight"] = (held - before) / n
    return found


def many_tables(folder: Path, n: int) -> Path:
    """A manifest of one of the example tables under many names."""
    wine = ROOT / "examples/data/wine.csv"
    lines = ["file\ttarget"]
    for at in range(n):
        place = folder / f"wine-{at:05}.csv"
        place.symlink_to(wine)
        lines.append(f"{place}\tcultivar")
    manifest = folder / "corpus.tsv"
    manifest.write_text("\n".join(lines) + "\n")
    return manifest


def commits(n_tables: int, n_shards: int) -> dict[str, float]:
    """What the driver's own part takes among so many tables: to choose a task, to plan a table, to take a shard in.

    Seconds are those of the CPU, so that they can be compared on a busy machine, and beside them what waiting for the disk
    adds: a shard is on it when the store has it.
    """
    plans: list[float] = []
    chosen: list[float] = []
    takes: list[tuple[int, float, float]] = []
    n_bytes = 0

    def carry(driver: Any, options: object) -> None:
        nonlocal n_bytes
        from pitchpipe import _native

        tables, facts = driver.tables(), driver.facts()
        name, place, target, _ = tables[0]
        data = Path(place).read_bytes()
        measured, before = None, 0
        while len(takes) < n_shards:
            began = time.process_time()
            task = driver.next(100)
            chosen.append(time.process_time() - began)
            assert isinstance(task, dict), task
            name, place, target, _ = tables[task["table"]]
            if task["task"] == "measure":
                measured = measured or _native.CorpusTable(name, place, data, target).measure()
                began = time.process_time()
                driver.measured(task["id"], measured)
                plans.append(time.process_time() - began)
                continue
            shard = _native.CorpusTable(name, place, data, target).work(facts, task["item"], task["limit_secs"])
            n_bytes += len(shard)
            began, wall = time.process_time(), time.perf_counter()
            driver.finished(task["id"], shard)
            secs, wall = time.process_time() - began, time.perf_counter() - wall
            done = driver.status()["n_added"]
            takes.append((done - before, secs, wall - secs))
            before = done
        raise Enough

    with tempfile.TemporaryDirectory() as folder:
        manifest = many_tables(Path(folder), n_tables)
        for task_time in ("0.02s", "0.2s"):
            _run_here(manifest, Path(folder) / f"store-{task_time}", task_time, carry)
            n_shards *= 2
    # A shard costs so much, and each of its entries.
    sizes, secs, disk = np.array(takes, dtype=float).T
    each, once = np.polyfit(sizes, secs, 1)
    return {
        "tables": n_tables, "plan_secs": float(np.median(plans)), "next_secs": float(np.median(chosen)),
        "take_secs": float(max(once, 0.0)), "take_secs_per_entry": float(max(each, 0.0)),
        "disk_secs_per_shard": float(np.median(disk)), "shards": len(takes),
        "entries_per_shard": float(sizes.mean()), "bytes_per_entry": n_bytes / float(sizes.sum()),
    }  # fmt: skip


def in_flight(n: int) -> dict[str, float]:
    """What the driver's own books take with so many tasks on their way: the plans of their tables, and who has what."""
    found: dict[str, float] = {}

    def carry(driver: Any, options: object) -> None:
        from pitchpipe import _native

        name, place, target, _ = driver.tables()[0]
        measured = _native.CorpusTable(name, place, Path(place).read_bytes(), target).measure()
        n_tasks = 0
        while n_tasks < n:
            task = driver.next(n // 2)
            assert isinstance(task, dict), (task, n_tasks)
            if task["task"] == "measure":
                found.setdefault("before", _resident())
                driver.measured(task["id"], measured)
            else:
                n_tasks += 1
        found["after"] = _resident()
        raise Enough

    with tempfile.TemporaryDirectory() as folder:
        _run_here(many_tables(Path(folder), 20), Path(folder) / "store", "0.001s", carry)
    books = found["after"] - found["before"]
    return {"tasks": n, "books_mb": books / 1e6, "books_bytes_per_task": books / n, "driver_mb": found["after"] / 1e6}


def _run_here(manifest: Path, store: Path, task_time: str, carry: Any) -> None:
    """Collects in this process until `carry` has enough; what the command says is swallowed."""
    from pitchpipe import _native

    words = ["pitchpipe", "meta", "collect", str(manifest), "--store", str(store), "--fraction", "1"]
    words += ["--engine", "ray", "--task-time", task_time, "--json"]
    kept = [os.dup(1), os.dup(2)]
    ended: list[BaseException] = []

    def watched(driver: Any, options: object) -> None:
        try:
            carry(driver, options)
        except BaseException as error:
            ended.append(error)
            raise

    with open(os.devnull, "w") as nothing:
        for of in (1, 2):
            os.dup2(nothing.fileno(), of)
        try:
            _native.command(words, watched)
        finally:
            for of, before in zip((1, 2), kept):
                os.dup2(before, of)
                os.close(before)
    if ended and not isinstance(ended[0], Enough):
        raise ended[0]


def _resident() -> int:
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, help="a folder or manifest; by default the example tables")
    parser.add_argument("--scope", default="--fraction 0.5", help="flags of meta collect that say which pipelines")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--only", action="append", choices=["commits", "in_flight", "overhead", "efficiency"])
    parser.add_argument("--out", type=Path, help="where to write what was measured, as JSON")
    args = parser.parse_args()
    found = json.loads(args.out.read_text()) if args.out and args.out.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        examples = clusters.corpus(Path(folder))
        parts = {
            "commits": lambda: commits(args.tables, 60),
            "in_flight": lambda: in_flight(args.tasks),
            "overhead": lambda: overhead(args.tasks, args.workers),
            "efficiency": lambda: efficiency(args.corpus or examples, args.scope.split(), args.workers, args.rounds),
        }
        for what, part in parts.items():
            if args.only is None or what in args.only:
                found[what] = part()
                print(f"{what}:", ", ".join(f"{name} {value:.6g}" for name, value in found[what].items()), flush=True)
                if args.out:
                    args.out.parent.mkdir(parents=True, exist_ok=True)
                    args.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
