#!/bin/sh
# Uses the extension from programs in several languages, each through the SQLite binding that Debian
# has for it, or npm (installed by `npm install --prefix build/clients better-sqlite3`, for example).
# Prints TAP. CLIENTS names those to run (all):
#
#     CLIENTS='perl go' tests/test_clients.sh
#
# A client is a small program, clients/client.*, that reads requests, one a line, and answers each with
# one line: `ok` and the result, or `error`, SQLite's primary code and the text, as its language shows
# them. All scenarios are here. The requests are
#
#     open PATH MS           a connection with the extension loaded and this time-out
#     run SQL, query SQL     the rows: columns parted by |, rows by ;, and each value with its type
#                            as the language sees it, as integer:5 or text:five
#     insert TABLE           two rows bound as the language's own types, in one transaction as the
#                            language makes it
#     repeat NAME COUNT      transactions that each insert into Item and count in Counter
#     threads PATH N COUNT   the same in N threads, each with a connection of its own, which is
#                            left open
#     abandon SQL            reads the first row and leaves the statement there
#     close                  the connection, whatever is still open in it
#     forget                 drops what was abandoned and closed, for the language to collect
#     leave                  exits with everything open
#
# Not here: PHP's PDO and Lua's LuaSQL offer no loading of extensions.
set -u
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/shell.sh"
clients=$root/tests/clients
folder=$work/data
mkdir "$folder"
export PTABLE="$library" LC_ALL=C.UTF-8
REPEATS=15 THREADS=3 PATIENCE_MS=60000

all_clients="shell python python_implicit apsw perl php ruby tcl java go better_sqlite3"
export NODE_PATH="$root/build/clients/node_modules${NODE_PATH:+:$NODE_PATH}"

# --- The clients ------------------------------------------------------------------------------

has() {
    command -v "$1" >/dev/null
}

# Why a client cannot run here, or nothing.
missing() {
    case $1 in
    shell) has sqlite3 || echo 'no sqlite3' ;;
    python*) /usr/bin/python3 -c 'import sqlite3; sqlite3.Connection.load_extension' 2>/dev/null ||
        echo 'no python3 whose sqlite3 loads extensions' ;;
    apsw) /usr/bin/python3 -c 'import apsw' 2>/dev/null || echo 'no python3-apsw' ;;
    perl) perl -MDBD::SQLite -e 1 2>/dev/null || echo 'no libdbd-sqlite3-perl' ;;
    php) php -r 'exit(class_exists("SQLite3") ? 0 : 1);' 2>/dev/null || echo 'no php-cli with php-sqlite3' ;;
    ruby) ruby -rsqlite3 -e 1 2>/dev/null || echo 'no ruby-sqlite3' ;;
    tcl) echo 'puts [package require sqlite3]' | tclsh 2>/dev/null | grep -q . || echo 'no libsqlite3-tcl' ;;
    java) { has javac && [ -e "$jdbc" ]; } || echo 'no JDK with libxerial-sqlite-jdbc-java' ;;
    go) { has go && [ -d "$go_path/src/github.com/mattn/go-sqlite3" ]; } ||
        echo 'no golang-go with golang-github-mattn-go-sqlite3-dev' ;;
    better_sqlite3) node -e 'new (require("better-sqlite3"))(":memory:")' 2>/dev/null ||
        echo 'no nodejs with better-sqlite3' ;;
    *) echo "there is no client $1" ;;
    esac
}

jdbc=/usr/share/java/sqlite-jdbc.jar
go_path=/usr/share/gocode

compile() {
    case $1 in
    java) javac -encoding UTF-8 -cp "$jdbc" -d "$work" "$clients/Client.java" ;;
    go) GO111MODULE=off GOPATH=$go_path GOFLAGS="" GOCACHE=${GOCACHE:-$root/build/clients/go} \
        go build -tags libsqlite3 -o "$work/client_go" "$clients/client.go" ;;
    esac
}

