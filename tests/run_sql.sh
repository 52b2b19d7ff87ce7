#!/bin/sh
# Runs SQL scripts in the stock sqlite3 shell and compares what it prints. Prints TAP.
#
#     tests/run_sql.sh                  all of tests/sql
#     tests/run_sql.sh 20-time 21-key   those whose names begin so
#     UPDATE=1 tests/run_sql.sh         rewrites the expected outputs instead of comparing
#
# A test is a script tests/sql/NN-topic.sql and its expected output NN-topic.out. Each runs on an
# empty :memory: database in its own new folder, where ./ptable is the extension, sql/ has the
# scripts for users and data/ is tests/sql/data. tests/shell.sh says what else can be set.
set -u
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/shell.sh"

scripts_named() {
    for name in "${@:-}"; do
        for script in "$root"/tests/sql/"$name"*.sql; do
            if [ -e "$script" ]; then
                echo "$script"
            fi
        done
    done
}

run_script() {
    expected=${1%.sql}.out
    name=$(basename "$1" .sql)
    fresh_folder "$name"
    run_shell "$name" :memory: "$1" "$work/$name.out"
    if [ "${UPDATE:-}" = 1 ]; then
        cp "$work/$name.out" "$expected"
    elif [ ! -e "$expected" ]; then
        echo "# there is no $expected; write it, or make it with UPDATE=1 and read it"
        return 1
    fi
    same "$expected" "$work/$name.out"
}

scripts=$(scripts_named "$@")
count=$(echo "$scripts" | grep -c .)
if [ "$count" -eq 0 ]; then
    echo "1..1"
    echo "# no script in tests/sql is named ${*:-*}"
    result 1 "there are SQL tests" 1
    exit 1
fi

echo "1..$count"
number=0
for script in $scripts; do
    number=$((number + 1))
    run_script "$script"
    result $number "$(basename "$script" .sql)" $?
done
test "$failures" -eq 0
