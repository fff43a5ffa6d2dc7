"""Ray clusters of several nodes on this machine, and stores to compare."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[2]
TABLES = ["examples/data/wine.csv", "examples/data/penguins.csv", "examples/data/breast-cancer.csv.gz"]
QUIET = {**os.environ, "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_DEDUP_LOGS": "0"}

#: What is collected: some hundreds of pipelines a table, of all kinds; some CPU seconds in all.
SCOPE = ["--fraction", "0.03"]


def corpus(folder: Path, names: tuple[str, ...] = ("wine", "penguins", "breast-cancer")) -> Path:
    """A manifest of the example tables."""
    targets = {"wine": "cultivar", "penguins": "species", "breast-cancer": "diagnosis"}
    lines = ["file\ttarget"]
    for table in TABLES:
        name = Path(table).name.split(".")[0]
        if name in names:
            lines.append(f"{ROOT / table}\t{targets[name]}")
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / "corpus.tsv"
    manifest.write_text("\n".join(lines) + "\n")
    return manifest


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "pitchpipe", "meta", *map(str, words)]


def collect(manifest: Path, store: Path, *more: object) -> subprocess.CompletedProcess[str]:
    line = command("collect", manifest, "--store", store, *SCOPE, *more)
    return subprocess.run(line, capture_output=True, text=True, env=QUIET, check=False, timeout=280)


def start(manifest: Path, store: Path, *more: object) -> subprocess.Popen[bytes]:
    line = command("collect", manifest, "--store", store, *SCOPE, *more)
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=QUIET)


def entries(store: Path) -> dict[tuple[str, int], tuple[object, ...]]:
    """All entries without their times; fails where one is there twice."""
    found: dict[tuple[str, int], tuple[object, ...]] = {}
    for shard in sorted((store / "shards").rglob("*.parquet")):
        for row in pq.read_table(shard, partitioning=None).to_pylist():
            key = (row["dataset"], row["pipeline"])
            assert key not in found, f"{key} is there twice"
            del row["runtime_s"], row["marginal_s"]
            found[key] = tuple(tuple(v) if isinstance(v, list) else v for v in row.values())
    return found


def status(store: Path) -> dict[str, object]:
    said = subprocess.run(command("status", store, "--json"), capture_output=True, text=True, check=True)
    read: dict[str, object] = json.loads(said.stdout)
    return read


def n_stored(store: Path) -> int:
    return len(list((store / "shards").rglob("*.parquet"))) if store.exists() else 0


def wait_for_shards(store: Path, n: int, process: subprocess.Popen[bytes], secs: float = 60.0) -> None:
    """Until the store has so many shards, or the process is over."""
    end = time.monotonic() + secs
    while n_stored(store) < n and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)


def workers() -> list[int]:
    """Processes that run a task of ours."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if line.startswith((b"ray::run ", b"ray::measure ", b"ray::_task")):
                found.append(int(entry.name))
    return found


def kill_a_worker(rng: random.Random) -> bool:
    running = workers()
    if not running:
        return False
    try:
        os.kill(rng.choice(running), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def same(a: dict[tuple[str, int], tuple[object, ...]], b: dict[tuple[str, int], tuple[object, ...]]) -> None:
    assert a.keys() == b.keys(), f"{len(a.keys() - b.keys())} more, {len(b.keys() - a.keys())} missing"
    differing = [key for key in a if not _equal(a[key], b[key])]
    assert not differing, f"{len(differing)} differ, such as {differing[0]}: {a[differing[0]]} {b[differing[0]]}"


def _equal(x: object, y: object) -> bool:
    if isinstance(x, tuple) and isinstance(y, tuple):
        return len(x) == len(y) and all(map(_equal, x, y))
    if isinstance(x, float) and isinstance(y, float):
        return x == y or (np.isnan(x) and np.isnan(y))
    return x == y
