"""Collecting on a real Ray cluster of two nodes: the local collector's store, whatever is lost."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path

import clusters
import pytest
from ray.cluster_utils import Cluster

#: Some dozens of tasks, so that there is something to lose.
SHORT = ["--task-time", "0.1s"]
#: A small object store for each node: tables are small.
MEMORY = 100 * 2**20


@pytest.fixture
def two_nodes():
    head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": MEMORY}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    node = cluster.add_node(num_cpus=1, object_store_memory=MEMORY)
    cluster.wait_for_nodes()
    yield cluster, node
    cluster.shutdown()


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    return clusters.corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def local(tmp_path_factory, manifest):
    store = tmp_path_factory.mktemp("local") / "store"
    done = clusters.collect(manifest, store)
    assert done.returncode == 0, done.stderr
    return clusters.entries(store)


def test_two_nodes_collect_what_one_machine_does(two_nodes, manifest, local, tmp_path):
    cluster, _ = two_nodes
    on_cluster = ["--engine", "ray", "--address", cluster.address, *SHORT]
    store = tmp_path / "store"
    running = clusters.start(manifest, store, *on_cluster)
    clusters.wait_for_shards(store, 1, running)
    second = clusters.collect(manifest, store, *on_cluster)
    assert second.returncode == 1 and "another collector is at work on this store" in second.stderr
    assert running.wait(timeout=120) == 0
    clusters.same(clusters.entries(store), local)
    status = clusters.status(store)
    assert status["is_over"] and status["n_done"] == status["n_planned"] == len(local)
    assert status["n_tables_done"] == 3 and status["given_up"] == []
    # Again: nothing is left to do. And workers may leave their results elsewhere.
    again = clusters.collect(manifest, store, *on_cluster)
    assert again.returncode == 0 and "done: 0 entries added" in again.stdout, again.stderr
    staged, staging = tmp_path / "staged", tmp_path / "staging"
    done = clusters.collect(manifest, staged, *on_cluster, "--staging", staging.as_uri())
    assert done.returncode == 0, done.stderr
    clusters.same(clusters.entries(staged), local)
    assert list(staging.iterdir()) == [], "what was taken in is not left lying about"


def test_a_table_from_elsewhere_and_one_that_cannot_be_read(two_nodes, local, tmp_path):
    cluster, _ = two_nodes
    (tmp_path / "broken.csv").write_text('a,class\n1,x\n"2,y\n')
    wine = clusters.ROOT / "examples/data/wine.csv"
    manifest = tmp_path / "corpus.tsv"
    manifest.write_text(f"file\ttarget\n{wine.as_uri()}\tcultivar\n{tmp_path / 'broken.csv'}\tclass\n")
    store = tmp_path / "store"
    line = ["--engine", "ray", "--address", cluster.address, *SHORT]
    done = clusters.collect(manifest, store, *line)
    assert done.returncode == 1 and "1 table could not be read" in done.stderr and "broken.csv" in done.stderr
    clusters.same(clusters.entries(store), {key: e for key, e in local.items() if key[0] == "wine"})


def test_a_node_that_goes_away_costs_only_what_it_was_at(two_nodes, manifest, local, tmp_path):
    cluster, node = two_nodes
    store = tmp_path / "store"
    running = clusters.start(manifest, store, "--engine", "ray", "--address", cluster.address, *SHORT)
    clusters.wait_for_shards(store, 4, running)
    assert running.poll() is None, "it was over before the node went away"
    cluster.remove_node(node, allow_graceful=False)
    assert running.wait(timeout=200) == 0
    clusters.same(clusters.entries(store), local)


def test_workers_killed_at_twenty_moments_lose_nothing(two_nodes, manifest, local, tmp_path):
    cluster, _ = two_nodes
    rng, n_killed = random.Random(0), 0
    line = ["--engine", "ray", "--address", cluster.address, "--task-time", "0.5s", "--retries", "30"]
    for attempt in range(5):
        store = tmp_path / f"store-{attempt}"
        running = clusters.start(manifest, store, *line)
        while running.poll() is None:
            time.sleep(rng.uniform(0.0, 0.4))
            n_killed += n_killed < 20 and clusters.kill_a_worker(rng)
        assert running.returncode == 0
        clusters.same(clusters.entries(store), local)
        if n_killed == 20:
            break
    assert n_killed == 20


def test_a_driver_killed_five_times_goes_on_where_it_was(two_nodes, manifest, local, tmp_path):
    cluster, _ = two_nodes
    store, line = tmp_path / "store", ["--engine", "ray", "--address", cluster.address, *SHORT]
    for kill in range(1, 6):
        running = clusters.start(manifest, store, *line)
        clusters.wait_for_shards(store, clusters.n_stored(store) + 2, running)
        if running.poll() is None:
            running.send_signal(signal.SIGKILL)
        running.wait()
    assert not clusters.status(store)["is_over"], "it was over before it was killed"
    done = clusters.collect(manifest, store, *line)
    assert done.returncode == 0, done.stderr
    clusters.same(clusters.entries(store), local)


def test_ctrl_c_keeps_what_is_there(two_nodes, manifest, tmp_path):
    cluster, _ = two_nodes
    store = tmp_path / "store"
    line = clusters.command("collect", manifest, "--store", store, *clusters.SCOPE, "--engine", "ray",
                            "--address", cluster.address, *SHORT)
    running = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clusters.QUIET)
    clusters.wait_for_shards(store, 2, running)  # type: ignore[arg-type]
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 1 and "stopped: " in said and "give the same command again to go on" in said
    assert len(clusters.entries(store)) > 0


def test_without_a_cluster_the_address_is_named(manifest, tmp_path):
    done = clusters.collect(manifest, tmp_path / "store", "--engine", "ray", "--address", "127.0.0.1:1")
    assert done.returncode == 1 and "127.0.0.1:1" in done.stderr
    assert "Traceback" not in done.stderr
