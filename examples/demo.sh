#!/bin/sh
# The demonstration, in one screen: the words of a Debian word list in a ptable and in an ordinary
# table, in the stock sqlite3 shell.
#
#     examples/demo.sh [picture.svg]     from any folder, in the source or installed
#
# The extension is $PTABLE, else the one that was built or installed with these examples.
# Every figure is measured in this run; the two tables take turns. Ends with an error if a statement
# fails, or if a table does not match the counts that grep and wc find in the list. Works in a
# temporary folder that it removes; the picture stays. The long form is demo-all.sh.
set -eu

examples=$(cd "$(dirname "$0")" && pwd -P)
for library in "${PTABLE:-}" "$examples/../ptable.so" "$examples/../../../lib/ptable.so" \
    /usr/lib/*/ptable.so; do
    [ -z "$library" ] || [ ! -r "$library" ] || break
done
picture=${1:-words.svg}
words=/usr/share/dict/american-english-huge
scripts=$examples/../sql
rounds=5
slices=10

# The locale defines letters and their upper case.
export LC_ALL=C.UTF-8

for needed in "$library" "$words"; do
    if [ ! -r "$needed" ]; then
        echo "demo: $needed is missing; 'make demo' builds and installs what is needed" >&2
        exit 1
    fi
done
case $picture in
/*) ;;
*) picture=$PWD/$picture ;;
esac

library=$(cd "$(dirname "$library")" && pwd -P)/$(basename "$library")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
cd "$folder"
ln -s "$library" ptable.so

fail() {
    echo "demo: $*" >&2
    exit 1
}

# Runs SQL from standard input, or the statement given. Stops at the first error.
shell() {
    sqlite3 -batch -bail -init /dev/null -cmd '.load ./ptable' -cmd '.timeout 60000' demo.db "$@"
}

# --- The two tables -------------------------------------------------------------------------------

# A partition for each letter. The RowKey is the word in upper case, a blank, and the word itself.
# (Each word and the same in upper case: SQLite's upper() knows ASCII only, sed knows all letters.)
table="CREATE VIRTUAL TABLE Word USING ptable(Title String, Length Int32);"
sed 's/.*/"&","\U&"/' "$words" >words.csv
number=$(grep -c '' "$words")
shell >setup.txt <<END
PRAGMA journal_mode = WAL;
$table
CREATE VIRTUAL TABLE Job USING pt_queue();
CREATE TABLE Ordinary(PartitionKey TEXT, RowKey TEXT, Title TEXT, Length INTEGER,
  PRIMARY KEY(PartitionKey, RowKey)) WITHOUT ROWID;
END

# --- Measuring ------------------------------------------------------------------------------------

# measure name runs statement: measures the statements for one table and then for the other; TABLE
# in a statement is the table, and the table that is first in one turn is second in the next.
measure() {
    sides="Word Ordinary"
    [ $((turn % 2)) -eq 1 ] || sides="Ordinary Word"
    for side in $sides; do
        echo "UPDATE Clock SET Start = pt_ticks();"
        echo "$3" | sed "s/TABLE/$side/g"
        echo "INSERT INTO Timed SELECT '$1', '$side', $2, pt_ticks() - Start FROM Clock;"
    done
}

# repeated times statement: the statement so many times.
repeated() {
    for _ in $(seq "$1"); do
        echo "$2"
    done
}

point="SELECT Title, Length FROM TABLE WHERE PartitionKey = 'M' AND RowKey = 'METABOLISM metabolism';"
range="SELECT Title FROM TABLE WHERE PartitionKey = 'M' AND RowKey >= 'METABOLIS' AND RowKey < 'METABOLIT';"
count="SELECT count(*) FROM TABLE WHERE PartitionKey = 'M';"
columns="TABLE(PartitionKey, RowKey, Title, Length)"

