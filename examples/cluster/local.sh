#!/usr/bin/env bash
# examples/cluster/local.sh CORPUS STORE
# Two nodes on this machine: to try what a cluster does, and what it does when a node goes away.
set -euo pipefail
corpus=$1 store=$2
port=${RAY_PORT:-6399}
trap 'ray stop --force > /dev/null 2>&1' EXIT
ray start --head --port="$port" --num-cpus=1 --include-dashboard=false > /dev/null
ray start --address="127.0.0.1:$port" --num-cpus=1 > /dev/null
pitchpipe meta collect "$corpus" --store "$store" --engine ray --address "127.0.0.1:$port" "${@:3}"
pitchpipe meta status "$store"
