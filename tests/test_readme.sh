#!/bin/sh
# Runs the SQL in README.md (or in the file named) and compares what it prints. Prints TAP, one
# test a block and one for the end of the session.
#
# Every fenced block marked sql runs, in order, in one session of the stock sqlite3 shell on the
# new database file demo.db, where ./ptable is the extension. A block marked text that follows
# with nothing but empty lines between is its expected output, blanks at line ends aside; without
# one the block must print no error. Line numbers in errors are left out, as they are when typed.
set -u
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/shell.sh"

readme=${1:-$root/README.md}

# Writes NN.sql for each block and NN.expected where its output is given.
split_blocks() {
    awk -v folder="$work" '
        kind == "" && /^```/ {
            kind = substr($0, 4)
            sub(/[ \t]+$/, "", kind)
            if (kind == "") kind = "other"
            if (kind == "sql") file = sprintf("%s/%d.sql", folder, ++blocks)
            else if (kind == "text" && after_sql) file = sprintf("%s/%d.expected", folder, blocks)
            else file = ""
            if (file != "") printf "" > file
            next
        }
        /^```/ {
            if (file != "") close(file)
            after_sql = kind == "sql"
            kind = ""
            next
        }
        kind != "" { if (file != "") print > file; next }
        NF { after_sql = 0 }
    ' "$readme"
}

marker="-- the end of a block --"

whole_script() {
    for number in $(seq "$count"); do
        cat "$work/$number.sql"
        echo ".print \"$marker\""
    done
}

# Cuts the session's output into NN.actual, with NN.ended for each block that came to its end.
split_output() {
    sed -E -e 's/^(Parse error|Runtime error|Error) near line [0-9]+:/\1:/' -e 's/[ \t]+$//' "$1" |
        awk -v folder="$work" -v marker="$marker" '
            function name(ending) { return sprintf("%s/%d.%s", folder, block, ending) }
            BEGIN { block = 1; file = name("actual") }
            at = index($0, marker) {
                printf "%s", substr($0, 1, at - 1) > file
                printf "" > name("ended")
                close(file)
                block++
                file = name("actual")
                next
            }
            { print > file }
        '
}

check_block() {
    actual=$work/$1.actual
    if [ ! -e "$work/$1.ended" ]; then
        echo "# the block did not end: a statement has no end, or the shell was left"
        return 1
    elif [ -e "$work/$1.expected" ]; then
        sed -E 's/[ \t]+$//' "$work/$1.expected" >"$work/expected"
        same "$work/expected" "$actual" "readme-$1"
    elif grep -E '^(Parse error|Runtime error|Error)' "$actual" >"$work/errors"; then
        commented <"$work/errors"
        return 1
    fi
}

# What the shell says beyond the last end of a block, such as how it crashed.
check_end() {
    ended=$(find "$work" -name '*.ended' | wc -l)
    if [ -e "$work/$((ended + 1)).actual" ]; then
        commented <"$work/$((ended + 1)).actual"
        return 1
    fi
}

split_blocks
count=$(find "$work" -name '*.sql' | wc -l)
if [ "$count" -eq 0 ]; then
    echo "1..1"
    echo "# $readme has no block marked sql"
    result 1 "there is SQL in the README" 1
    exit 1
fi

fresh_folder session
whole_script >"$work/script"
run_shell session demo.db "$work/script" "$work/output"
split_output "$work/output"

echo "1..$((count + 1))"
for number in $(seq "$count"); do
    check_block "$number"
    result "$number" "$(head -n 1 "$work/$number.sql" | sed 's/#/\\#/g')" $?
done
check_end
result $((count + 1)) "the session ends well" $?
test "$failures" -eq 0
