"""How good a model do sixty seconds give on 1,000,000 rows by 50 columns?

Two generated tables: `plain` has products, thresholds and two categories to find, `mixed` ten columns of 40 categories, 3 % of
cells missing, and effects that depend on one another. A model is scored on 100,000 other rows, next to the rule that made
them, noise aside, which is about as well as anything can do, and to peers where they are asked for. The tables are written once
(0.5 GB each).
"""

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from runs import ROOT, run

N_TRAIN, N_TEST, N_NUMBERS = 1_000_000, 100_000, 48
NOISE = 0.4


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", choices=["plain", "mixed", "both"], default="both")
    parser.add_argument("--time-budget", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--peers", default="", help="some of lightgbm-100,lightgbm-400,hist-gradient-boosting,flaml,autogluon")
    parser.add_argument("--python", action="append", default=[], metavar="PEER=PATH", help="the interpreter that has a peer")
    parser.add_argument("--pitchpipe", default=str(ROOT / "target/release/pitchpipe"))
    return parser.parse_args()


def plain_row(draw):
    """The first table's: cells, the rule's class, its probabilities of the classes, and the class."""
    cells = [draw.gauss(0, 1) for _ in range(N_NUMBERS)]
    shop, weekday = draw.choice("abcdefgh"), draw.choice(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))
    score = score_of(cells, shop, weekday)
    low, high = below((-0.4 - score) / NOISE), 1 - below((1 - score) / NOISE)
    shares = {"low": low, "middle": 1 - low - high, "high": high}
    return [f"{cell:.3f}" for cell in cells] + [shop, weekday], kind_of(score), shares, kind_of(score + draw.gauss(0, NOISE))


def below(x):
    """The share of a normal distribution below x."""
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


N_MIXED_NUMBERS, N_MIXED_CATEGORIES, N_LEVELS, GAPS = 40, 10, 40, 0.03
MIXED_NOISE = 0.6
EFFECTS = random.Random(40)
EFFECTS = [[EFFECTS.gauss(0, 1) for _ in range(N_LEVELS)] for _ in range(N_MIXED_CATEGORIES)]


def mixed_row(draw):
    """The second table's. The rule knows the cells that are then lost."""
    x = [draw.gauss(0, 1) for _ in range(N_MIXED_NUMBERS)]
    levels = [draw.randrange(N_LEVELS) for _ in range(N_MIXED_CATEGORIES)]
    e = [EFFECTS[j][level] for j, level in enumerate(levels)]
    score = (
        x[0] * x[1] + e[0] * e[1] + 0.8 * e[2] * x[2] + 0.6 * e[3] + 0.5 * e[4] * (x[3] > 0)
        + 0.5 * abs(x[4]) - 0.4 + 0.4 * x[5] - 0.3 * (x[6] > 1) * e[5]
    )
    cells = [f"{cell:.3f}" for cell in x] + [f"level{level}" for level in levels]
    cells = ["" if draw.random() < GAPS else cell for cell in cells]
    kind = lambda score: "yes" if score > 0.4 else "no"
    yes = below((score - 0.4) / MIXED_NOISE)
    return cells, kind(score), {"yes": yes, "no": 1 - yes}, kind(score + draw.gauss(0, MIXED_NOISE))


TABLES = {
    "plain": (plain_row, [f"x{j}" for j in range(N_NUMBERS)] + ["shop", "weekday"]),
    "mixed": (mixed_row, [f"x{j}" for j in range(N_MIXED_NUMBERS)] + [f"c{j}" for j in range(N_MIXED_CATEGORIES)]),
}


def score_of(cells, shop, weekday):
    return cells[0] * cells[1] + 0.7 * (cells[2] > 0.3) - 0.5 * cells[3] + 0.6 * (shop in "abc") - 0.3 * (weekday in ("sat", "sun"))


def kind_of(score):
    return "low" if score < -0.4 else "high" if score > 1 else "middle"


def write(path, table, n_rows, seed):
    """The table, and beside it each row's class, what the rule says without the noise, and its probabilities."""
    row_of, names = TABLES[table]
    draw, known = random.Random(seed), []
    unfinished = path.with_suffix(".tmp")
    with unfinished.open("w") as file:
        file.write(",".join(names) + ",class\n")
        for _ in range(n_rows):
            cells, expected, shares, kind = row_of(draw)
            if n_rows == N_TEST:
                known.append([kind, expected, shares])
            file.write(",".join(cells) + f",{kind}\n")
    if known:
        path.with_suffix(".known.json").write_text(json.dumps(known))
    unfinished.rename(path)


