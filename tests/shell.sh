# Sourced by the scripts that test SQL in the stock sqlite3 shell, and programs. Variables set:
#
#     PT_LIBRARY   the extension under test             (ptable.so in the top folder)
#     PT_EXAMPLES  the folder of the examples that are C programs (build/examples)
#     PT_SHELL     the shell, a command with arguments  (sqlite3)
#     PT_PRELOAD   libraries the shell loads before itself, for the sanitizers   (none)
#     PT_DIFFERENCES  a folder with the differences in output under valgrind, or of another SQLite   (none)
#     PT_TIMEOUT   seconds until a shell that hangs is killed, if run_program.pl has not  (600)
# shellcheck shell=sh

root=$(cd "$(dirname "$0")/.." && pwd -P)
library=${PT_LIBRARY:-$root/ptable.so}
# shellcheck disable=SC2034 # used by some of the scripts
examples=${PT_EXAMPLES:-$root/build/examples}
work=$(mktemp -d)
work=$(cd "$work" && pwd -P)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# fresh_folder name: makes a folder with the extension as ./ptable.so, the scripts for users as sql/,
# the test data as data/ and an empty folder build/. It is a copy of one that is made once: there are
# many scripts, and each process takes time.
fresh_folder() {
    if [ ! -e "$work/.fresh" ]; then
        mkdir "$work/.fresh" "$work/.fresh/build"
        ln -s "$library" "$work/.fresh/ptable.so"
        ln -s "$root/sql" "$work/.fresh/sql"
        if [ -d "$root/tests/sql/data" ]; then
            ln -s "$root/tests/sql/data" "$work/.fresh/data"
        fi
    fi
    cp -a "$work/.fresh" "$work/$1"
}

# run_shell folder database script output: writes both output streams of the shell to one file. In it
# the folder's own path becomes <folder>, and the time in an ETag and the ids of a message in an error
# become <time>, <id> and <receipt>. An exit code other than 0 or 1 (SQL errors) is noted.
run_shell() {
    ended=0
    # shellcheck disable=SC2086 # PT_SHELL is a list of words
    (cd "$work/$1" && exec timeout --foreground --kill-after=5 "${PT_TIMEOUT:-600}" \
        env LC_ALL=C.UTF-8 TZ=UTC HOME="$work/$1" TMPDIR="$work/$1" LD_PRELOAD="${PT_PRELOAD:-}" \
        ${PT_SHELL:-sqlite3} -batch -init /dev/null "$2") <"$3" >"$4.raw" 2>&1 || ended=$?
    if [ "$ended" -gt 1 ]; then
        echo "(the shell ended with $ended)" >>"$4.raw"
    fi
    sed -e "s|$work/$1|<folder>|g" -e "s|datetime''20[0-9T.%AZ-]*''|datetime''<time>''|g" \
        -e "s|message '[0-9a-f-]\{36\}'|message '<id>'|; s|PopReceipt '[0-9]\{19\}-[0-9a-f-]*'|PopReceipt '<receipt>'|" \
        "$4.raw" >"$4"
}

# commented: turns its input into TAP comments.
commented() {
    sed 's/^/# /'
}

# same expected actual [name]: compares, and prints differences as TAP comments. Expected differences
# are in $PT_DIFFERENCES/name.diff, if there is such a file; with UPDATE=1 that is written instead.
same() {
    recorded=${PT_DIFFERENCES:+${3:+$PT_DIFFERENCES/$3.diff}}
    if [ -n "$recorded" ] && [ "${UPDATE:-}" = 1 ]; then
        diff "$1" "$2" >"$recorded" && rm "$recorded"
        return 0
    elif [ -n "$recorded" ] && [ -e "$recorded" ]; then
        diff "$1" "$2" | cmp -s - "$recorded" && return 0
        echo "# $recorded says what is to differ, and this is something else:"
    elif diff "$1" "$2" >/dev/null; then
        return 0
    fi
    diff -u --label expected --label actual "$1" "$2" >"$work/diff"
    commented <"$work/diff"
    return 1
}

# result number name status: the TAP line of one test; remembers failures for the exit code.
failures=0
result() {
    if [ "$3" -eq 0 ]; then
        echo "ok $1 - $2"
    else
        echo "not ok $1 - $2"
        failures=$((failures + 1))
    fi
}

# same_text name expected actual: a test of its own, that two texts are the same.
number=0
same_text() {
    printf '%s\n' "$2" >"$work/expected"
    printf '%s\n' "$3" >"$work/actual"
    same "$work/expected" "$work/actual" && status=0 || status=1
    number=$((number + 1))
    result "$number" "$1" "$status"
}
