"""1,000 cores and 10,000 datasets, simulated from measured times: where is the bottleneck?

    python bench/cluster/simulate.py MEASURED.json [--cores 1000] [--datasets 10000] [--cpu-hours 200]

Events are simulated one by one: the driver is one server, in turn choosing a task, sending it and taking its shard in;
each node fetches a table once over its own link and from the driver's; a core works on one task. Tasks are cut as the driver
cuts them: `longest` while there is much left, an even share towards the end.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
from pathlib import Path

CORES_A_NODE = 32
#: Bytes a second of a node's link: 10 Gbit/s, of which half is had.
LINK = 0.6e9
#: Bytes of a table in the corpora at hand: the mean of the training tables, compressed.
TABLE_BYTES = 200_000.0


def simulate(
    n_cores: int, n_datasets: int, cpu_secs: float, longest: float, shortest: float, driver_secs: float,
    plan_secs: float, shard_bytes: float, seed: int = 0,
) -> dict[str, float]:
    """One run; times in seconds."""
    rng = random.Random(seed)
    # Datasets differ by orders of magnitude, as in the corpora: lognormal with a deviation of 1.5.
    weights = [rng.lognormvariate(0.0, 1.5) for _ in range(n_datasets)]
    scale = cpu_secs / sum(weights)
    left = [weight * scale for weight in weights]
    total, order = sum(left), 0
    driver_free, driver_busy, link_free, link_busy = 0.0, 0.0, 0.0, 0.0
    # A core asks when its task is over: (time, core, table of its last task).
    events = [(0.0, core) for core in range(n_cores)]
    heapq.heapify(events)
    has: set[tuple[int, int]] = set()
    n_tasks, work, end, planned = 0, 0.0, 0.0, -1
    while events:
        now, core = heapq.heappop(events)
        while order < n_datasets and left[order] <= 0.0:
            order += 1
        if order == n_datasets:
            end = max(end, now)
            continue
        wanted = max(shortest, min(longest, total / (2.0 * n_cores)))
        secs = min(left[order], wanted * rng.lognormvariate(0.0, 0.3))
        left[order] -= secs
        total -= secs
        cost = driver_secs + (plan_secs if planned != order else 0.0)
        planned = order
        began = max(now, driver_free)
        driver_free = began + cost
        driver_busy += cost
        ready, node = driver_free, core // CORES_A_NODE
        moved = shard_bytes
        if (node, order) not in has:
            has.add((node, order))
            moved += TABLE_BYTES
        link_free = max(link_free, ready) + moved / LINK
        link_busy += moved / LINK
        n_tasks += 1
        work += secs
        heapq.heappush(events, (link_free + secs, core))
    return {
        "longest": longest, "hours": end / 3600, "efficiency": work / (end * n_cores), "tasks": n_tasks,
        "driver_busy": driver_busy / end, "link_busy": link_busy / end, "tasks_per_sec": n_tasks / end,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("measured", type=Path, help="what measure.py --out wrote")
    parser.add_argument("--cores", type=int, default=1000)
    parser.add_argument("--datasets", type=int, default=10_000)
    parser.add_argument("--cpu-hours", type=float, default=200.0, help="of all tasks together")
    args = parser.parse_args()
    measured = json.loads(args.measured.read_text())
    commits, overhead = measured["commits"], measured["overhead"]
    # The store's part is the driver's, too: it takes shards in one after the other.
    driver = overhead["secs_per_task"] + commits["next_secs"] + commits["take_secs"]
    print(
        f"{args.cores} cores, {args.datasets} datasets, {args.cpu_hours:g} CPU hours; the driver takes {1e3 * driver:.2f} ms a task "
        f"({1e3 * overhead['secs_per_task']:.2f} Ray, {1e3 * commits['next_secs']:.2f} choosing, {1e3 * commits['take_secs']:.2f} the store) "
        f"and {1e3 * commits['plan_secs']:.1f} ms a dataset"
    )
    print(f"so it can feed {1.0 / driver:.0f} tasks a second: {60.0 / driver:.0f} cores with tasks of 60 s, {2.0 / driver:.0f} with tasks of 2 s")
    print("longest task   hours  efficiency    tasks  tasks/s  driver busy  link busy")
    for longest in (2.0, 10.0, 30.0, 60.0, 120.0):
        run = simulate(
            args.cores, args.datasets, 3600.0 * args.cpu_hours, longest, min(2.0, longest), driver,
            commits["plan_secs"], commits["bytes_per_shard"],
        )
        print(
            f"{longest:10.0f} s  {run['hours']:6.2f}  {run['efficiency']:9.1%}  {run['tasks']:8.0f}  {run['tasks_per_sec']:6.1f}  "
            f"{run['driver_busy']:10.1%}  {run['link_busy']:8.1%}"
        )


if __name__ == "__main__":
    main()
