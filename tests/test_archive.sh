#!/bin/sh
# Kills the archive worker after each of its steps and lets another one finish: the result is always
# the same. Prints TAP.
set -u
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/shell.sh"

program=$examples/archive_worker
store=$work/archive.ptable
hidden=0.05 # seconds that a message is hidden, and so that the second worker waits at most

worker() {
    timeout --kill-after=5 60 "$program" "$store" "$@" 2>&1
}

# sql statement: runs it on the worker's tables and prints the result.
sql() {
    [ -d "$work/sql" ] || fresh_folder sql
    cat >"$work/statement" <<END
.load ./ptable
.timeout 60000
CREATE VIRTUAL TABLE Current USING ptable(store='$store');
CREATE VIRTUAL TABLE Archive USING ptable(store='$store');
CREATE VIRTUAL TABLE Job USING pt_queue(store='$store');
$1
END
    run_shell sql :memory: "$work/statement" "$work/answer"
    cat "$work/answer"
}

# Where the entity of a RowKey is, with its content, and how many messages there are.
state() {
    sql "SELECT 'current ' || Properties FROM Current WHERE RowKey = '$1';
         SELECT 'archive ' || Properties FROM Archive WHERE RowKey = '$1';
         SELECT 'messages ' || count(*) FROM Job;"
}

# Runs a worker that waits at each step, and kills it after the given one.
kill_after() {
    mkfifo "$work/keys" "$work/steps"
    "$program" "$store" step "$hidden" <"$work/keys" >"$work/steps" 2>&1 &
    victim=$!
    exec 3>"$work/keys" 4<"$work/steps"
    rm "$work/keys" "$work/steps"
    at=0
    while [ "$at" -lt "$1" ] && read -r at _ <&4; do
        [ "$at" -ge "$1" ] || echo >&3
    done
    kill -KILL "$victim"
    wait "$victim" 2>/dev/null
    exec 3>&- 4<&-
}

entity='{"Born":"1990-05-01T00:00:00.0000000Z","Born@odata.type":"Edm.DateTime","Name":"Jun"}'
echo "1..16"

for step in 1 2 3 4 5 6; do
    sql "INSERT INTO Current VALUES ('Sales', '$step', '$entity');" >"$work/none"
    worker enqueue Sales "$step" >"$work/none"
    [ "$step" -eq 1 ] || kill_after "$step"
    case $step in
    1 | 2 | 3) expected="current $entity
messages 1" ;;
    4) expected="current $entity
archive $entity
messages 1" ;;
    5) expected="archive $entity
messages 1" ;;
    6) expected="archive $entity
messages 0" ;;
    esac
    same_text "killed after step $step" "$expected" "$(state "$step")"
    worker work "$hidden" >"$work/none"
    same_text "finished after a kill at step $step" "archive $entity
messages 0" "$(state "$step")"
done

# An entity that is changed while it is moved is moved with the change.
sql "INSERT INTO Current VALUES ('Sales', 'changed', '{\"Name\":\"Jun\"}');" >"$work/none"
worker enqueue Sales changed >"$work/none"
kill_after 4
sql "UPDATE Current SET Properties = '{\"Name\":\"Ken\"}' WHERE RowKey = 'changed';" >"$work/none"
worker work "$hidden" >"$work/none"
same_text "an entity that changes on the way" 'archive {"Name":"Ken"}
messages 0' "$(state changed)"

# A message about an entity that does not exist is simply done.
worker enqueue Sales missing >"$work/none"
worker work "$hidden" >"$work/none"
same_text "an entity that is not there" "messages 0" "$(state missing)"

# Several workers at once, one of which is killed at some place.
for key in $(seq 30); do
    echo "INSERT INTO Current VALUES ('IT', '$key', '{\"Number\":$key}');"
    echo "INSERT INTO Job(Body) VALUES (json_object('PartitionKey', 'IT', 'RowKey', '$key'));"
done >"$work/many"
sql "BEGIN;
$(cat "$work/many")
COMMIT;" >"$work/none"
kill_after 5
for helper in 1 2 3; do
    worker work "$hidden" >"$work/worker.$helper" &
done
wait
same_text "three workers after one that died" "30 entities, none in Current, 0 messages" "$(
    sql "SELECT count(*) || ' entities, ' || iif(EXISTS(SELECT 1 FROM Current), 'some', 'none') ||
                ' in Current, ' || (SELECT count(*) FROM Job) || ' messages'
           FROM Archive WHERE PartitionKey = 'IT' AND Properties = json_object('Number', RowKey + 0);"
)"
same_text "what the workers say" "" "$(grep -v '^[2-6] [a-z]* IT [0-9]*$' "$work"/worker.*)"
test "$failures" -eq 0
