#!/bin/sh
# Runs SQL scripts in the stock sqlite3 shell and compares what it prints. Prints TAP.
#
#     tests/run_sql.sh                  all of tests/sql and the numbered ones of examples
#     tests/run_sql.sh 20-time 21-key   those whose names begin with these; or PT_SCRIPTS='20-time 21-key'
#     UPDATE=1 tests/run_sql.sh         rewrites the expected outputs instead of comparing
#
# A test is a script NN-topic.sql and its expected output NN-topic.out. Each runs on an empty
# :memory: database in its own new folder, where ./ptable is the extension, sql/ has the scripts for
# users, data/ is tests/sql/data and build/ is an empty folder for the files that an example makes.
# tests/shell.sh says what else can be set.
set -u
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/shell.sh"

scripts_named() {
    for name in "${@:-}"; do
        find "$root/tests/sql" "$root/examples" -name "$name*" -name '[0-9][0-9]-*.sql'
    done | sort -u
}

# Sets $title to a script's folder in the project, and its name. No process is started for that:
# there are many scripts.
title() {
    title=${1%/*}
    title=${title##*/}/${1##*/}
    title=${title%.sql}
}

run_script() {
    expected=${1%.sql}.out
    name=${title%/*}-${title##*/}
    fresh_folder "$name"
    run_shell "$name" :memory: "$1" "$work/$name.out"
    if [ "${UPDATE:-}" = 1 ] && [ -z "${PT_DIFFERENCES:-}" ]; then
        cp "$work/$name.out" "$expected"
    elif [ ! -e "$expected" ]; then
        echo "# there is no $expected; write it, or make it with UPDATE=1 and read it"
        return 1
    fi
    same "$expected" "$work/$name.out" "$name"
}

# shellcheck disable=SC2086 # PT_SCRIPTS is a list of words
test $# -gt 0 || set -- ${PT_SCRIPTS:-}
scripts=$(scripts_named "$@")
count=$(echo "$scripts" | grep -c .)
if [ "$count" -eq 0 ]; then
    echo "1..1"
    echo "# no script is named ${*:-*}"
    result 1 "there are SQL tests" 1
    exit 1
fi

echo "1..$count"
number=0
for script in $scripts; do
    number=$((number + 1))
    title "$script"
    run_script "$script"
    result $number "$title" $?
done
test "$failures" -eq 0
