"""The authors' own design loop, loaded from their wheel, timed and its selections written down.

usage: design.py WHEEL FOLDER, with FOLDER holding y.f32 (rank x pipelines), secs.f64 and limit.txt
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import json
import pathlib
import sys
import time
import types
import zipfile

import numpy as np

wheel, folder = sys.argv[1], pathlib.Path(sys.argv[2])
# Their module imports packages the loop does not use; empty ones will do.
for name in ["oboe", "oboe.linalg", "openml", "pandas"]:
    sys.modules.setdefault(name, types.ModuleType(name))
module = types.ModuleType("oboe.experiment_design")
module.__package__ = "oboe"
exec(zipfile.ZipFile(wheel).read("oboe/experiment_design.py").decode(), module.__dict__)

secs = np.fromfile(folder / "secs.f64")
y = np.fromfile(folder / "y.f32", np.float32).reshape(-1, len(secs)).astype(np.float64)
limit = float((folder / "limit.txt").read_text())

start, used, case = module.pivot_columns_time(y, secs, limit, rank=len(y))
began = time.process_time()
chosen = module.greedy_stepwise_selection_with_time(y, secs, start, used, limit)
took = time.process_time() - began
steps = len(chosen) - len(start)
result = {"case": case, "chosen": [int(j) for j in chosen], "ms_per_step": 1e3 * took / (steps + 1), "steps": steps}
(folder / "published.json").write_text(json.dumps(result))
