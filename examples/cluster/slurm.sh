#!/usr/bin/env bash
# sbatch examples/cluster/slurm.sh CORPUS STORE
# The head on the first node, a worker on every other; the driver runs on the first. Given again after a time limit, it goes
# on where it was. CORPUS and STORE lie on a file system that the first node sees; tables travel from there.
#SBATCH --job-name=pitchpipe-collect
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --time=08:00:00
#SBATCH --requeue
set -euo pipefail
corpus=$1 store=$2
port=${RAY_PORT:-6379}
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=${nodes[0]}
address=$(srun --nodes=1 --ntasks=1 -w "$head" hostname --ip-address | awk '{print $1}'):$port

srun --nodes=1 --ntasks=1 --overlap -w "$head" \
    ray start --head --port="$port" --num-cpus="$SLURM_CPUS_PER_TASK" --block > ray-head.log 2>&1 &
until ray status --address="$address" > /dev/null 2>&1; do sleep 1; done
if [ "${#nodes[@]}" -gt 1 ]; then
    srun --nodes=$((${#nodes[@]} - 1)) --ntasks=$((${#nodes[@]} - 1)) --overlap --exclude="$head" \
        ray start --address="$address" --num-cpus="$SLURM_CPUS_PER_TASK" --block > ray-workers.log 2>&1 &
fi
# Workers may come later: the driver looks every two seconds how many there are.
pitchpipe meta collect "$corpus" --store "$store" --engine ray --address "$address" --keep-going "${@:3}"
