#!/bin/sh
# Runs the SQL in the READMEs (or in the files named) and compares its output. Prints TAP, one test a
# block and one for the end of each session.
#
# The fenced blocks of a file that are marked sql run, in order, in one session of the stock sqlite3
# shell on the new database file demo.db, where ./ptable is the extension. A block marked text that follows
# with nothing but empty lines between is its expected output, except for blanks at line ends. Without
# one the block must print no error. Line numbers in errors are left out, as in an interactive shell.
set -u
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/shell.sh"

if [ $# -eq 0 ]; then
    set -- README.md sql/README.md
    cd "$root" || exit 1
fi

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
        same "$work/expected" "$actual" "$page-$1"
    elif grep -E '^(Parse error|Runtime error|Error)' "$actual" >"$work/errors"; then
        commented <"$work/errors"
        return 1
    fi
}

# The shell's output after the last end of a block, such as a crash.
check_end() {
    ended=$(find "$work" -name '*.ended' | wc -l)
    if [ -e "$work/$((ended + 1)).actual" ]; then
        commented <"$work/$((ended + 1)).actual"
        return 1
    fi
}

# How many blocks the files have, one number a line.
count_blocks() {
    for readme in "$@"; do
        grep -c '^```sql' "$readme"
    done
}

# The name of a file in tests/newest begins with that of the page: readme-3.diff, sql-readme-2.diff.
run_page() {
    readme=$1
    page=$(echo "${readme%.md}" | tr '/A-Z' '-a-z')
    rm -f "$work"/*.sql "$work"/*.expected "$work"/*.actual "$work"/*.ended
    split_blocks
    count=$(find "$work" -name '*.sql' | wc -l)
    fresh_folder "$page"
    whole_script >"$work/script"
    run_shell "$page" demo.db "$work/script" "$work/output"
    split_output "$work/output"
    for number in $(seq "$count"); do
        check_block "$number"
        result $((done + number)) "$readme: $(head -n 1 "$work/$number.sql" | sed 's/#/\\#/g')" $?
    done
    check_end
    done=$((done + count + 1))
    result "$done" "$readme: the session ends well" $?
}

if count_blocks "$@" | grep -qx 0; then
    echo "1..1"
    echo "# a page without a block marked sql, among: $*"
    result 1 "there is SQL on each page" 1
    exit 1
fi

echo "1..$(count_blocks "$@" | awk '{ blocks += $1 + 1 } END { print blocks }')"
done=0
for page_file in "$@"; do
    run_page "$page_file"
done
test "$failures" -eq 0
