#!/bin/sh
# Compares the reference, sql/README.md, with what the libraries have: each function with its numbers of
# arguments, the functions that are not deterministic, and the options of each module. The fuzzer of
# options must know the same ones. Prints TAP.
# shellcheck disable=SC2016 # the backquotes are Markdown's
set -u
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/shell.sh"

reference=$root/sql/README.md
dictionary=$root/tests/fuzz/config.dict
service=${library%.so}_service.so
load_all='.load ./ptable'
if [ -e "$service" ]; then
    load_all="$load_all
.load ./ptable_service"
fi

# ask: what the shell prints for the script of the standard input with the libraries, sorted.
ask() {
    rm -rf "$work/asked"
    fresh_folder asked
    [ ! -e "$service" ] || ln -s "$service" "$work/asked/ptable_service.so"
    { echo "$load_all"; cat; } >"$work/asked.sql"
    run_shell asked :memory: "$work/asked.sql" "$work/asked.out"
    LC_ALL=C sort -u "$work/asked.out"
}

# --- functions ---

# Prints a line for each number of arguments of each `function(...)` in the input: what is in brackets
# can be left out, and ... is any number.
signatures() {
    grep -o '`pt_[a-z0-9_]*([^`]*)`' | tr -d '`' | awk '
        function arguments(list) {
            gsub(/[][ ]/, "", list)
            return list == "" ? 0 : gsub(/,/, "", list) + 1
        }
        {
            name = substr($0, 1, index($0, "(") - 1)
            all = needed = substr($0, length(name) + 2, length($0) - length(name) - 2)
            while (gsub(/\[[^][]*\]/, "", needed)) { }
            if (all ~ /\.\.\./) print name, -1
            else for (n = arguments(needed); n <= arguments(all); n++) print name, n
        }
    ' | if [ -e "$service" ]; then cat; else grep -v '^pt_service_'; fi | LC_ALL=C sort -u
}

# Those in the first column of tables. Some are modules, which are no functions for SQLite.
documented_functions() {
    echo "SELECT name FROM pragma_module_list;" | ask >"$work/modules"
    sed -n 's/^| *\(`pt_[^|]*\)|.*/\1/p' "$reference" | signatures | grep -vwFf "$work/modules"
}

# functions condition: those that meet it, with their numbers of arguments.
functions() {
    echo "SELECT name || ' ' || narg FROM pragma_function_list WHERE name GLOB 'pt_*' AND $1;" | ask
}

# Flags of sqlite3_create_function.
deterministic="flags & 2048 <> 0"
innocuous="flags & 2097152 <> 0"

# --- options ---

# options_of module: as the error lists them.
options_of() {
    echo "CREATE VIRTUAL TABLE T USING $1(no_such_option=1);" | ask |
        sed 's/.*; the options are //; s/ and /,/; s/, */\n/g' | LC_ALL=C sort
}

# documented_options header: those in the first column of the table with this header.
documented_options() {
    awk -v header="$1" '
        $0 == header { inside = 1 }
        !/^\|/ { inside = 0 }
        inside && split($0, part, "`") > 1 && $0 ~ /^\| `/ { print part[2] }
    ' "$reference" | LC_ALL=C sort
}

# Those in the first sentence of the paragraph.
documented_options_of_queues() {
    awk '/^The options are / { inside = 1 } /^$/ { inside = 0 } inside' "$reference" | tr '\n' ' ' |
        sed 's/\. .*//' | grep -o '`[a-z_]*`' | tr -d '`' | LC_ALL=C sort
}

echo "1..$([ -e "$service" ] && echo 7 || echo 6)"
same_text "every function is in a table of the reference, with its arguments" "$(documented_functions)" \
    "$(functions 1)"
same_text "the reference names those that only compute and are not deterministic" \
    "$(awk '/^Not deterministic/ { inside = 1 } /^$/ { inside = 0 } inside' "$reference" | signatures)" \
    "$(functions "$innocuous AND NOT $deterministic")"
same_text "no other function is deterministic" "" "$(functions "NOT $innocuous AND $deterministic")"
same_text "the options of a ptable" "$(documented_options '| option | meaning | default |')" \
    "$(options_of ptable)"
same_text "the options of a queue" "$(documented_options_of_queues)" "$(options_of pt_queue)"
same_text "the fuzzer knows the options of both" \
    "$(sed -n 's/^"\([a-z_]*\)="$/\1/p' "$dictionary" | LC_ALL=C sort)" \
    "$({ options_of ptable; options_of pt_queue; } | LC_ALL=C sort -u)"
[ ! -e "$service" ] ||
    same_text "the options of pt_service" "$(documented_options '| option | |')" "$(options_of pt_service)"
test "$failures" -eq 0
