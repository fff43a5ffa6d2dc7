"""How good a model do sixty seconds give on 1,000,000 rows by 50 columns?

Two generated tables: `plain` has products, thresholds and two categories to find, `mixed` ten columns of 40 categories, 3 % of
cells missing, and effects that depend on one another. A model is scored on 100,000 other rows, next to the rule that made
them, noise aside, which is about as well as anything can do. The tables are written once (0.5 GB each).
"""

import argparse
import json
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
    parser.add_argument("--pitchpipe", default=str(ROOT / "target/release/pitchpipe"))
    return parser.parse_args()


def plain_row(draw):
    """The first table's: cells, the rule's class, and the class."""
    cells = [draw.gauss(0, 1) for _ in range(N_NUMBERS)]
    shop, weekday = draw.choice("abcdefgh"), draw.choice(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))
    score = score_of(cells, shop, weekday)
    return [f"{cell:.3f}" for cell in cells] + [shop, weekday], kind_of(score), kind_of(score + draw.gauss(0, NOISE))


N_MIXED_NUMBERS, N_MIXED_CATEGORIES, N_LEVELS, GAPS = 40, 10, 40, 0.03
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
    return cells, kind(score), kind(score + draw.gauss(0, 0.6))


TABLES = {
    "plain": (plain_row, [f"x{j}" for j in range(N_NUMBERS)] + ["shop", "weekday"]),
    "mixed": (mixed_row, [f"x{j}" for j in range(N_MIXED_NUMBERS)] + [f"c{j}" for j in range(N_MIXED_CATEGORIES)]),
}


def score_of(cells, shop, weekday):
    return cells[0] * cells[1] + 0.7 * (cells[2] > 0.3) - 0.5 * cells[3] + 0.6 * (shop in "abc") - 0.3 * (weekday in ("sat", "sun"))


def kind_of(score):
    return "low" if score < -0.4 else "high" if score > 1 else "middle"


def write(path, table, n_rows, seed):
    """The table, and how often the rule without the noise is wrong: pairs of what is and what it says."""
    row_of, names = TABLES[table]
    draw, confusion = random.Random(seed), {}
    unfinished = path.with_suffix(".tmp")
    with unfinished.open("w") as file:
        file.write(",".join(names) + ",class\n")
        for _ in range(n_rows):
            cells, expected, kind = row_of(draw)
            confusion[kind, expected] = confusion.get((kind, expected), 0) + 1
            file.write(",".join(cells) + f",{kind}\n")
    path.with_suffix(".json").write_text(json.dumps([[*pair, n] for pair, n in confusion.items()]))
    unfinished.rename(path)


def balanced_error(confusion):
    """The paper's: per class the mean of the shares missed and wrongly claimed."""
    total = sum(n for *_, n in confusion)
    errors = []
    for kind in {row[0] for row in confusion}:
        n_true = sum(n for truth, _, n in confusion if truth == kind)
        n_missed = sum(n for truth, said, n in confusion if truth == kind != said)
        n_claimed = sum(n for truth, said, n in confusion if said == kind != truth)
        errors.append((n_missed / n_true + n_claimed / (total - n_true)) / 2)
    return sum(errors) / len(errors)


def measure(args, table):
    folder = ROOT / "target/bench/promises/tables"
    folder.mkdir(parents=True, exist_ok=True)
    prefix = "large" if table == "plain" else "large-mixed"
    train, test = folder / f"{prefix}-1000000x50.csv", folder / f"{prefix}-100000x50.csv"
    for path, n_rows, seed in [(train, N_TRAIN, 1), (test, N_TEST, 2)]:
        if not path.exists():
            print(f"writing {path.name}", flush=True)
            write(path, table, n_rows, seed)
    with tempfile.TemporaryDirectory() as place:
        model = Path(place) / "model.pp"
        arguments = [args.pitchpipe, "fit", train, "--target", "class", "--time-budget", f"{args.time_budget}s"]
        result = run([*arguments, "--seed", str(args.seed), "--out", model, "--quiet"])
        began = time.monotonic()
        evaluated = subprocess.run([args.pitchpipe, "evaluate", model, test, "--json"], capture_output=True, check=True)
        seconds = time.monotonic() - began
    errors = json.loads(evaluated.stdout)
    rule = balanced_error(json.loads(test.with_suffix(".json").read_text()))
    print(f"{table}: fitted in {result['seconds']:.2f} s of {args.time_budget:.0f}, {result['peak_bytes'] / 1e9:.2f} GB at most")
    print(f"scored 100,000 rows in {seconds:.1f} s: {json.dumps(errors.get('scores', errors))[:400]}")
    print(f"the rule itself, noise aside, has a balanced error of {rule:.4f}", flush=True)
    return result["code"] == 0 and result["seconds"] <= args.time_budget + 0.1


def main():
    args = options()
    tables = list(TABLES) if args.table == "both" else [args.table]
    is_kept = [measure(args, table) for table in tables]
    sys.exit(0 if all(is_kept) else 1)


if __name__ == "__main__":
    main()