shows_types() {
    case $1 in shell | tcl) return 1 ;; esac
}

has_threads() {
    case $1 in python* | apsw | ruby | java | go) ;; *) return 1 ;; esac
}

can_abandon() {
    case $1 in shell | tcl | better_sqlite3) return 1 ;; esac
}

# --- Talking to two of them, a and b ----------------------------------------------------------

# start a|b client: its requests go to descriptor 3 or 5, its answers come from 4 or 6. One that
# hangs is ended, and then gives no more answers.
start() {
    side=$1
    case $2 in
    shell) set -- "$clients/client.sh" ;;
    python) set -- /usr/bin/python3 "$clients/client.py" ;;
    python_implicit) set -- /usr/bin/python3 "$clients/client.py" implicit ;;
    apsw) set -- /usr/bin/python3 "$clients/client_apsw.py" ;;
    perl) set -- perl "$clients/client.pl" ;;
    php) set -- php -d sqlite3.extension_dir="$(dirname "$library")" "$clients/client.php" ;;
    ruby) set -- ruby "$clients/client.rb" ;;
    tcl) set -- tclsh "$clients/client.tcl" ;;
    java) set -- java -Xshare:auto -cp "$work:$jdbc" Client ;;
    go) set -- "$work/client_go" ;;
    better_sqlite3) set -- node "$clients/client.js" ;;
    esac
    rm -f "$work/$side.in" "$work/$side.out"
    mkfifo "$work/$side.in" "$work/$side.out"
    timeout --kill-after=5 120 "$@" <"$work/$side.in" >"$work/$side.out" 2>"$work/$side.err" \
        3>&- 4>&- 5>&- 6>&- &
    case $side in
    a) pid_a=$! && exec 3>"$work/a.in" 4<"$work/a.out" ;;
    b) pid_b=$! && exec 5>"$work/b.in" 6<"$work/b.out" ;;
    esac
}

# tell a|b request: does not wait for the answer.
tell() {
    case $1 in
    a) printf '%s\n' "$2" >&3 ;;
    b) printf '%s\n' "$2" >&5 ;;
    esac
}

# The answer to the last request, without trailing blanks.
hear() {
    heard=
    case $1 in
    a) IFS= read -r heard <&4 || heard='no answer' ;;
    b) IFS= read -r heard <&6 || heard='no answer' ;;
    esac
    heard=${heard% }
}

ask() {
    tell "$1" "$2"
    hear "$1"
}

# Waits for its end; $ended says how it ended.
stop() {
    ended=0
    case $1 in
    a) exec 3>&- && { wait "$pid_a" || ended=$?; } && exec 4<&- ;;
    b) exec 5>&- && { wait "$pid_b" || ended=$?; } && exec 6<&- ;;
    esac
    [ ! -s "$work/$1.err" ] || commented <"$work/$1.err"
}

# --- Scenarios --------------------------------------------------------------------------------

# expect name answer: what was heard last.
expect() {
    same_text "$language: $1" "$2" "$heard"
}

now_ms() {
    echo $(($(date +%s%N) / 1000000))
}

store_is_free() {
    start b shell
    ask b "open :memory: 0"
    ask b "run CREATE VIRTUAL TABLE Typed USING ptable(store='$folder/$language.db-ptable')"
    ask b "run INSERT OR REPLACE INTO Typed(PartitionKey, RowKey) VALUES('free', '1')"
    ask b "query SELECT count(*) FROM Typed WHERE PartitionKey <> 'free'"
    stop b
}

