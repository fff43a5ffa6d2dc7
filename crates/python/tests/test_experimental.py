"""The surrogate's algebra, from Python: numpy in and out."""

import doctest

import numpy as np
import pytest

from pitchpipe import meta
from pitchpipe.experimental import surrogate


@pytest.fixture
def made():
    """A tensor of low rank in the published one's form: datasets x four steps x estimators, a fifth not observed."""
    rng = np.random.default_rng(3)
    datasets, steps, estimators = rng.normal(size=(25, 3)), rng.normal(size=(3, 2, 2)), rng.normal(size=(3, 12))
    core = np.einsum("dk,kab,ke->dabe", datasets, steps, estimators)
    truth = 0.3 + 0.02 * core
    return truth, np.where(rng.random(truth.shape) < 0.8, truth, np.nan)


def test_docstrings_show_what_happens():
    for module in (surrogate, meta):
        assert doctest.testmod(module).failed == 0


def test_completions_fill_in_what_is_missing_and_nothing_else(made):
    truth, seen = made
    gone = np.isnan(seen)
    plain = surrogate.relative_error(truth, np.full_like(truth, np.nanmean(seen)), gone)
    flat = seen.reshape(25, -1)
    done = [
        surrogate.complete_em(seen, 4),
        surrogate.complete_em(seen, 4, shrinkage=0),
        surrogate.complete_tucker(seen, (4, 2, 2, 4)),
        surrogate.complete(seen),
    ]
    for completion in done:
        np.testing.assert_array_equal(completion.values[~gone], seen[~gone])
        assert surrogate.relative_error(truth, completion.values, gone) < 0.1 * plain
        assert len(completion.residuals) >= 3
    kernel = surrogate.complete_kfmc(flat, 20, seed=1)
    assert surrogate.relative_error(truth.reshape(25, -1), kernel.values, np.isnan(flat)) < 0.5 * plain
    assert kernel.model.codes.shape == (48, 20)
    errors, code = kernel.model.predict_pipeline(list(range(20)), np.full(20, 0.3))
    assert errors.shape == (25,) and code.shape == (20,)
    assert done[3].ranks[1:3] == [2, 2] and done[3].held_out_error < 0.01


def test_plain_em_is_numpys_iteration(made):
    """One round of ours from the same start is one truncated decomposition of numpy's."""
    truth, _ = made
    whole = truth.reshape(25, -1)
    values, x, y = (lambda p: (p.singular_values, p.datasets, p.pipelines))(surrogate.pca(whole, 5))
    np.testing.assert_allclose(values, np.linalg.svd(whole, compute_uv=False), atol=1e-6)
    left, s, right = np.linalg.svd(whole, full_matrices=False)
    n = x.shape[0]
    np.testing.assert_allclose(x.T @ y, (left[:, :n] * s[:n]) @ right[:n], atol=1e-6)
    energy = np.cumsum(s**2) / np.sum(s**2)
    assert surrogate.energy_rank(values) == 1 + int(np.argmax(energy >= 0.97))


def test_a_decomposition_gives_its_tensor_back(made):
    truth, _ = made
    tucker = surrogate.tucker(truth, (4, 2, 2, 4))
    assert tucker.core.shape == (4, 2, 2, 4)
    assert [f.shape for f in tucker.factors] == [(25, 4), (2, 2), (2, 2), (12, 4)]
    np.testing.assert_allclose(tucker.reconstruct(), truth, atol=1e-9)
    x, y = tucker.embeddings()
    np.testing.assert_allclose(x.T @ y, truth.reshape(25, -1), atol=1e-9)
    np.testing.assert_allclose(y @ y.T, np.eye(len(y)), atol=1e-9)


