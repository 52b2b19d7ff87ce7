#!/bin/sh
# prove.sh command test ...: runs each test with the command, two at a time, and says how many have
# passed. Of tests that pass it prints nothing else; of tests that fail it prints everything. With
# V=1, or if there is one test only, it also prints the remarks of tests that pass. Fails if a test
# fails.
set -u
command=$1
shift

run() {
    prove --jobs 2 --failures --comments --exec "$command" "$@"
}

if [ -n "${V:-}" ] || [ $# -eq 1 ]; then
    run "$@"
    exit
fi

status=$(mktemp)
trap 'rm -f "$status"' EXIT
trap 'exit 1' HUP INT TERM

# A terminal shows the count in one line that changes; a log gets some lines.
total=$#
passed=0
remarks=
count() {
    passed=$((passed + 1))
    remarks=
    if [ -t 1 ]; then
        printf '\r%d of %d have passed \r' "$passed" "$total"
    elif [ $((passed * 4 / total)) -ne $(((passed - 1) * 4 / total)) ]; then
        echo "$passed of $total have passed"
    fi
}

show_remarks() {
    [ -z "$remarks" ] || printf '%s\n' "$remarks"
    remarks=
}

# prove prints a line for each test, "name .. ok", or "name .. " with remarks below it and "ok" or
# an explanation after them.
{
    run "$@"
    echo $? >"$status"
} | {
    while IFS= read -r line; do
        case $line in
        *' '*.' ok' | ok) count ;;
        *' '*'.. ')
            show_remarks
            remarks=$line
            ;;
        'All tests successful.' | 'Test Summary Report')
            show_remarks
            printf '%s\n' "$line"
            ;;
        *)
            if [ -n "$remarks" ]; then
                remarks="$remarks
$line"
            else
                printf '%s\n' "$line"
            fi
            ;;
        esac
    done
    show_remarks
}
exit "$(cat "$status")"