types_come_back() {
    ask a "open $folder/$language.db $PATIENCE_MS"
    expect "the extension is loaded" "ok"
    ask a "run CREATE VIRTUAL TABLE Typed USING ptable(S String, L Int64, D Double, B Binary, N Int32)"
    ask a "insert Typed"
    expect "two rows are written" "ok"
    if shows_types "$language"; then
        ask a "query SELECT * FROM Typed WHERE PartitionKey = 'p' ORDER BY RowKey"
        expect "types come back" "ok text:p|text:1|text:it's \"ünï\" €𝄞|integer:9223372036854775807|\
real:0.1|blob:00ff27|null;text:p|text:2|text:|integer:-9223372036854775808|real:-2.5|blob:00|null"
        ask a "query SELECT count(*), sum(length(S)) FROM Typed WHERE D IN (0.1, -2.5) AND N IS NULL"
        expect "what was stored is what was given" "ok integer:2|integer:13"
    else
        ask a "query SELECT RowKey, hex(S), L, D, hex(B), N IS NULL FROM Typed ORDER BY RowKey"
        expect "values come back" "ok 1|697427732022C3BC6EC3AF2220E282ACF09D849E|9223372036854775807|0.1|00FF27|1;\
2||-9223372036854775808|-2.5|00|1"
        ask a "query SELECT count(*), sum(length(S)) FROM Typed WHERE D IN (0.1, -2.5) AND N IS NULL"
        expect "what was stored is what was given" "ok 2|13"
    fi
}

rollback_leaves_nothing() {
    ask a "run BEGIN"
    ask a "run INSERT INTO Typed(PartitionKey, RowKey) VALUES('p', '3'), ('q', '1')"
    ask a "run DELETE FROM Typed WHERE RowKey = '1'"
    ask a "query SELECT 'left: ' || group_concat(RowKey) FROM Typed"
    expect "a transaction sees its own writes" "ok ${text}left: 2,3"
    ask a "run ROLLBACK"
    expect "ROLLBACK" "ok"
    ask a "query SELECT 'left: ' || group_concat(RowKey) FROM Typed"
    expect "ROLLBACK leaves nothing" "ok ${text}left: 1,2"
}

errors_are_told() {
    ask a "run INSERT INTO Typed(PartitionKey, RowKey) VALUES('p', '1')"
    case $heard in
    "error 19 "*"ptable: Typed: an entity with PartitionKey 'p', RowKey '1' exists; "*"(EntityAlreadyExists)"*) heard='as it should be' ;;
    esac
    expect "an entity exists" "as it should be"
    ask a "run INSERT INTO Typed(PartitionKey, RowKey, L) VALUES('p', '3', 'seven')"
    case $heard in
    "error 20 "*"ptable: Typed: PartitionKey 'p', RowKey '3': column L: 'seven' is not an Int64; "*"(InvalidValueType)"*)
        heard='as it should be'
        ;;
    esac
    expect "a value of another type" "as it should be"
    ask a "query SELECT 'left: ' || count(*) FROM Typed"
    expect "the connection goes on" "ok ${text}left: 2"
}

# The other is a shell with a database of its own, so that only the store is between them.
writers_wait() {
    start b shell
    ask b "open :memory: 0"
    ask b "run CREATE VIRTUAL TABLE Typed USING ptable(store='$folder/$language.db-ptable')"
    ask b "run BEGIN"
    ask b "run DELETE FROM Typed WHERE 0"
    ask a "run PRAGMA busy_timeout = 300"
    begun=$(now_ms)
    ask a "run INSERT INTO Typed(PartitionKey, RowKey) VALUES('busy', '1')"
    took=$(($(now_ms) - begun))
    case $heard in
    "error 5 "*"is being written by another process; try again"*)
        [ $took -ge 300 ] && [ $took -lt 20000 ] && heard='busy in time'
        ;;
    esac
    expect "a store that is busy for too long" "busy in time"
    ask a "run PRAGMA busy_timeout = $PATIENCE_MS"
    tell a "run INSERT INTO Typed(PartitionKey, RowKey) VALUES('busy', '2')"
    ask b "run COMMIT"
    hear a
    expect "a store that becomes free" "ok"
    ask b "query SELECT group_concat(RowKey) FROM Typed WHERE PartitionKey = 'busy'"
    expect "another process sees it" "ok 2"
    stop b
}

