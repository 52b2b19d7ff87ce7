#!/bin/sh
# Uses the extension from programs that make their own SQL for any table: editors, mappers of objects,
# data frames. Prints TAP. TOOLS names those to run (all):
#
#     TOOLS='pandas db_browser' tests/test_tools.sh
#
# A tool is a program, clients/tool_*, that gets a database with the table Employee in $DATABASE and
# prints `ok - NAME` or `not ok - NAME` for each of its checks. clients/tool.py is for those in Python.
set -u
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/shell.sh"
clients=$root/tests/clients
export PTABLE="$library" LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
export NODE_PATH="$root/build/clients/node_modules${NODE_PATH:+:$NODE_PATH}"

all_tools="sqlite_utils litecli sqlalchemy peewee pandas rsqlite node_sqlite3 better_sqlite3 db_browser"

has() {
    command -v "$1" >/dev/null
}

has_module() {
    /usr/bin/python3 -c "import $1" 2>/dev/null
}

# Why a tool cannot run here, or nothing.
missing() {
    case $1 in
    sqlite_utils) { has sqlite-utils && has_module sqlite_utils; } || echo 'no sqlite-utils' ;;
    litecli) has litecli || echo 'no litecli' ;;
    sqlalchemy | pandas) has_module "$1" || echo "no python3-$1" ;;
    peewee) has_module playhouse.reflection || echo 'no python3-peewee' ;;
    rsqlite) { has Rscript && Rscript -e 'library(RSQLite)'; } >/dev/null 2>&1 || echo 'no r-cran-rsqlite' ;;
    node_sqlite3) node -e 'new (require("sqlite3")).Database(":memory:")' 2>/dev/null || echo 'no node-sqlite3' ;;
    better_sqlite3) node -e 'new (require("better-sqlite3"))(":memory:")' 2>/dev/null || echo 'no better-sqlite3' ;;
    db_browser)
        for program in sqlitebrowser Xvfb xdotool; do
            has $program || echo "no $program"
        done
        ;;
    *) echo "there is no tool $1" ;;
    esac
}

start() {
    case $1 in
    rsqlite) set -- Rscript --vanilla "$clients/tool_rsqlite.R" ;;
    node_sqlite3 | better_sqlite3) set -- node "$clients/tool_$1.js" ;;
    *) set -- /usr/bin/python3 "$clients/tool_$1.py" ;;
    esac
    timeout --kill-after=5 400 "$@" >"$work/out" 2>"$work/err" </dev/null
}

# Numbers the checks of a tool, and adds that it ended well.
report() {
    while IFS= read -r line; do
        case $line in
        "ok - "* | "not ok - "*)
            number=$((number + 1))
            echo "${line%% - *} $number - $tool: ${line#* - }"
            case $line in not*) failures=$((failures + 1)) ;; esac
            ;;
        *) echo "$line" | commented ;;
        esac
    done <"$work/out"
    [ "$ended" -eq 0 ] || commented <"$work/err"
    same_text "$tool: ends well" 0 "$ended"
}

perform() {
    export DATABASE="$work/$1/demo.db"
    fresh_folder "$1"
    cat >"$work/sql" <<'END'
.load ./ptable
CREATE VIRTUAL TABLE Employee USING ptable(FirstName String, LastName String, Age Int32);
INSERT INTO Employee(PartitionKey, RowKey, FirstName, LastName, Age)
  VALUES ('Sales', '000223', 'Jun', 'Jones', 34), ('Sales', '000312', 'Ken', 'Kwok', 23),
         ('Marketing', '000150', 'Don', 'Hall', 46);
END
    run_shell "$1" "$DATABASE" "$work/sql" "$work/made"
    same_text "$tool: the table is made" "" "$(cat "$work/made")"
    ended=0
    start "$1" || ended=$?
    report
}

for tool in ${TOOLS:-$all_tools}; do
    reason=$(missing "$tool")
    if [ -n "$reason" ]; then
        number=$((number + 1))
        reason=$(echo "$reason" | paste -sd,)
        echo "ok $number - $tool # SKIP $reason"
        echo "# $tool is skipped: $reason"
    else
        perform "$tool"
    fi
done
echo "1..$number"
test "$failures" -eq 0
