"""1,000 cores and 10,000 datasets, simulated from measured times: where is the bottleneck?

    python bench/cluster/simulate.py MEASURED.json [--cores 1000] [--datasets 10000] [--cpu-hours 830]

Events are simulated one by one. The driver is one server, in turn planning a table, choosing a task, sending it and taking
its shard into the store; its link is another, over which each node fetches a table once and shards come back; a core works
on one task at a time and asks for the next. Tasks are cut as the driver cuts them: `longest` while there is much left, an
even share towards the end, none shorter than two seconds. 830 CPU hours are all 23,475 pipelines of 10,000 datasets.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
from dataclasses import dataclass
from pathlib import Path

CORES_A_NODE = 32
#: Bytes a second of the driver's link: 10 Gbit/s, of which half is had.
LINK = 0.6e9
#: Bytes of a table in the corpora at hand: the mean of the training tables, compressed.
TABLE_BYTES = 200_000.0
SHORTEST = 2.0
#: All pipelines of 10,000 datasets in 830 CPU hours, as 241 of the training tables took them.
ENTRIES_PER_SEC = 10_000 * 23_475 / (830 * 3600)


@dataclass
class Costs:
    """Seconds of the driver, as measured."""

    carry: float
    choose: float
    plan: float
    take: float
    take_entry: float
    bytes_per_entry: float

    @staticmethod
    def of(measured: dict[str, dict[str, float]]) -> Costs:
        commits, overhead = measured["commits"], measured["overhead"]
        return Costs(
            # The driver's own CPU time: tasks that do nothing also wait for the workers of the machine that measured.
            carry=overhead["driver_cpu_secs_per_task_many"], choose=commits["next_secs"], plan=commits["plan_secs"] + commits["disk_secs_per_shard"],
            take=commits["take_secs"] + commits["disk_secs_per_shard"], take_entry=commits["take_secs_per_entry"],
            bytes_per_entry=commits["bytes_per_entry"],
        )  # fmt: skip

    def task(self, secs: float) -> dict[str, float]:
        """Of one task of this length."""
        entries = secs * ENTRIES_PER_SEC
        return {"ray": self.carry, "choosing": self.choose, "the store": self.take + entries * self.take_entry}


def simulate(
    costs: Costs, n_cores: int, n_datasets: int, cpu_secs: float, longest: float, seed: int = 0
) -> dict[str, float]:
    """One run; times in seconds."""
    rng = random.Random(seed)
    # Datasets differ by orders of magnitude, as in the corpora: lognormal with a deviation of 1.5.
    weights = [rng.lognormvariate(0.0, 1.5) for _ in range(n_datasets)]
    scale = cpu_secs / sum(weights)
    left = [weight * scale for weight in weights]
    total, order = sum(left), 0
    driver_free, link_free, link_busy = 0.0, 0.0, 0.0
    busy = {"ray": 0.0, "choosing": 0.0, "the store": 0.0, "planning": 0.0}
    # A core asks when its task is over: (time, core).
    events = [(0.0, core) for core in range(n_cores)]
    heapq.heapify(events)
    has: set[tuple[int, int]] = set()
    n_tasks, work, end, planned = 0, 0.0, 0.0, -1
    while events:
        now, core = heapq.heappop(events)
        end = max(end, now)
        while order < n_datasets and left[order] <= 1e-9:
            order += 1
        if order == n_datasets:
            continue
        wanted = max(SHORTEST, min(longest, total / (2.0 * n_cores)))
        expected = min(left[order], wanted)
        left[order] -= expected
        total -= expected
        # Tasks take another time than predicted.
        secs = expected * rng.lognormvariate(-0.045, 0.3)
        parts = costs.task(expected)
        if planned != order:
            planned = order
            # Planned from a task of its own, which measured the table.
            parts = {**parts, "planning": costs.plan, "ray": parts["ray"] + costs.carry}
        for name, cost in parts.items():
            busy[name] += cost
        driver_free = max(now, driver_free) + sum(parts.values())
        node = core // CORES_A_NODE
        moved = expected * ENTRIES_PER_SEC * costs.bytes_per_entry
        if (node, order) not in has:
            has.add((node, order))
            moved += TABLE_BYTES
        link_free = max(link_free, driver_free) + moved / LINK
        link_busy += moved / LINK
        n_tasks += 1
        work += secs
        heapq.heappush(events, (link_free + secs, core))
    found = {f"busy: {name}": secs / end for name, secs in busy.items()}
    found["busy: link"] = link_busy / end
    return {
        "hours": end / 3600, "efficiency": work / (end * n_cores), "tasks": n_tasks, "tasks_per_sec": n_tasks / end,
        "driver": sum(busy.values()) / end, **found,
    }  # fmt: skip


def show(costs: Costs, cores: int, datasets: int, cpu_hours: float, longest: float) -> None:
    run = simulate(costs, cores, datasets, 3600.0 * cpu_hours, longest)
    parts = "  ".join(f"{run['busy: ' + name]:9.2%}" for name in ("ray", "choosing", "planning", "the store", "link"))
    print(
        f"{cores:6d}  {cpu_hours:9.0f}  {longest:5.0f} s  {run['hours']:7.3f}  {run['efficiency']:9.1%}  "
        f"{run['tasks']:8.0f}  {run['tasks_per_sec']:7.1f}  {run['driver']:7.1%}  {parts}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("measured", type=Path, help="what measure.py --out wrote")
    parser.add_argument("--cores", type=int, default=1000)
    parser.add_argument("--datasets", type=int, default=10_000)
    parser.add_argument("--cpu-hours", type=float, default=830.0, help="of all tasks together")
    args = parser.parse_args()
    costs = Costs.of(json.loads(args.measured.read_text()))
    print(
        f"a task costs the driver {1e3 * costs.carry:.2f} ms to carry, {1e3 * costs.choose:.2f} to choose, "
        f"{1e3 * costs.take:.2f} and {1e6 * costs.take_entry:.1f} us an entry to put into the store; "
        f"a dataset {1e3 * costs.plan:.1f} ms to plan"
    )
    print(
        f"{args.datasets} datasets; shares of the time that the driver is busy, and of those its parts and its link\n"
        " cores  CPU hours  tasks    hours  efficiency     tasks  tasks/s   driver        ray   choosing   planning  "
        "the store       link"
    )
    for longest in (2.0, 10.0, 60.0, 120.0):
        show(costs, args.cores, args.datasets, args.cpu_hours, longest)
    # A twentieth of the pipelines, as the paper's sparse collections have it.
    show(costs, args.cores, args.datasets, args.cpu_hours / 20.0, 60.0)
    # As many more cores and as much more work on each dataset.
    for cores in (4 * args.cores, 16 * args.cores):
        show(costs, cores, args.datasets, args.cpu_hours * cores / args.cores, 60.0)
    for longest in (2.0, 60.0):
        parts = costs.task(longest)
        # Each dataset is planned once, from a task of its own.
        a_dataset = costs.plan + costs.carry
        n_tasks = max(1.0, 3600.0 * args.cpu_hours / args.datasets / longest)
        parts["planning"] = a_dataset / n_tasks
        slowest = max(parts, key=lambda name: parts[name])
        each = sum(parts.values())
        print(
            f"tasks of {longest:g} s: the driver is the bottleneck, {each * 1e3:.2f} ms a task, most of it {slowest} "
            f"({parts[slowest] * 1e3:.2f} ms): {1.0 / each:.0f} tasks a second, {longest / each:.0f} cores"
        )


if __name__ == "__main__":
    main()
