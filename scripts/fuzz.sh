#!/usr/bin/env bash
# Fuzzes every parser that takes what comes from outside, guided by coverage: builds once, then runs
# each target for some seconds (default 60), one line each. Ends with 1 if one crashed, hung or grew.
#
#   scripts/fuzz.sh [seconds] [target...]
#
# What it learns stays in target/fuzz/<target>/corpus, what it finds in target/fuzz/<target>/found.
# A find belongs into crates/fuzz/corpus/<target>, where every test run goes over it, with its fix.
# FUZZ_SEED decides what is tried first, so that a smoke tries much the same each time.
# Needs a C++ compiler beside what everything needs; no nightly toolchain.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
shift || true

# Our own crates get counters; what they depend on is taken as the ordinary build of the tests has it.
build() {
    RUSTC_WORKSPACE_WRAPPER="$PWD/scripts/rustc-coverage" cargo test --workspace --locked --no-run \
        --test libfuzzer --features fuzz/libfuzzer --message-format json-render-diagnostics |
        sed -n 's/.*"executable":"\([^"]*libfuzzer[^"]*\)".*/\1/p' | tail -1
}

# One target: its name, for how long, and more options.
run() {
    local target=$1 for_seconds=$2 home="target/fuzz/$1"
    shift 2
    mkdir -p "$home/corpus" "$home/found"
    local seeds=()
    [[ ! -d "crates/fuzz/corpus/$target" ]] || seeds=("crates/fuzz/corpus/$target")
    "$fuzzer" -max_total_time="$for_seconds" -timeout=10 -rss_limit_mb=1024 -max_len=8192 -len_control=20 \
        -print_final_stats=1 -artifact_prefix="$home/found/" "$@" \
        "$home/corpus" "${seeds[@]}" \
        -ignore_remaining_args=1 "$target" >"$home/log" 2>&1
}

# What a run came to, from its log: executions, how far its coverage grew, inputs that were new.
report() {
    local target=$1 verdict=$2 log="target/fuzz/$1/log"
    awk -v target="$target" -v verdict="$verdict" '
        / cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") covered = $(i + 1) }
        /INITED/ { first = covered }
        /number_of_executed_units/ { runs = $2 }
        /average_exec_per_sec/ { pace = $2 }
        /new_units_added/ { added = $2 }
        END { printf "%-20s %9d runs, %6d/s, coverage %5d -> %5d, %4d new inputs, %s\n",
            target, runs, pace, first, covered, added, verdict }' "$log"
}

fuzzer=$(build)
if [[ -z "$fuzzer" ]]; then
    echo "the fuzzer was not built" >&2
    exit 1
fi

# Whether coverage guides it is proved each time: a planted fault is found, and not by a blind run.
rm -rf target/fuzz/planted
if run planted 60 -seed=1 -max_len=8; then
    echo "the planted fault was not found: nothing guides this fuzzer" >&2
    exit 1
fi
grep -q "the planted fault is reached" target/fuzz/planted/log
report planted "found"

if [[ $# -eq 0 ]]; then
    mapfile -t targets < <(ls crates/fuzz/corpus)
    set -- "${targets[@]}"
fi
# Each on a core of its own, if there are several.
one() {
    if run "$1" "$seconds" -seed="${FUZZ_SEED:-0}" -dict=crates/fuzz/dictionary; then
        report "$1" "no crash"
    else
        report "$1" "CRASHED: target/fuzz/$1/log"
        return 1
    fi
}

crashes=0
running=0
for target in "$@"; do
    if ((running == $(nproc))); then
        wait -n || crashes=$((crashes + 1))
        running=$((running - 1))
    fi
    one "$target" &
    running=$((running + 1))
done
for ((; running > 0; running--)); do
    wait -n || crashes=$((crashes + 1))
done
exit $((crashes > 0))
