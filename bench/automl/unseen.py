"""A store without the datasets of a corpus: `unseen.py STORE CORPUS OUT`.

A surrogate that is extended by OUT has not seen the tables that it is then measured on. STORE is in its compact form.
"""

import json
import shutil
import sys
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq


def main():
    store, corpus, out = map(Path, sys.argv[1:])
    names = [line.split(".")[0] for line in (corpus / "INDEX.tsv").read_text().splitlines()[1:]]
    datasets = json.loads((store / "datasets.json").read_text())
    entries = pq.read_table(store / "entries.parquet")
    left = entries.filter(pc.invert(pc.is_in(entries["dataset"], pc.cast(names, entries["dataset"].type))))
    out.mkdir(parents=True)
    shutil.copy(store / "store.json", out)
    (out / "datasets.json").write_text(json.dumps({name: it for name, it in datasets.items() if name not in names}))
    pq.write_table(left, out / "entries.parquet")
    print(f"{entries.num_rows - left.num_rows} of {entries.num_rows} entries left out, of {sum(n in datasets for n in names)} datasets")


if __name__ == "__main__":
    main()