measurements() {
    cat <<END
CREATE TEMP TABLE Raw(Word TEXT, Upper TEXT);
.import --csv --schema temp words.csv Raw
CREATE TEMP TABLE Shuffled AS
  SELECT substr(Upper, 1, 1) AS P, pt_compound_key_sep(' ', Upper, Word) AS R, Word, length(Word)
    FROM Raw ORDER BY random();
CREATE TEMP TABLE Sample AS SELECT P, R FROM Shuffled LIMIT 5000;
CREATE TEMP TABLE Clock AS SELECT 0 AS Start;
CREATE TEMP TABLE Timed(Name, Side, Runs, Ticks);
.output answers.txt
END
    for turn in $(seq "$rounds"); do
        echo "DELETE FROM Word; DELETE FROM Ordinary;"
        measure load "$number" "INSERT INTO $columns SELECT * FROM Shuffled;"
        measure distinct 1 "SELECT DISTINCT PartitionKey FROM TABLE;"
        for slice in $(seq "$slices"); do
            turn=$((turn + 1))
            measure point 500 "$(repeated 500 "$point")"
            measure join 5000 \
                "SELECT count(Title) FROM Sample CROSS JOIN TABLE ON PartitionKey = P AND RowKey = R;"
            measure range 100 "$(repeated 100 "$range")"
            measure count 1 "$count"
            measure scan 1 "SELECT sum(Length) FROM TABLE WHERE PartitionKey = 'M';"
            measure single 1 "INSERT INTO $columns VALUES ('new', '$slice', 'new', 3);"
        done
        echo "DELETE FROM Word WHERE PartitionKey = 'new';"
        echo "DELETE FROM Ordinary WHERE PartitionKey = 'new';"
    done
    echo "CREATE TABLE Measured AS SELECT * FROM Timed;"
}

# The fastest time of each statement, for both tables, in microseconds: other programs can only make it
# slower, so each round measures many short slices.
fastest="CREATE VIEW Fastest AS
  SELECT Name, min(Ticks / 10.0 / Runs) FILTER (WHERE Side = 'Word') AS P,
         min(Ticks / 10.0 / Runs) FILTER (WHERE Side = 'Ordinary') AS O
    FROM Measured GROUP BY Name;"

# 348454 as 348,454.
thousands() {
    echo "$1" | sed ':again; s/^\([0-9]*\)\([0-9]\{3\}\)/\1,\2/; t again; s/^,//'
}

# row name text: a line of the comparison.
row() {
    shell "SELECT format('  %-52s %9.1f %9.1f %6.1f', '$2', P, O, O / P) FROM Fastest
            WHERE Name = '$1';"
}

# query title name statement: the statement, its time, its plan and what it finds. It must read a range
# of keys only.
query() {
    statement=$(echo "$3" | sed 's/TABLE/Word/')
    time=$(shell "SELECT format('%.1f microseconds with its parsing (ordinary table %.1f)', P, O)
                    FROM Fastest WHERE Name = '$2'")
    plan=$(shell "EXPLAIN QUERY PLAN $statement")
    found=$(shell "$statement")
    case $plan in
    *:"$2 query: "*) ;;
    *) fail "$statement has the plan $plan" ;;
    esac
    echo "$1, $time:"
    echo "  $statement"
    echo "  plan: ${plan##*[0-9]:}"
    # shellcheck disable=SC2086 # one line
    echo "  finds:" $found
}

# expect query count ...: both tables must give the answer that the list gives.
checked=0
expect() {
    for side in Word Ordinary; do
        answer=$(shell "SELECT $(echo "$1" | sed "s/TABLE/$side/")")
        [ "$answer" = "$2" ] || fail "$1: $side says '$answer', the list says '$2'"
    done
    checked=$((checked + 1))
}

# --- Two tables, side by side ---------------------------------------------------------------------

echo "ptable in sqlite3 $(sqlite3 --version | cut -d ' ' -f 1), on $(nproc) processors: loads the" \
    "$(thousands "$number") words of"
echo "$words into this table, $rounds times, beside an ordinary one:"
echo "  $table"
echo "Its data is in the file demo.db-ptable, that of the ordinary table in demo.db."
measurements | shell
shell "$fastest"
expect "count(*) FROM TABLE" "$number"
expect "count(*) FROM TABLE WHERE PartitionKey = 'M'" "$(grep -ic '^m' "$words")"
expect "count(*) FROM TABLE WHERE PartitionKey = 'U' AND RowKey >= 'UN' AND RowKey < 'UO'" \
    "$(grep -ic '^un' "$words")"
expect "count(*) FROM TABLE WHERE PartitionKey = 'M' AND RowKey >= 'METABOLIS' AND RowKey < 'METABOLIT'" \
    "$(grep -ic '^metabolis' "$words")"
expect "sum(Length) FROM TABLE" "$(tr -d '\n' <"$words" | wc -m)"
echo
echo "Microseconds, the fastest time. The ordinary table: WITHOUT ROWID, same keys and rows, WAL mode."
echo "Ratio above 1: ptable is faster.                          ptable  ordinary  ratio"
row load "load in random order, in one transaction: a word"
row join "look up by both keys, as part of a join"
row point "the same as a SELECT of its own, most of it parsing"
row scan "sum(Length) of the $(thousands "$(grep -ic '^m' "$words")") words with M"
row count "count(*) of the same"
row distinct "SELECT DISTINCT PartitionKey"
row single "INSERT on its own, on disk when it returns"
echo
query "Point query" point "$point"
query "Range query" range "$range"