def test_designs_keep_to_their_limits_and_beat_chance():
    rng = np.random.default_rng(0)
    Y, secs = rng.normal(size=(4, 60)), rng.uniform(0.5, 2.0, 60)
    by_size = surrogate.design_by_size(Y, 8)
    assert len(set(by_size.pipelines)) == 8 and by_size.secs == 8

    def volume(pipelines):
        return np.linalg.slogdet(Y[:, pipelines] @ Y[:, pipelines].T)[1]

    chance = [volume(rng.choice(60, 8, replace=False)) for _ in range(50)]
    assert volume(by_size.pipelines) > max(chance)
    by_time = surrogate.design_by_time(Y, secs, 20.0)
    assert by_time.secs == pytest.approx(secs[by_time.pipelines].sum()) and by_time.secs <= 20
    relaxed = surrogate.design_relaxed(Y, np.ones(60), 8.0)
    assert relaxed.shares.sum() <= 8.0 + 1e-6 and relaxed.gap < 0.01
    # The relaxation bounds every design of as many pipelines.
    assert volume(by_size.pipelines) <= relaxed.objective + relaxed.gap + 1e-6
    assert surrogate.design_random(secs, 5.0, seed=4).secs <= 5.0
    heavy = surrogate.design_by_size(Y, 4, sigma=np.where(np.arange(60) < 30, 1e-3, 1.0))
    assert max(heavy.pipelines) < 30
    with pytest.raises(ValueError, match="choose among D, A and E"):
        surrogate.design_relaxed(Y, secs, 5.0, criterion="G")
    with pytest.raises(ValueError, match="predicted runtimes"):
        surrogate.design_by_time(Y, secs[:5], 5.0)


def test_a_few_errors_tell_of_the_others(made):
    truth, _ = made
    rows = truth.reshape(25, -1)
    new, known = rows[0], rows[1:]
    Y = surrogate.pca(known, 4).pipelines
    chosen = surrogate.design_by_size(Y, 6).pipelines
    np.testing.assert_allclose(surrogate.least_squares(Y, chosen, new[chosen]), new, atol=1e-4)
    prior = surrogate.prior(known, rank=6)
    predicted, mean, variance = prior.expect(chosen, new[chosen])
    # The prior counts in the noise of measurements, so it leans on its mean.
    assert np.abs(predicted - new).max() < 0.5 * np.abs(known.mean(axis=0) - new).max()
    np.testing.assert_allclose(mean**2, predicted)
    assert (variance >= -1e-12).all() and prior.factor.shape == (6, 48)
    assert surrogate.design_from_prior(prior, np.ones(48), 5.0).secs == 5.0


def test_runtimes_grow_with_the_table():
    rng = np.random.default_rng(0)
    sizes = np.c_[rng.integers(100, 10_000, 40), rng.integers(3, 50, 40)].astype(float)
    secs = 1e-5 * sizes[:, :1] * sizes[:, 1:] ** 0.5 * np.array([[1.0, 4.0]])
    secs[0, 0] = np.nan
    for form in ("log-log", "paper-log"):
        runtimes = surrogate.Runtimes(sizes, secs, form=form)
        predicted = runtimes.predict(5000, 20)
        truth = 1e-5 * 5000 * 20**0.5 * np.array([1.0, 4.0])
        np.testing.assert_allclose(predicted, truth, rtol=0.2)
    with pytest.raises(ValueError, match="n_classes is needed exactly where"):
        runtimes.predict(5000, 20, 3)


@pytest.fixture
def recording():
    errors = np.array([[0.4, 0.2, 0.3, np.nan, 0.1, 0.5]])
    secs = np.array([[1.0, 2.0, 3.0, np.nan, 5.0, 1.0]])
    return surrogate.Recording(errors, secs), secs[0]


def test_the_clock_runs_on_recorded_seconds(recording):
    recorded, secs = recording
    trace = recorded.replay(0, surrogate.in_order_policy(range(6), secs), 7.0)
    assert trace.seconds.tolist() == [1, 3, 6, 7] and trace.pipelines.tolist() == [0, 1, 2, 5]
    assert trace.best_by(3.5) == pytest.approx(0.2) and trace.best_by(0.5) == np.inf
    two = recorded.replay(0, surrogate.in_order_policy(range(6), secs), 7.0, n_workers=2)
    assert two.seconds.tolist() == [1, 2, 4, 5, 7]
    assert recorded.lowest_error(0) == pytest.approx(0.1) and recorded.total_seconds(0) == 12
    with pytest.raises(IndexError):
        recorded.replay(1, surrogate.random_policy(secs), 7.0)


