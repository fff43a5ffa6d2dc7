"""Does Ctrl-C, whenever it comes, leave a model that loads or a message that says why not?

SIGINT at random moments of searches on random tables. Exit code 3 means that the best model so far was written, 1 that
there was none yet; in the first instants, before the process listens, the signal itself ends it.
"""

import argparse
import random
import signal
import sys
import tempfile
from pathlib import Path

from runs import ROOT, Record, corpus, generated, loads, run, target_of


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--latest", type=float, default=8.0, help="seconds after which no signal comes")
    parser.add_argument("--pitchpipe", default=str(ROOT / "target/release/pitchpipe"))
    parser.add_argument("--corpus", default=str(ROOT / "../shared/corpus/test"))
    parser.add_argument("--record", default=str(ROOT / "target/bench/promises/interrupt.jsonl"))
    return parser.parse_args()


def plan(args, tables, large):
    for i in range(args.runs):
        draw = random.Random(f"interrupt {args.seed} {i}")
        path, target = large[i // 5 % 2] if i % 5 == 0 else draw.choice(tables)
        # As many early moments as late ones: the first second holds most of the stages.
        moment = round(args.latest ** draw.uniform(-1.2, 1), 3)
        yield {"key": f"{args.seed} {i} {path.name}", "path": str(path), "target": target, "moment": moment}


def measure(args, job):
    target = target_of(args.pitchpipe, job["path"], job["target"])
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.pp"
        arguments = [args.pitchpipe, "fit", job["path"], "--target", target, "--time-budget", "60s", "--out", str(model), "--quiet"]
        result = run(arguments, job["moment"], signal.SIGINT)
        model_loads = model.exists() and loads(args.pitchpipe, model)
        left_over = [path.name for path in Path(folder).iterdir() if path != model]
    return {**job, **result, "model_loads": model_loads, "left_over": left_over}


def problem(row):
    said = " ".join(row["said"])
    if row["left_over"]:
        return f"left {row['left_over']}"
    if row["code"] in (0, 3):
        return None if row["model_loads"] else "NO MODEL"
    if row["code"] == 1:
        return None if "interrupted before" in said else f"UNCLEAR: {said}"
    if row["code"] == -signal.SIGINT and row["moment"] < 0.1:
        return None
    return f"EXIT CODE {row['code']}: {said}"


def main():
    args = options()
    record = Record(args.record)
    tables, large = corpus(args.corpus), generated(ROOT / "target/bench/promises/tables")
    rows = []
    for job in plan(args, tables, large):
        if job["key"] not in record.rows:
            record.add(measure(args, job))
        row = record.rows[job["key"]]
        rows.append(row)
        after = row["after_signal"] * 1e3
        print(
            f"{Path(row['path']).name[:32]:<32} at {row['moment']:>6.3f}s  exit {row['code']:>2}  {after:>6.0f} ms later  {problem(row) or ''}",
            flush=True,
        )
    late = sorted(row["after_signal"] for row in rows)
    kept = sum(row["model_loads"] for row in rows)
    wrong = sum(problem(row) is not None for row in rows)
    print(f"\n{len(rows)} interrupts: {kept} models that load, {len(rows) - kept - wrong} messages, {wrong} wrong;", end=" ")
    print(f"the process ended {late[len(late) // 2] * 1e3:.0f} ms later (median), {late[-1] * 1e3:.0f} ms at most")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
