"""What sharing a collection out on Ray costs: efficiency beside the local collector, overhead, memory.

    target/venvs/cluster/bin/python bench/cluster/measure.py [--corpus FOLDER] [--out FILE]

The environment: the wheel beside requirements/cluster.txt. simulate.py takes what --out writes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cluster"))

import clusters  # noqa: E402


def collect(manifest: Path, store: Path, scope: list[str], *more: object) -> tuple[float, int]:
    """Seconds and entries of one collection in a process of its own."""
    line = clusters.command("collect", manifest, "--store", store, *scope, *more)
    began = time.monotonic()
    subprocess.run(line, check=True, capture_output=True, env=clusters.QUIET)
    secs = time.monotonic() - began
    return secs, len(clusters.entries(store))


def efficiency(manifest: Path, scope: list[str], n: int) -> dict[str, float]:
    """The local collector with so many threads, and Ray with as many workers; on a cluster that is up."""
    from ray.cluster_utils import Cluster

    with tempfile.TemporaryDirectory() as folder:
        local_secs, n_local = collect(manifest, Path(folder) / "local", scope, "--threads", n)
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": n, "include_dashboard": False})
        try:
            line = ["--engine", "ray", "--address", cluster.address]
            ray_secs, n_ray = collect(manifest, Path(folder) / "ray", scope, *line)
            status = clusters.status(Path(folder) / "ray")
        finally:
            cluster.shutdown()
    assert n_local == n_ray, (n_local, n_ray)
    return {
        "entries": n_local, "local_secs": local_secs, "ray_secs": ray_secs, "efficiency": local_secs / ray_secs,
        "tasks": status["n_tasks"], "entries_per_sec": n_ray / ray_secs, "cpu_secs": status["cpu_secs"],
    }


def overhead(n: int) -> dict[str, float]:
    """Seconds a task that does nothing, with a shard of 100 entries on its way back; memory with all in flight."""
    import numpy as np
    import ray

    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    table = ray.put(np.zeros(200_000, dtype=np.uint8))

    @ray.remote
    def nothing(table: object) -> bytes:
        return b"x" * 12_000

    ray.get([nothing.remote(table) for _ in range(50)])
    before = _resident()
    began = time.monotonic()
    refs = [nothing.options(num_cpus=1, name="run x", max_retries=0).remote(table) for _ in range(n)]
    sent = time.monotonic() - began
    held = _resident() - before
    while refs:
        ready, refs = ray.wait(refs, num_returns=min(100, len(refs)), fetch_local=False)
        ray.get(ready)
    secs = time.monotonic() - began
    ray.shutdown()
    return {
        "tasks": n, "secs_per_task": secs / n, "send_secs_per_task": sent / n,
        "driver_bytes_per_task_in_flight": held / n, "driver_mb": _resident() / 1e6,
    }


def commits(manifest: Path) -> dict[str, float]:
    """Seconds that the driver takes to plan a table and to take in a shard, with the store on this disk."""
    from pitchpipe import _native

    found: dict[str, float] = {}

    def carry(driver: object, options: object) -> None:
        tables, facts = driver.tables(), driver.facts()
        read, plans, chosen, takes, n_entries, n_bytes = {}, [], [], [], 0, 0
        while True:
            began = time.perf_counter()
            task = driver.next(1000)
            chosen.append(time.perf_counter() - began)
            if isinstance(task, str):
                break
            name, place, target, _ = tables[task["table"]]
            if task["table"] not in read:
                read[task["table"]] = _native.CorpusTable(name, place, Path(place).read_bytes(), target)
            table = read[task["table"]]
            if task["task"] == "measure":
                measured = table.measure()
                began = time.perf_counter()
                driver.measured(task["id"], measured)
                plans.append(time.perf_counter() - began)
                continue
            shard = table.work(facts, task["item"], task["limit_secs"])
            n_bytes += len(shard)
            began = time.perf_counter()
            driver.finished(task["id"], shard)
            takes.append(time.perf_counter() - began)
        n_entries = driver.status()["n_added"]
        found.update(
            plan_secs=sum(plans) / len(plans), next_secs=sum(chosen) / len(chosen), take_secs=sum(takes) / len(takes),
            shards=len(takes), entries_per_shard=n_entries / len(takes), bytes_per_shard=n_bytes / len(takes),
        )

    with tempfile.TemporaryDirectory() as folder:
        words = ["pitchpipe", "meta", "collect", str(manifest), "--store", str(Path(folder) / "store")]
        words += [*clusters.SCOPE, "--engine", "ray", "--task-time", "0.5s", "--json"]
        with open(os.devnull, "w") as nothing:
            kept = os.dup(1)
            os.dup2(nothing.fileno(), 1)
            code = _native.command(words, carry)
            os.dup2(kept, 1)
        assert code == 0
    return found


def _resident() -> int:
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, help="a folder or manifest; by default the example tables")
    parser.add_argument("--scope", default="--fraction 0.05", help="flags of meta collect that say which pipelines")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--out", type=Path, help="where to write what was measured, as JSON")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        examples = clusters.corpus(Path(folder))
        found = {
            "commits": commits(examples),
            "overhead": overhead(args.tasks),
            "efficiency": efficiency(args.corpus or examples, args.scope.split(), args.workers),
        }
    found["driver_peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    for what, numbers in found.items():
        shown = numbers if isinstance(numbers, float) else ", ".join(f"{k} {v:.6g}" for k, v in numbers.items())
        print(f"{what}: {shown}")
    if args.out:
        args.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
