#!/bin/sh
# prove.sh command test ...: runs each test with the command, and says how many have passed. If all
# pass it prints nothing else but the summary; if one fails, everything that prove printed. With V=1,
# or if there is one test only, it prints the remarks of tests that pass as well. Fails if a test
# fails. One more test runs at a time than there are processors, because tests wait now and then.
set -u
command=$1
shift

if [ -z "${TMPDIR:-}" ] && [ "$(df -kP /dev/shm 2>/dev/null | awk 'END { print $4 + 0 }')" -gt 2000000 ]; then
    export TMPDIR=/dev/shm
fi

# A page fault takes long on some machines. So the heap is kept once it has grown, and the 2 MB that LMDB asks
# for with each store come from the kernel, which has them ready when they are used: not from the heap,
# where calloc would write them.
export MALLOC_TRIM_THRESHOLD_=67108864 MALLOC_MMAP_THRESHOLD_=1048576

run() {
    prove --jobs $(($(nproc) + 1)) --failures --comments --exec "$command" "$@"
}

if [ -n "${V:-}" ] || [ $# -eq 1 ]; then
    run "$@"
    exit
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
export PT_OUTPUTS="$folder"

# A terminal shows the count in one line that changes; a log gets some lines.
total=$#
passed=0
count() {
    passed=$((passed + 1))
    if [ -t 1 ]; then
        printf '\r%d of %d have passed \r' "$passed" "$total"
    elif [ $((passed * 4 / total)) -ne $(((passed - 1) * 4 / total)) ]; then
        echo "$passed of $total have passed"
    fi
}

# prove ends the lines of a test that has passed with "ok".
{
    run "$@"
    echo $? >"$folder/status"
} | tee "$folder/log" | while IFS= read -r line; do
    case $line in
    *' '*.' ok' | ok) count ;;
    esac
done
status=$(cat "$folder/status")
if [ "$status" -eq 0 ]; then
    sed -n '/^All tests successful/,$p' "$folder/log"
else
    cat "$folder/log"
fi
exit "$status"