def balanced_error(truth, said):
    """The paper's: per class the mean of the shares missed and wrongly claimed."""
    errors = []
    for kind in sorted(set(truth)):
        n_true = sum(t == kind for t in truth)
        n_missed = sum(t == kind != s for t, s in zip(truth, said))
        n_claimed = sum(s == kind != t for t, s in zip(truth, said))
        errors.append((n_missed / n_true + n_claimed / (len(truth) - n_true)) / 2)
    return sum(errors) / len(errors)


def area(truth, shares):
    """The area under the ROC curve: each class against the rest, the mean over classes."""
    areas = []
    for kind in sorted(set(truth)):
        pairs = sorted((share[kind], t == kind) for t, share in zip(truth, shares))
        n_true, ranks, at = sum(is_kind for _, is_kind in pairs), 0.0, 0
        while at < len(pairs):
            end = at
            while end < len(pairs) and pairs[end][0] == pairs[at][0]:
                end += 1
            # Equal probabilities share their ranks.
            ranks += (at + 1 + end) / 2 * sum(is_kind for _, is_kind in pairs[at:end])
            at = end
        areas.append((ranks - n_true * (n_true + 1) / 2) / (n_true * (len(pairs) - n_true)))
    return sum(areas) / len(areas)


def line(name, error, area, what=""):
    print(f"{name:<26}{error:>9.4f}{area:>8.4f}   {what}", flush=True)


def run_peer(args, name, train, test, truth):
    """A peer beside: its own decision, and ours on its probabilities."""
    python = dict(said.split("=", 1) for said in args.python).get(name, sys.executable)
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "told.json"
        settings = [args.seed, args.time_budget, args.threads]
        command = [python, Path(__file__).with_name("large_peer.py"), name, train, test, *map(str, settings), out]
        environment = {**os.environ, "OMP_NUM_THREADS": str(args.threads)}
        if subprocess.run(command, env=environment).returncode != 0:
            return print(f"{name:<26} failed")
        told = json.loads(out.read_text())
    shares = [dict(zip(told["classes"], row)) for row in told["probabilities"]]
    own = balanced_error(truth, told["own"])
    what = f"fitted in {told['fit_secs']:.1f} s after reading for {told['read_secs']:.1f}; {own:.4f} by its own decision"
    line(name, balanced_error(truth, told["decided"]), area(truth, shares), what)


def tables(table):
    """The table to learn from and that to predict, written where they are not there yet."""
    folder = ROOT / "target/bench/promises/tables"
    folder.mkdir(parents=True, exist_ok=True)
    prefix = "large" if table == "plain" else "large-mixed"
    train, test = folder / f"{prefix}-1000000x50.csv", folder / f"{prefix}-100000x50.csv"
    for path, n_rows, seed in [(train, N_TRAIN, 1), (test, N_TEST, 2)]:
        is_known = n_rows == N_TRAIN or path.with_suffix(".known.json").exists()
        if not (path.exists() and is_known):
            print(f"writing {path.name}", flush=True)
            write(path, table, n_rows, seed)
    return train, test


def measure(args, table):
    train, test = tables(table)
    with tempfile.TemporaryDirectory() as place:
        model = Path(place) / "model.pp"
        arguments = [args.pitchpipe, "fit", train, "--target", "class", "--time-budget", f"{args.time_budget}s", "--threads", str(args.threads)]
        result = run([*arguments, "--seed", str(args.seed), "--out", model, "--quiet"])
        began = time.monotonic()
        evaluated = subprocess.run([args.pitchpipe, "evaluate", model, test, "--json"], capture_output=True, check=True)
        seconds = time.monotonic() - began
    scores = json.loads(evaluated.stdout)["scores"]
    known = json.loads(test.with_suffix(".known.json").read_text())
    truth = [kind for kind, *_ in known]
    print(f"{table}, {args.threads} threads, balanced error by our decision and area under the ROC curve")
    what = f"fitted in {result['seconds']:.2f} s of {args.time_budget:.0f}, {result['peak_bytes'] / 1e9:.2f} GB; scored in {seconds:.1f} s"
    line("pitchpipe", scores["balanced_error"], scores["roc_auc"], what)
    for name in filter(None, args.peers.split(",")):
        run_peer(args, name, train, test, truth)
    rule = balanced_error(truth, [said for _, said, _ in known])
    line("the rule, noise aside", rule, area(truth, [shares for *_, shares in known]))
    return result["code"] == 0 and result["seconds"] <= args.time_budget + 0.1


def main():
    args = options()
    tables = list(TABLES) if args.table == "both" else [args.table]
    is_kept = [measure(args, table) for table in tables]
    sys.exit(0 if all(is_kept) else 1)


if __name__ == "__main__":
    main()
