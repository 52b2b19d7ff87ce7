#!/bin/sh
# release_check.sh: what a release wants, one after the other: all suites in their long forms, the packages
# and their trials on fresh machines. Prints a table with the result and the time of each, and fails if
# anything has failed. It takes hours. ROWS='deb wheel' runs those of these names. The output of each is
# in build/release.
set -u
cd "$(dirname "$0")/.." || exit 1
log=build/release
mkdir -p "$log"

# Name, minutes that it may take, and make's arguments. The limits are at least four times what it took on two
# cores, where that was measured.
steps() {
    cat <<'END'
test               10  test
long               10  test-long
ways               20  test-ways
random             20  test-random N=200000
out-of-memory      90  test-out-of-memory N=all STACKS=1 CALLS=10
io-errors          60  test-io-errors N=2000
kill               10  test-kill N=100
kill-load          10  test-kill-load N=1000
power-loss         60  test-power-loss N=20000
kill-power-loss    60  test-kill-power-loss N=20000
isolation          60  test-isolation N=300000
thread-mix         10  test-thread-mix N=200
damage             10  test-damage N=2000
backup             10  test-backup N=200
compact            10  test-compact N=300
interruption       10  test-interruption N=20
sealed-records     10  test-sealed-records N=8
fuzz               60  fuzz SECONDS=60
examples           10  examples
clients            10  test-clients
service            60  test-service LONG=1
conformance        60  conformance
conformance-cloud  60  conformance-service
lint               60  lint
asan               60  check-asan
tsan               90  check-tsan
valgrind           90  check-valgrind
newest             15  test-newest
coverage          120  coverage
instructions       10  bench-instructions
amalgamation       10  test-amalgamation
packages           40  dist
deb                25  run-test-deb
wheel               5  run-test-wheel
npm                25  run-test-npm
sqlpkg              5  run-test-sqlpkg
reproducible       90  test-reproducible
arm64              60  test-arm64
END
}

wanted() {
    case " ${ROWS:-$1} " in *" $1 "*) ;; *) return 1 ;; esac
}

for row in ${ROWS:-}; do
    if ! steps | grep -q "^$row "; then
        echo "release_check: there is no row '$row'; the rows are:" "$(steps | cut -d ' ' -f 1 | tr '\n' ' ')" >&2
        exit 2
    fi
done

failed=0
printf '| %-17s | %-11s | %7s |\n|%s|%s|%s:|\n' "what" "result" "minutes" \
    "-------------------" "-------------" "--------"
while read -r name limit target; do
    wanted "$name" || continue
    begun=$(date +%s)
    # shellcheck disable=SC2086 # make's arguments
    timeout --kill-after=10 "$((limit * 60))" make $target >"$log/$name.log" 2>&1 </dev/null
    case $? in
    0)
        result=passed
        # A trial that was skipped as a whole, such as that of the Debian packages without root.
        if grep -q '^Result: NOTESTS' "$log/$name.log"; then
            result="not run" failed=1
        fi
        ;;
    124 | 137) result="too long" failed=1 ;;
    *) result=FAILED failed=1 ;;
    esac
    printf '| %-17s | %-11s | %7d |\n' "$name" "$result" "$((($(date +%s) - begun + 59) / 60))"
done <<END
$(steps)
END
exit $failed
