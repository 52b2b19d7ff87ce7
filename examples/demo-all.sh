#!/bin/sh
# The long demonstration: real data of a Debian machine in ptables, in the stock sqlite3 shell.
#
#     examples/demo-all.sh      from any folder, in the source or installed
#
# The extension is $PTABLE, else the one that was built or installed with these examples.
# Loads a word list, the list of installed packages and dpkg's log, and queries them. Prints the
# statements, the results, the plans and the times. Works in a temporary folder that it removes.
# Ends with an error if a statement fails, or if the tables do not match the counts that grep and
# awk find in the input.
set -eu

examples=$(cd "$(dirname "$0")" && pwd -P)
for library in "${PTABLE:-}" "$examples/../ptable.so" "$examples/../../../lib/ptable.so" \
    /usr/lib/*/ptable.so; do
    [ -z "$library" ] || [ ! -r "$library" ] || break
done
words=/usr/share/dict/american-english-huge
packages=/var/lib/dpkg/status
logs=/var/log/dpkg.log

# The locale defines letters and their upper case.
export LC_ALL=C.UTF-8

for needed in "$library" "$words" "$packages"; do
    if [ ! -r "$needed" ]; then
        echo "demo: $needed is missing; 'make demo-all' builds and installs what is needed" >&2
        exit 1
    fi
done

library=$(cd "$(dirname "$library")" && pwd -P)/$(basename "$library")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
cd "$folder"
ln -s "$library" ptable.so

# --- Input as CSV ---------------------------------------------------------------------------------

# Each word, and the same in upper case: SQLite's upper() knows ASCII only, sed knows all letters.
words_as_csv() {
    sed 's/.*/"&","\U&"/' "$words"
}

# One line for each field: number of the package, field, value. Only the first line of long fields.
fields_as_csv() {
    awk '
        function quoted(text) { gsub(/"/, "\"\"", text); return "\"" text "\"" }
        /^$/ { number++ }
        /^[A-Za-z]/ {
            colon = index($0, ":")
            print number + 0 "," quoted(substr($0, 1, colon - 1)) "," \
                quoted(substr($0, colon + 2))
        }' "$packages"
}

# All logs, including rotated and compressed ones, in the order of time.
log_lines() {
    for log in "$logs"*; do
        if [ -r "$log" ]; then
            zcat --force "$log"
        fi
    done | sort --stable --key=1,2
}

# Number of the line, time, action, package, and the rest of the line.
log_as_csv() {
    awk '
        function quoted(text) { gsub(/"/, "\"\"", text); return "\"" text "\"" }
        {
            first = $3 == "status" ? 5 : 4
            rest = $3 == "status" ? $4 : ""
            for (i = first + 1; i <= NF; i++) rest = rest (rest == "" ? "" : " ") $i
            print NR "," quoted($1 " " $2) "," quoted($3) "," quoted($first) "," quoted(rest)
        }'
}

# --- Running and checking -------------------------------------------------------------------------

# The shell's timer shows only milliseconds of real time, so the user and system time are printed.
run() {
    sqlite3 -batch -bail -init /dev/null -cmd '.echo on' demo.db <"$examples/$1" >output.txt || {
        cat output.txt
        return 1
    }
    awk '/^Run Time: real/ { printf "Time: %d microseconds\n", ($6 + $8) * 1e6; next } { print }' output.txt
}

# The answer to one query.
ask() {
    sqlite3 -batch -bail -init /dev/null -cmd '.load ./ptable' demo.db "$1"
}

# expect what expected query: compares the answer with the count in the input.
expect() {
    answer=$(ask "$3")
    if [ "$answer" != "$2" ]; then
        echo "demo: $1: the table says '$answer', the input says '$2'" >&2
        exit 1
    fi
    echo "-- checked: $1: $2"
}

# --- Words ----------------------------------------------------------------------------------------

words_as_csv >words.csv
run demo-words.sql
expect "words in the list" "$(grep -c '' "$words")" "SELECT count(*) FROM Word"
expect "words with m or M" "$(grep -ic '^m' "$words")" \
    "SELECT count(*) FROM Word WHERE PartitionKey = 'M'"
expect "words with un" "$(grep -ic '^un' "$words")" \
    "SELECT count(*) FROM Word WHERE PartitionKey = 'U' AND pt_starts_with(RowKey, 'UN')"
expect "characters in all words" "$(tr -d '\n' <"$words" | wc -m)" \
    "SELECT sum(Length) FROM Word"

# --- Packages -------------------------------------------------------------------------------------

fields_as_csv >fields.csv
run demo-packages.sql
expect "installed packages" "$(grep -c '^Status: .* ok installed$' "$packages")" \
    "SELECT count(*) FROM Package"
expect "packages with a home page" \
    "$(awk -v RS= '/\nStatus: [a-z]+ ok installed\n/ && /\nHomepage: / { count++ }
        END { print count + 0 }' "$packages")" \
    "SELECT count(*) FROM Package WHERE Properties ->> 'Homepage' IS NOT NULL"

# --- Log ------------------------------------------------------------------------------------------

log_lines >log.txt
if [ -s log.txt ]; then
    log_as_csv <log.txt >log.csv
    run demo-log.sql
    expect "lines in the log" "$(grep -c '' log.txt)" "SELECT count(*) FROM Log"
    expect "time of the last line" "$(tail -n 1 log.txt | cut -d ' ' -f 1,2)" \
        "SELECT strftime('%Y-%m-%d %H:%M:%S', max(Time)) FROM Log"
else
    echo "-- $logs is empty or missing on this machine, so there is no log to show."
fi

echo
echo "-- The database holds nothing but the declarations; the entities are in the store."
ls -l demo.db demo.ptable
