#!/bin/sh
# run.sh fuzz|fuzz-minimise FOLDER TARGET SECONDS
#
# fuzz: lets libFuzzer run the fuzzer TARGET, or all in turn, each for SECONDS. Inputs worth keeping
# are stored in build/fuzz/corpus/TARGET, where the next run begins; an input that breaks something
# becomes build/fuzz/crash-TARGET-*. Prints executions and coverage.
#
# fuzz-minimise: turns the kept inputs into the corpus that the tests replay: the smallest inputs that
# still reach everything.
#
# FOLDER has the programs that replay. PT_FUZZ_FOLDER: a folder for findings other than build/fuzz.
set -eu

task=$1
replayers=$2
target=$3
seconds=$4
found=${PT_FUZZ_FOLDER:-$PWD/build/fuzz}
largest=4096
short=400 # bytes of an input that is kept
many=200

names() {
    if [ -n "$target" ]; then
        echo "$target"
    else
        for file in tests/fuzz/fuzz_*.c; do
            basename "$file" .c | sed 's/^fuzz_//'
        done
    fi
}

# What libFuzzer is told for one fuzzer: its dictionary, and to look at compared values where an
# input takes a short time. Connections that are used again make looking for leaks slow.
options() {
    test ! -e "tests/fuzz/$1.dict" || echo "-dict=tests/fuzz/$1.dict"
    case $1 in
    sql | store | twins) echo -detect_leaks=0 ;;
    *) echo -use_value_profile=1 ;;
    esac
}

# Seeds and corpus of the tree, as files among what was found before.
begin() {
    mkdir -p "$found/corpus/$1"
    "$replayers/fuzz_$1" unpack "$found/corpus/$1"
}

fuzz() {
    log=$found/$1.log
    # shellcheck disable=SC2046 # words
    ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 "build/fuzz/fuzz_$1" \
        "$found/corpus/$1" $(options "$1") -max_total_time="$seconds" -max_len=$largest \
        -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 -reload=0 \
        -artifact_prefix="$found/crash-$1-" >"$log" 2>&1 || {
        tail -n 60 "$log"
        echo "not ok - $1: see $log"
        return 1
    }
    awk -v name="$1" '/ cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") cov = $(i + 1) }
        /^stat::number_of_executed_units/ { runs = $2 }
        /^stat::average_exec_per_sec/ { rate = $2 }
        END { print "ok - " name ": " runs " executions, " rate " a second, coverage " cov }' "$log"
}

# The smallest inputs that reach everything, and as often; if these are many, that reach it.
minimise() {
    smallest=$(mktemp -d)
    for counters in 1 0; do
        rm -f "$smallest"/*
        "build/fuzz/fuzz_$1" -set_cover_merge=1 -use_counters=$counters -max_len=$short \
            -detect_leaks=0 "$smallest" "$found/corpus/$1" >"$found/$1.merge.log" 2>&1
        test "$(find "$smallest" -type f | wc -l)" -gt $many || break
    done
    "$replayers/fuzz_$1" pack "$smallest" >"tests/fuzz/corpus/$1.txt.new"
    mv "tests/fuzz/corpus/$1.txt.new" "tests/fuzz/corpus/$1.txt"
    rm -r "$smallest"
    echo "ok - $1: $(wc -l <"tests/fuzz/corpus/$1.txt") inputs"
}

failed=0
for name in $(names); do
    begin "$name"
    if [ "$task" = fuzz ]; then
        fuzz "$name" || failed=1
    else
        minimise "$name"
    fi
done
exit $failed