# --- The picture ----------------------------------------------------------------------------------

shell >report.txt <<END
CREATE TEMP VIEW reported AS SELECT * FROM pt_partitions('Word');
.parameter set @svg "'$picture'"
.read $scripts/partition_report.sql
END
[ -s "$picture" ] || fail "$(cat report.txt)"
echo
sed -n '1,2p;5,7p' report.txt
more=$(shell "SELECT count(*) - 3 FROM pt_partitions('Word')")
echo "... and $more more, all in the picture: $picture"

# --- Writes that are refused, and queues ----------------------------------------------------------

key="PartitionKey = 'M' AND RowKey = 'METABOLISM metabolism'"
tag=$(shell "SELECT quote(ETag) FROM Word WHERE $key")
shell "UPDATE Word SET Length = 11 WHERE $key"
if shell "INSERT INTO Word(PartitionKey, RowKey, Length, WriteMode, IfMatch)
    VALUES ('M', 'METABOLISM metabolism', 12, 'merge', $tag);" 2>refused.txt; then
    fail "a write with an old ETag was not refused"
fi
grep -q 'UpdateConditionNotSatisfied' refused.txt || fail "$(cat refused.txt)"
echo
echo "A write on condition that the word has not changed, after it has:"
sed 's/^Error: stepping, //' refused.txt | fold -s -w 96 | sed 's/^/  /; s/ $//'

# Each worker is a process that takes one message after the other, until there are none.
worker() {
    while message=$(shell "SELECT Body FROM pt_queue_get('Job')") && [ -n "$message" ]; do
        echo "$message"
    done
}
shell "INSERT INTO Job(Body) SELECT 'job ' || value FROM json_each('[1,2,3,4,5,6,7,8,9,10]');"
worker >taken.1 &
worker >taken.2 &
wait
handed_out=$(sort -u taken.1 taken.2 | grep -c '' || true)
taken=$(cat taken.1 taken.2 | grep -c '' || true)
if [ "$taken" -ne 10 ] || [ "$handed_out" -ne 10 ]; then
    fail "of 10 messages $taken were handed out, $handed_out of them different"
fi
echo "A queue of 10 messages and two worker processes: $(grep -c '' taken.1 || true) and" \
    "$(grep -c '' taken.2 || true) messages, none twice."

# --- Two processes --------------------------------------------------------------------------------

# wait_for file: waits until another process has made the file.
cat >wait_for <<'END'
#!/bin/sh
for _ in $(seq 1200); do
    [ ! -e "$1" ] || exit 0
    sleep 0.05
done
exit 1
END
chmod +x wait_for
shell >writer.txt 2>&1 <<END &
BEGIN;
DELETE FROM Word WHERE PartitionKey = 'M';
.shell touch deleted
.shell ./wait_for counted
COMMIT;
END
writer=$!
./wait_for deleted || fail "the writer did not begin: $(cat writer.txt)"
before=$(shell "$(echo "$count" | sed 's/TABLE/Word/')")
touch counted
wait "$writer" || fail "the writer failed: $(cat writer.txt)"
after=$(shell "$(echo "$count" | sed 's/TABLE/Word/')")
[ "$before $after" = "$(grep -ic '^m' "$words") 0" ] ||
    fail "the reader saw $before words before the commit, $after after it"
echo "Two processes: one has deleted the words with M and not committed; the other need not wait" \
    "and"
echo "counts $(thousands "$before"). After COMMIT it counts $after."

# --- Summary --------------------------------------------------------------------------------------

# sum_up name format: a line with the times of the two tables and their ratio.
sum_up() {
    shell "SELECT format('  $2', P, O, O / P) FROM Fastest WHERE Name = '$1';"
}

echo
echo "In short, all measured or checked in this run (us: microseconds):"
sum_up load "load, random order    %.1f us a word, ordinary table %.1f us: %.1f times as fast"
sum_up join "look-up in a join     %.1f us, ordinary table %.1f us: %.1f times as fast"
sum_up point "one SELECT by keys    %.1f us with its parsing, ordinary table %.1f us: %.1f times as fast"
sum_up distinct "which partitions      %.0f us, ordinary table %.0f us: %.0f times as fast"
sum_up single "INSERT on its own     %.0f us, ordinary table %.0f us: %.1f times as fast; so use BEGIN ... COMMIT"
echo "  conditional write     refused, because the ETag was old"
echo "  queue                 10 messages for two workers, none twice"
echo "  two processes         the reader did not wait for the writer"
echo "  results               $checked counts of both tables are those that grep and wc find in the list"
echo "  more                  make demo-all (the long form), README.md, examples/README.md"
