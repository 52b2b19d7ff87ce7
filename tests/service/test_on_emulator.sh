#!/bin/sh
# Compares the small Table service of this folder with the emulator, which npm puts into
# build/conformance, and runs the tests of ptable_service on the emulator. Prints TAP. Variables as in
# test_sql.pl.
set -u
here=$(cd "$(dirname "$0")" && pwd -P)
root=$here/../..
folder=$root/build/conformance
log=$(mktemp)
trap 'rm -f "$log"' EXIT
number=0
failures=0

# run name command ...: one test; what it prints is shown if it fails.
run() {
    name=$1
    shift
    number=$((number + 1))
    if "$@" >"$log" 2>&1; then
        echo "ok $number - $name"
    else
        sed 's/^/# /' "$log"
        echo "not ok $number - $name"
        failures=$((failures + 1))
    fi
}

"$root/tests/conformance/fetch.sh" "$folder" >&2 || exit 1
cp "$here/emulator.mjs" "$folder"
server=${PT_SERVER:-$root/build/tests/service/server}
set -- node "$folder/emulator.mjs"
echo 1..7
run 'the small service answers like the emulator' "$here/compare.pl" "$server" "$@"
run 'SQL scripts on the emulator' "$here/test_sql.pl" "$@"
run 'random statements on the emulator' "$here/test_random.pl" "$@"
run 'a divided scan on the emulator' "$here/test_division.pl" "$@"
run 'random writes on the emulator' "$here/test_random_writes.pl" "$@"
run 'random conditions on the emulator' "$here/test_conditions.pl" "$@"
run 'a follower that is killed, on the emulator' "$here/test_following.pl" "$@"
test "$failures" -eq 0
