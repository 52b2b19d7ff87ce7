#!/bin/sh
# Kills a program that writes a table and another one that follows its changes (examples/follow_table.c),
# again and again: in the end the copy is equal to the table. ROUNDS (1; with LONG 30) says how often. Prints TAP.
set -u
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/shell.sh"

program=$examples/follow_table
source=$work/source.ptable
copy=$work/copy.ptable
rounds=${ROUNDS:-1}
[ -z "${LONG:-}" ] || rounds=${ROUNDS:-30}

# The tables, and what the statements of a script begin with.
declare_tables() {
    cat <<END
.load ./ptable
.timeout 60000
CREATE VIRTUAL TABLE Source USING ptable(N, Text, store='$source', table=Task);
CREATE VIRTUAL TABLE Copy USING ptable(N, Text, store='$copy', table=Task);
CREATE VIRTUAL TABLE Followed USING ptable(Since String, store='$copy');
END
}

# sql statement: runs it and prints the result.
sql() {
    [ -d "$work/sql" ] || fresh_folder sql
    { declare_tables && echo "$1"; } >"$work/statement"
    run_shell sql :memory: "$work/statement" "$work/answer"
    cat "$work/answer"
}

# Statements without end, which change some of 200 entities each.
write_for_ever() {
    declare_tables
    while true; do
        for number in 1 2 3 4 5 6 7; do
            cat <<END || return
INSERT OR REPLACE INTO Source(PartitionKey, RowKey, N, Text) VALUES ('p$number', 'r' || (abs(random()) % 25), random(), hex(randomblob(9)));
UPDATE Source SET N = N + 1 WHERE RowKey = 'r' || (abs(random()) % 25);
DELETE FROM Source WHERE PartitionKey = 'p$number' AND RowKey = 'r' || (abs(random()) % 25);
BEGIN; UPDATE OR REPLACE Source SET RowKey = 'r' || (abs(random()) % 25) WHERE PartitionKey = 'p$number' AND RowKey = 'r' || (abs(random()) % 25);
DELETE FROM Source WHERE RowKey = 'r$number'; COMMIT;
BEGIN; DELETE FROM Source WHERE PartitionKey = 'p$number'; ROLLBACK;
END
        done
    done
}

follow() {
    timeout --kill-after=5 60 "$program" "$source" Task "$copy" 2>&1
}

# await time: waits until the follower has written another Timestamp than this one, and prints it.
await() {
    tries=600
    while [ "$tries" -gt 0 ]; do
        seen=$(sql "$since")
        [ "$seen" = "$1" ] || break
        tries=$((tries - 1))
    done
    [ "$tries" -gt 0 ] || echo "# the follower does not go on" >&2
    echo "$seen"
}

since="SELECT Since FROM Followed;"
difference="SELECT count(*) FROM (SELECT PartitionKey, RowKey, N, Text FROM Source EXCEPT SELECT PartitionKey, RowKey, N, Text FROM Copy);
SELECT (SELECT count(*) FROM Source) - (SELECT count(*) FROM Copy);"

fresh_folder writer
echo "1..5"
# The writer makes the table; the first follower meets a table without changes.
sql "INSERT INTO Source(PartitionKey, RowKey, N) VALUES ('p1', 'x', 1);" >"$work/none"
same_text "the first copy" "0
0" "$(follow && sql "$difference")"

round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    # shellcheck disable=SC2086 # PT_SHELL is a list of words
    write_for_ever 2>"$work/none" |
        (cd "$work/writer" && LD_PRELOAD="${PT_PRELOAD:-}" exec ${PT_SHELL:-sqlite3} -batch -init /dev/null :memory: >"$work/written" 2>&1) &
    writer=$!
    "$program" "$source" Task "$copy" 0.001 >"$work/followed" 2>&1 &
    follower=$!
    seen=$(sql "$since")
    for _ in $(seq $((round * 3 % 14 + 2))); do
        seen=$(await "$seen")
    done
    if [ $((round % 2)) -eq 0 ]; then
        kill -KILL "$follower" "$writer"
    else
        kill -KILL "$writer" "$follower"
    fi
    wait "$writer" "$follower" 2>"$work/none"
done
same_text "a copy whose follower was killed" "0
0" "$(follow && sql "$difference")"
seen=$(sql "$since")
"$program" "$source" Task "$copy" 0.01 &
follower=$!
sql "INSERT INTO Source(PartitionKey, RowKey, N) VALUES ('last', 'x', 1);" >"$work/none"
await "$seen" >"$work/none"
kill -TERM "$follower"
wait "$follower"
same_text "a follower ends when it is told to" "0
0
0" "$(echo $? && sql "$difference")"
same_text "its pause is a number" "usage: follow_table SOURCE TABLE COPY [SECONDS]" \
    "$("$program" "$source" Task "$copy" often 2>&1)"
same_text "both stores are sound" "ok
ok" "$(sql "SELECT pt_check('$source'); SELECT pt_check('$copy');")"