def test_a_policy_of_ones_own_is_replayed(recording):
    recorded, secs = recording

    class Backwards:
        def __init__(self):
            self.left, self.seen = [5, 4, 3, [2, 1], 0], []

        def next(self, left):
            return self.left.pop(0) if self.left else None

        def observe(self, seen):
            self.seen += seen

    policy = Backwards()
    trace = recorded.replay(0, policy, 100.0)
    # A family takes as long as its slowest member; what was not recorded takes no time.
    assert trace.pipelines.tolist() == [5, 4, 2, 1, 0] and trace.seconds.tolist() == [1, 6, 9, 9, 10]
    assert (3, None, None) in policy.seen and trace.n_steps == 5

    class Broken(Backwards):
        def observe(self, seen):
            raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        recorded.replay(0, Broken(), 100.0)
    policy.left = [17]
    with pytest.raises(IndexError, match="no pipeline 17"):
        recorded.replay(0, policy, 100.0)


def test_every_policy_finds_the_best_of_a_small_record(made):
    truth, _ = made
    errors = truth.reshape(25, -1)
    secs = np.full(errors.shape, 1.0)
    recorded, out = surrogate.Recording(errors, secs), 7
    known = np.delete(errors, out, axis=0)
    Y = surrogate.pca(known, 4).pipelines
    kernel = surrogate.complete_kfmc(known, 20).model
    prior = surrogate.prior(known, rank=5)
    policies = {
        "random": surrogate.random_policy(secs[out], seed=1),
        "paper": surrogate.paper_policy(Y, 3, secs[out], 24.0, design_share=0.5),
        "doubling": surrogate.paper_policy(Y, 3, secs[out], 24.0, baseline=0),
        "kernel": surrogate.kernel_policy(kernel, secs[out], 24.0),
        "auto": surrogate.auto_policy(prior, secs[out]),
        "families": surrogate.auto_policy(prior, secs[out], families=[((j, j + 1), 1.0) for j in range(0, 48, 2)]),
    }
    regrets = {}
    for name, policy in policies.items():
        trace = recorded.replay(out, policy, 24.0)
        assert len(trace.errors) > 0 and trace.seconds.max() <= 24, name
        regrets[name] = trace.best_by(24.0) - recorded.lowest_error(out)
    assert regrets["paper"] < 1e-6 and regrets["auto"] < 0.01


def test_a_store_is_an_array(tmp_path):
    lines = ["a,b,class"] + [f"{i},{i * i % 7},{'xy'[i % 2]}" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    store = tmp_path / "store"
    meta.collect(tmp_path / "t.csv", store=store, estimators=["gaussian_nb"], no_slice=True, threads=1)
    recorded = meta.error_tensor(store)
    assert recorded.datasets == ["t"] and recorded.errors.shape == (1, len(recorded.pipelines))
    assert recorded.tensor().shape == (1, 4, 2, 2, 8, 183)
    done = ~np.isnan(recorded.errors[0])
    assert done.sum() == meta.info(store)["datasets"][0]["finished"]
    assert all("gaussian_nb" in p for p, there in zip(recorded.pipelines, done) if there)
    assert (recorded.seconds[0][done] > 0).all()
    accuracy = meta.error_tensor(store, "accuracy").errors[0][done]
    assert ((0 <= accuracy) & (accuracy <= 1)).all()
    with pytest.raises(ValueError, match="there is no score"):
        meta.error_tensor(store, "gini")
    with pytest.raises(FileNotFoundError, match="meta collect"):
        meta.error_tensor(tmp_path)
    with pytest.raises(FileNotFoundError):
        meta.published(tmp_path / "absent.whl")


def test_the_surrogate_can_be_looked_into():
    inside = meta.load()
    assert len(inside.pipelines) == inside.n_pipelines
    assert inside.best_on_average in inside.pipelines
    numbers, Y, rank = inside.embedding("oboe")
    assert Y.shape[1] == len(numbers) and 0 < rank <= Y.shape[0]
    prior = inside.prior("decided")
    assert prior.mean.shape == (inside.n_pipelines,) and prior.scale == "root"
    predicted, _, _ = prior.expect([5], np.array([0.25]))
    assert abs(predicted[5] - 0.25) < abs(prior.mean[5] ** 2 - 0.25)
    small, large = inside.seconds(500, 10), inside.seconds(50_000, 100)
    assert small.shape == (inside.n_pipelines,) and np.median(large / small) > 5
    with pytest.raises(ValueError, match="choose among oboe"):
        inside.embedding("obo")