make_counter() {
    start b shell
    ask b "open $folder/$1.db $PATIENCE_MS"
    ask b "run PRAGMA journal_mode = WAL"
    ask b "run CREATE VIRTUAL TABLE Item USING ptable; CREATE VIRTUAL TABLE Counter USING ptable(N Int32)"
    ask b "run INSERT INTO Counter VALUES('c', 'c', 0)"
    stop b
}

count_all() {
    start b shell
    ask b "open $folder/$1.db $PATIENCE_MS"
    ask b "query SELECT N, (SELECT count(*) FROM Item) FROM Counter"
    stop b
}

threads_lose_nothing() {
    make_counter "$language-threads"
    ask a "threads $folder/$language-threads.db $THREADS $REPEATS"
    expect "$THREADS threads write" "ok"
    count_all "$language-threads"
    total=$((THREADS * REPEATS))
    expect "nothing is lost" "ok $total|$total"
}

two_languages_lose_nothing() {
    make_counter "$language-$1"
    start b "$1"
    ask b "open $folder/$language-$1.db $PATIENCE_MS"
    ask a "open $folder/$language-$1.db $PATIENCE_MS"
    tell a "repeat $language-1 $REPEATS"
    tell b "repeat $1-2 $REPEATS"
    hear a
    expect "writes beside $1" "ok"
    hear b
    expect "$1 writes beside it" "ok"
    stop b
    count_all "$language-$1"
    expect "nothing is lost beside $1" "ok $((2 * REPEATS))|$((2 * REPEATS))"
}

# Closing may be refused or put off; what was abandoned goes later.
statements_end_late() {
    ask a "open $folder/$language.db $PATIENCE_MS"
    ask a "abandon SELECT RowKey FROM Typed WHERE PartitionKey = 'p'"
    expect "a statement is left where it is" "ok text:1"
    ask a "run INSERT INTO Typed(PartitionKey, RowKey) VALUES('late', '1')"
    expect "a write beside it" "ok"
    ask a "close"
    ask a "forget"
    expect "what was closed is collected" "ok"
    store_is_free
    expect "nobody has the store then" "ok 4"
    ask a "open $folder/$language.db $PATIENCE_MS"
    ask a "query SELECT group_concat(RowKey) FROM Typed WHERE PartitionKey = 'late'"
    expect "it opens the store again" "ok text:1"
}

# In the middle of a transaction, with a statement that is being read.
leaving_leaves_nothing() {
    entities=$1
    ask a "open $folder/$language.db $PATIENCE_MS"
    ask a "run BEGIN"
    ask a "run INSERT INTO Typed(PartitionKey, RowKey) VALUES('lost', '1')"
    if can_abandon "$language"; then
        ask a "abandon SELECT RowKey FROM Typed"
    fi
    ask a "leave"
    stop a
    heard=$ended
    expect "the program ends with everything open" "0"
    store_is_free
    expect "nothing is left of its transaction" "ok $entities"
}

# perform client other
perform() {
    language=$1
    if ! compile "$language" >"$work/compiler" 2>&1; then
        commented <"$work/compiler"
        same_text "$language: the client compiles" yes no
        return
    fi
    shows_types "$language" && text=text: || text=
    start a "$language"
    types_come_back
    rollback_leaves_nothing
    errors_are_told
    writers_wait
    two_languages_lose_nothing "$2"
    if has_threads "$language"; then
        threads_lose_nothing
    fi
    if can_abandon "$language"; then
        statements_end_late
        leaving_leaves_nothing 4
    else
        leaving_leaves_nothing 3
    fi
}

other=shell
for language in ${CLIENTS:-$all_clients}; do
    reason=$(missing "$language")
    if [ -n "$reason" ]; then
        number=$((number + 1))
        echo "ok $number - $language # SKIP $reason"
        echo "# $language is skipped: $reason"
        case $language in shell | python | perl) failures=$((failures + 1)) ;; esac
    else
        perform "$language" "$other"
        other=$language
    fi
done
echo "1..$number"
test "$failures" -eq 0
