#!/bin/sh
# run.sh fuzz|fuzz-minimise FOLDER TARGET SECONDS
#
# fuzz: lets libFuzzer run the fuzzer of the name TARGET, or all in turn, each for so many seconds.
# What it finds worth keeping is kept in build/fuzz/corpus/TARGET and goes on there the next time;
# an input that breaks something becomes build/fuzz/crash-TARGET-*. Prints executions and coverage.
#
# fuzz-minimise: makes of what was kept the corpus that the tests replay: the smallest inputs that
# still reach everything.
#
# FOLDER has the programs that replay. PT_FUZZ_FOLDER: another folder than build/fuzz for what is
# found.
set -eu

task=$1
replayers=$2
target=$3
seconds=$4
found=${PT_FUZZ_FOLDER:-build/fuzz}
largest=4096

names() {
    if [ -n "$target" ]; then
        echo "$target"
    else
        for file in tests/fuzz/fuzz_*.c; do
            basename "$file" .c | sed 's/^fuzz_//'
        done
    fi
}

# What the options of libFuzzer are for a fuzzer: a dictionary, if there is one.
dictionary() {
    test ! -e "tests/fuzz/$1.dict" || echo "-dict=tests/fuzz/$1.dict"
}

# The corpus in the tree, as files among what was found before.
begin() {
    mkdir -p "$found/corpus/$1"
    "$replayers/fuzz_$1" unpack "$found/corpus/$1"
}

fuzz() {
    log=$found/$1.log
    # shellcheck disable=SC2046 # no word or one
    ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 "build/fuzz/fuzz_$1" \
        "$found/corpus/$1" $(dictionary "$1") -max_total_time="$seconds" -max_len=$largest \
        -timeout=20 -rss_limit_mb=2048 -use_value_profile=1 -print_final_stats=1 -reload=0 \
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

minimise() {
    smallest=$(mktemp -d)
    "build/fuzz/fuzz_$1" -merge=1 -max_len=$largest "$smallest" "$found/corpus/$1" \
        >"$found/$1.merge.log" 2>&1
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
