"""EM completion and KFMC in plain f32 numpy, and EM around tensorly's tucker.

Usage: peer.py FOLDER WHAT..., where FOLDER holds values.f32 and mask.u8 (row-major) and shape.json.
Prints one JSON object a line: what, CPU seconds, rounds, relative error on the held-out entries.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np


def additive(a, o):
    n_row, n_col = o.sum(1), o.sum(0)
    mu = a.sum(dtype=np.float64) / o.sum()
    r, c = np.zeros(a.shape[0], np.float32), np.zeros(a.shape[1], np.float32)
    row_total, col_total = a.sum(1), a.sum(0)
    for _ in range(5):
        r = (row_total - o @ c) / n_row - mu
        c = (col_total - mu * n_col - r @ o) / (n_col + 1)
    return np.where(o > 0, a, (mu + r)[:, None] + c).astype(np.float32)


def leading(gram, k):
    return np.linalg.eigh(gram.astype(np.float64))[1][:, -k:].astype(np.float32)


def settled(history, residual):
    history.append(residual)
    return len(history) >= 3 and (history[-2] - residual) / history[-2] < 1e-4


def em_matrix(a, o, k):
    e, seen, history = additive(a, o), o > 0, []
    while len(history) < 1000:
        u = leading(e @ e.T, k)
        p = u @ (u.T @ e)
        residual = float(np.linalg.norm((a - p)[seen]))
        e = np.where(seen, a, p)
        if settled(history, residual):
            break
    return e, len(history)


def em_tucker(a, o, k):
    m, f = a.shape[0], 183
    e, seen, history = additive(a, o), o > 0, []
    flat = e.reshape(-1, f)
    u6 = leading(flat.T @ flat, k)
    while len(history) < 1000:
        c = (e.reshape(-1, f) @ u6).reshape(m, -1)
        u1 = leading(c @ c.T, k)
        d = (u1.T @ e).reshape(-1, f)
        u6 = leading(d.T @ d, k)
        p = u1 @ ((d @ u6) @ u6.T).reshape(k, -1)
        residual = float(np.linalg.norm((a - p)[seen]))
        e = np.where(seen, a, p)
        if settled(history, residual):
            break
    return e, len(history)


def kernel(d, x, s2):
    squares = (d * d).sum(0)[:, None] + (x * x).sum(0)[None, :] - 2 * (d.T @ x)
    return np.exp(-np.maximum(squares, 0) / (2 * s2))


def kfmc(a, o, passes, beta=0.01, batch=500, n_iter=10, eta=0.5, gamma=1.1):
    rng = np.random.default_rng(0)
    e, missing = additive(a, o), o == 0
    m, n = e.shape
    r = m
    sample = e[:, rng.choice(n, 1000, replace=False)].astype(np.float64)
    g = sample.T @ sample
    q = np.diag(g)
    distance = np.sqrt(np.maximum(q[:, None] + q - 2 * g, 0))
    s2 = float(distance[np.triu_indices(1000, 1)].mean()) ** 2
    d = e[:, rng.choice(n, r, replace=False)].copy()
    vd = np.zeros_like(d)
    for _ in range(passes):
        order = rng.permutation(n)
        for start in range(0, n, batch):
            columns = order[start : start + batch]
            x, gaps = e[:, columns], missing[:, columns]
            k_dd = kernel(d, d, s2)
            c = np.linalg.inv(k_dd + beta * np.eye(r, dtype=np.float32))
            v = np.zeros_like(x)
            for _ in range(n_iter):
                k = kernel(d, x, s2)
                w = (c @ k) * k
                total = np.maximum(w.sum(0), 1e-12)
                v = eta * v + (x - (d @ w) / total) / gamma
                step = np.where(gaps, v, 0)
                x = x - step
                if np.abs(step).max() < 1e-5:
                    break
            k = kernel(d, x, s2)
            z = c @ k
            t1, t2 = -(z * k), 0.5 * (z @ z.T) * k_dd
            c1, c2 = t1.sum(1), t2.sum(0)
            grad = (x @ t1.T - d * c1) / s2 + (2 / s2) * (d @ t2 - d * c2)
            tau = gamma * np.linalg.norm((2 * t2 - np.diag(c1 + 2 * np.abs(c2))) / s2, 2)
            vd = eta * vd + grad / tau
            d = d - vd
            e[:, columns] = x
    # The codes of all columns under the final dictionary, as ours are.
    c = np.linalg.inv(kernel(d, d, s2) + beta * np.eye(r, dtype=np.float32))
    for start in range(0, n, batch):
        c @ kernel(d, e[:, start : start + batch], s2)
    return e, passes


def em_tensorly(a, o, k, shape, most):
    import tensorly.decomposition

    e, seen, history = additive(a, o), o > 0, []
    while len(history) < most:
        ranks = [k, *shape[1:-1], k]
        core, factors = tensorly.decomposition.tucker(e.reshape(shape), rank=ranks)
        p = tensorly.tucker_to_tensor((core, factors)).reshape(a.shape)
        residual = float(np.linalg.norm((a - p)[seen]))
        e = np.where(seen, a, p).astype(np.float32)
        print(f"tensorly: round {len(history) + 1}, residual {residual:.4f}", file=sys.stderr, flush=True)
        if settled(history, residual):
            break
    return e, len(history)


def main():
    folder = Path(sys.argv[1])
    about = json.loads((folder / "shape.json").read_text())
    shape, rank = about["shape"], about["rank"]
    truth = np.fromfile(folder / "values.f32", np.float32).reshape(shape[0], -1)
    codes = np.fromfile(folder / "mask.u8", np.uint8).reshape(truth.shape)  # 1 seen, 2 held out
    o = (codes == 1).astype(np.float32)
    a, held = truth * o, codes == 2
    for what in sys.argv[2:]:
        start = time.process_time()
        if what == "tucker":
            e, rounds = em_tucker(a, o, rank)
        elif what == "matrix":
            e, rounds = em_matrix(a, o, rank)
        elif what == "kfmc":
            e, rounds = kfmc(a, o, 1)
        else:
            e, rounds = em_tensorly(a, o, rank, shape, int(what.removeprefix("tensorly")))
        secs = time.process_time() - start
        error = float(((truth - e)[held] ** 2).sum() / (truth[held] ** 2).sum())
        print(json.dumps({"what": what, "secs": secs, "rounds": rounds, "error": error}), flush=True)


main()
