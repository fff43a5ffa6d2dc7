"""Pictures of the pages to look at: four fits at desktop, phone and print size, light and dark, and a live page.

    python bench/report/screenshots.py FOLDER

`docs/images` holds a few of them. Run it in the environment of the tests (`requirements/tests.txt`) after building the command.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/python"))

import browser  # noqa: E402
from test_report import PITCHPIPE, table  # noqa: E402

SIZES = {"desktop": {"width": 1200}, "phone": {"width": 390, "height": 844}, "print": {"width": 800, "media": "print"}}

# What the documents show: of which page, and how much from its top, or which section.
KEPT = {
    "report": ("categories and gaps", "desktop", False, 1290),
    "report-phone-light": ("20,000 rows", "phone", False, 1250),
    "report-phone-dark": ("categories and gaps", "phone", True, 1250),
    "report-20000-rows": ("20,000 rows", "desktop", False, 1290),
    "report-print": ("60 rows", "print", False, 1000),
    "report-ensemble": ("categories and gaps", "desktop", False, "ensemble"),
    "report-curves-dark": ("ten classes", "desktop", True, "predictions"),
    "report-columns": ("categories and gaps", "desktop", False, "columns"),
    "report-landscape": ("categories and gaps", "desktop", False, "landscape"),
}
BOX = "(() => { const r = document.getElementById('%s').getBoundingClientRect(); return [r.x + scrollX, r.y + scrollY, r.width, r.height]; })()"


def loans(n_rows, seed):
    """Two classes, categories and gaps, under names that say something."""
    draw = np.random.default_rng(seed)
    income, debt = np.exp(draw.normal(10.3, 0.5, n_rows)), draw.gamma(2, 6000, n_rows)
    years = draw.gamma(2, 3, n_rows).round(1)
    region = draw.choice(["north", "south", "east", "west", "islands"], n_rows, p=[0.3, 0.25, 0.2, 0.2, 0.05])
    work = draw.choice(["employed", "self-employed", "retired", "student"], n_rows, p=[0.6, 0.2, 0.15, 0.05])
    risk = 1.3 * np.log(debt / 6000) - 1.1 * (np.log(income) - 10.3) - 0.1 * years
    risk += 0.5 * (work == "self-employed") + 0.9 * (work == "student") + 0.4 * (region == "islands")
    outcome = np.where(risk + draw.logistic(0, 0.7, n_rows) > 2, "defaulted", "repaid")
    columns = {"income": income.round(), "debt": debt.round(), "age": draw.integers(19, 80, n_rows), "years_at_address": years,
               "region": region.astype(object), "employment": work.astype(object)}
    frame = pd.DataFrame(columns)
    for column, share in {"income": 0.06, "years_at_address": 0.2, "employment": 0.1}.items():
        frame.loc[draw.random(n_rows) < share, column] = None
    return frame.assign(target=outcome)


FITS = {
    "categories and gaps": loans(1200, 0),
    "ten classes": table(1500, 10),
    "20,000 rows": table(20_000, 2),
    "60 rows": table(60, 3),
}


def command(folder, name, budget, *more):
    file = name.replace(" ", "-").replace(",", "")
    FITS[name].to_csv(folder / f"{file}.csv", index=False)
    fixed = ["--target", "target", "--time-budget", budget, "--threads", "2", "--force"]
    return [str(PITCHPIPE), "fit", f"{file}.csv", *fixed, "--out", f"{file}.pp", *more], folder / f"{file}.html"


SECONDS = "30s"


def reports(chromium, folder):
    for name in FITS:
        words, page = command(folder, name, SECONDS)
        subprocess.run([*words, "--report", page.name], cwd=folder, check=True, capture_output=True)
        for size, how in SIZES.items():
            for dark in (False, True):
                if dark and size == "print":
                    continue
                chromium.open(page, dark=dark, **how)
                if size == "print":
                    chromium.evaluate("window.dispatchEvent(new Event('beforeprint'))")
                (folder / f"{page.stem}-{size}{'-dark' if dark else ''}.png").write_bytes(chromium.screenshot())
                for kept, (of, kept_size, kept_dark, part) in KEPT.items():
                    if (of, kept_size, kept_dark) == (name, size, dark):
                        clip = chromium.evaluate(BOX % part) if isinstance(part, str) else (0, 0, how["width"], part)
                        (folder / f"{kept}.png").write_bytes(chromium.screenshot(clip=clip))
                chromium.leave()


def live(chromium, folder):
    words, _ = command(folder, "categories and gaps", "30s")
    process = subprocess.Popen([*words, "--live"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    chromium.open(process.stderr.readline().split()[1])
    chromium.wait_for("RUN.trials.length > 150 && RUN.ensemble.length > 3 && RUN.now > 12", 60)
    chromium.evaluate("drawAll()")
    chromium.wait_for("!document.getElementById('thread-list').textContent.includes('idle')", 20)
    (folder / "live.png").write_bytes(chromium.screenshot(clip=(0, 0, 1200, 1140)))
    chromium.evaluate("askToStop()")
    process.communicate()


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    chromium = browser.Browser(browser.find())
    reports(chromium, folder)
    live(chromium, folder)
    chromium.close()


if __name__ == "__main__":
    main()
