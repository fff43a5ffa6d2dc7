"""The files in examples/cluster: those that can run here do, the others are what their readers take."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import clusters
import pytest
import yaml

EXAMPLES = clusters.ROOT / "examples/cluster"
#: One cheap kind of pipelines on one small table.
FEW = ["--estimators", "knn", "--fraction", "0.01"]


@pytest.fixture
def environment():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**clusters.QUIET, "PATH": path, "RAY_PORT": str(port)}


def run(script: str, environment: dict[str, str], folder: Path, *more: object) -> str:
    """Runs a script with all that it starts in a group of its own, which is ended with it."""
    corpus = clusters.corpus(folder, ("wine",))
    line = ["bash", str(EXAMPLES / script), str(corpus), str(folder / "store"), *map(str, more)]
    running = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
                               cwd=folder, start_new_session=True)  # fmt: skip
    try:
        said, _ = running.communicate(timeout=120)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
    assert running.returncode == 0, said
    return said


def test_two_nodes_on_this_machine(environment, tmp_path):
    said = run("local.sh", environment, tmp_path, *FEW)
    assert "done: " in said and "tables     1 of 1 done" in said
    assert clusters.status(tmp_path / "store")["n_workers"] == 2


def test_slurm(environment, tmp_path):
    # Slurm's own commands, as far as the script uses them: both nodes are this machine.
    shims = {
        "scontrol": 'echo one; echo two',
        "srun": 'while [[ $1 == -* ]]; do if [[ $1 == -w ]]; then shift; fi; shift; done; exec "$@"',
        "hostname": "echo 127.0.0.1",
    }
    bins = tmp_path / "bin"
    bins.mkdir()
    for name, text in shims.items():
        (bins / name).write_text(f"#!/usr/bin/env bash\n{text}\n")
        (bins / name).chmod(stat.S_IRWXU)
    path = f"{bins}{os.pathsep}{environment['PATH']}"
    of_slurm = {"PATH": path, "SLURM_JOB_NODELIST": "two-nodes", "SLURM_CPUS_PER_TASK": "1"}
    said = run("slurm.sh", {**environment, **of_slurm}, tmp_path, *FEW)
    assert "done: " in said
    assert clusters.status(tmp_path / "store")["is_over"]


def test_the_cluster_launcher_takes_its_file():
    from ray.autoscaler._private.util import prepare_config, validate_config

    config = yaml.safe_load((EXAMPLES / "ray-up.yaml").read_text())
    validate_config(prepare_config(config))


def test_kuberay_has_a_job_whose_command_is_known():
    job = yaml.safe_load((EXAMPLES / "kuberay.yaml").read_text())
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    groups = [job["spec"]["rayClusterSpec"]["headGroupSpec"], *job["spec"]["rayClusterSpec"]["workerGroupSpecs"]]
    assert all(group["template"]["spec"]["containers"][0]["image"] == "IMAGE" for group in groups)
    words = job["spec"]["entrypoint"].split()
    assert words[:3] == ["pitchpipe", "meta", "collect"]
    known = subprocess.run(clusters.command("collect", "--help"), capture_output=True, text=True, check=True).stdout
    for flag in (word for word in words if word.startswith("--")):
        assert re.search(rf"^\s+{flag}\b", known, re.MULTILINE), flag
