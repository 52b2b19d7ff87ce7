#!/bin/sh
# instructions.sh LIBRARY: counts the instructions of some statements with callgrind, in the stock
# sqlite3 shell, for each row or operation. Unlike times, the counts hardly depend on the machine and
# on other programs. Fails if one is more than 2 % above that in instructions.txt.
#
#     RECORD=1    rewrites instructions.txt
#     ACCOUNT=1   prints instead who takes them, and what an ordinary table takes for the same
set -eu

library=$(realpath "$1")
reference=$(realpath "$(dirname "$0")")/instructions.txt
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# Where the library lies must not change how memory is laid out.
cp "$library" ptable.so

# 10,000 entities in 10 partitions.
cat >empty.sql <<'EOF'
.load ./ptable
.output /dev/null
CREATE VIRTUAL TABLE t USING ptable(Name String, Age Int32, City String, Size Double, Born DateTime,
  Active Boolean);
EOF
cat >load.sql <<'EOF'
INSERT INTO t(PartitionKey, RowKey, Name, Age, City, Size, Born, Active)
  WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
  SELECT printf('p%02d', i / 1000), printf('%06d', i), 'name of ' || i, i % 90, 'city ' || (i % 30),
    i * 0.5, '2026-01-01T00:00:00Z', i % 2 FROM n;
EOF

# The same entities with a unique index on a column that is in another order than the keys.
sed 's/ Boolean);/ Boolean, unique(Name));/' empty.sql >empty_indexed.sql
sed "s/'name of ' || i/printf('name %05d', i * 7919 % 10000)/" load.sql >load_indexed.sql

# for_each COUNT FORMAT: a line for each number below COUNT.
for_each() {
    seq 0 $(($1 - 1)) | while read -r i; do
        # shellcheck disable=SC2059 # the format is an argument
        printf "$2\n" "$i"
    done
}

# The statements of a workload are measured after loading.
cat >keys.sql <<'EOF'
CREATE TEMP TABLE key AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4999)
  SELECT printf('p%02d', i * 7 % 10000 / 1000) AS p, printf('%06d', i * 7 % 10000) AS r FROM n;
EOF
cp keys.sql point.sql
echo "SELECT count(t.Name) FROM key CROSS JOIN t WHERE t.PartitionKey = p AND t.RowKey = r;" >>point.sql
for_each 1000 "SELECT Name FROM t WHERE PartitionKey = 'p00' AND RowKey = '%06d';" >parsed.sql
# What the shell does with a value would hide what reading it costs.
for_each 10 "SELECT count(Name) FROM t WHERE PartitionKey = 'p%02d';" >scan1.sql
for_each 10 "SELECT count(Name), count(Age), count(City), count(Size), count(Born), count(Active)
  FROM t WHERE PartitionKey = 'p%02d';" >scan6.sql
echo "SELECT Born FROM t;" >time.sql
echo "SELECT sum(Age) FROM t;" >sum.sql
for_each 10 "SELECT count(*) FROM t WHERE PartitionKey = 'p%02d';" >count.sql
echo "SELECT RowKey FROM t WHERE City = 'city 7';" >condition.sql
cat >names.sql <<'EOF'
CREATE TEMP TABLE key AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4999)
  SELECT printf('name %05d', i * 7 % 10000) AS name FROM n;
EOF
cp names.sql look_up.sql
echo "SELECT count(t.City) FROM key CROSS JOIN t WHERE t.Name = key.name;" >>look_up.sql
for_each 100 "SELECT count(Name) FROM (SELECT Name FROM t WHERE Name >= 'name %03d' LIMIT 100);" \
    >entries.sql
echo "UPDATE t SET Age = Age + 1 WHERE RowKey LIKE '%7';" >update.sql
echo "DELETE FROM t WHERE PartitionKey = 'p03';" >delete.sql
for_each 300 "INSERT INTO t(PartitionKey, RowKey, Name, Age) VALUES ('q', '%04d', 'n', 1);" \
    >autocommit.sql

# instructions_of SCRIPT...
instructions_of() {
    cat "$@" >all.sql
    valgrind --tool=callgrind --callgrind-out-file=profile sqlite3 -batch "$database" \
        '.read all.sql' 2>&1 | sed -n 's/.*Collected : //p'
}

database=:memory:

# shares_of SCRIPT...: the instructions of SQLite, the C library, LMDB, checksums, ptable and the rest.
# What has been counted once is remembered.
shares_of() {
    known="shares of $*"
    [ -f "$known" ] || count_shares "$@" >"$known"
    cat "$known"
}

count_shares() {
    rm -f "$database"
    instructions_of "$@" >/dev/null
    awk '
        # Callgrind writes a name once, with a number, and then the number alone.
        function name_of(kind, text, number) {
            number = text
            sub(/\).*/, "", number)
            if (sub(/^[^ ]* /, "", text)) {
                names[kind number] = text
            }
            return names[kind number]
        }
        function taker_of(object, file) {
            if (object ~ /ptable/) {
                return file ~ /xxhash/ ? 4 : 5
            }
            return object ~ /libsqlite3/ ? 1 : object ~ /\/libc\./ ? 2 : object ~ /liblmdb/ ? 3 : 6
        }
        /^ob=/ { object = name_of("object", substr($0, 4)) }
        /^f[lie]=/ { file = name_of("file", substr($0, 4)) }
        /^cob=/ { name_of("object", substr($0, 5)) }
        /^cf[il]=/ { name_of("file", substr($0, 5)) }
        /^calls=/ { of_call = 1 }
        /^[0-9+*-]/ {
            if (!of_call) {
                taken[taker_of(object, file)] += $2
            }
            of_call = 0
        }
        END {
            for (i = 1; i <= 6; i++) {
                printf "%d ", taken[i]
            }
        }
        ' profile
}

# account NAME OPERATIONS LAST-SCRIPT-BEFORE SCRIPT...: a line of the account.
account() {
    name=$1
    operations=$2
    before=$3
    shift 3
    for table in empty ordinary; do
        database=$(if [ "$table" = empty ]; then echo :memory:; else echo ordinary.db; fi)
        # shellcheck disable=SC2086 # several scripts
        echo "$name $operations $table $(shares_of "$table$indexed.sql" $before)" \
            "$(shares_of "$table$indexed.sql" "$@")"
    done
}

# Prints for each operation: of a ptable who takes the instructions, then those of an ordinary table.
print_account() {
    printf '%-26s%8s%9s%9s%9s%9s%9s%11s%9s%9s\n' 'instructions an operation' ptable SQLite 'C libr.' \
        LMDB checksum own ordinary SQLite 'C libr.'
    awk '
        {
            all = 0
            for (i = 1; i <= 6; i++) {
                share[i] = ($(9 + i) - $(3 + i)) / $2
                all += share[i]
            }
            if ($3 == "empty") {
                printf "%-26s%8d", $1, all
                for (i = 1; i <= 5; i++) {
                    printf "%9d", share[i]
                }
            } else {
                printf "%11d%9d%9d\n", all, share[1], share[2]
            }
        }
        '
}

if [ "${ACCOUNT:-}" = 1 ]; then
    cat >ordinary.sql <<'EOF'
PRAGMA journal_mode = WAL;
.output /dev/null
CREATE TABLE t(PartitionKey TEXT NOT NULL, RowKey TEXT NOT NULL, Name TEXT, Age INTEGER, City TEXT,
  Size REAL, Born TEXT, Active INTEGER, PRIMARY KEY(PartitionKey, RowKey)) WITHOUT ROWID;
EOF
    { cat ordinary.sql && echo "CREATE UNIQUE INDEX of_name ON t(Name);"; } >ordinary_indexed.sql
    {
        indexed=
        account load 10000 '' load.sql
        account point_query 5000 'load.sql keys.sql' load.sql point.sql
        account parsed_point_query 1000 load.sql load.sql parsed.sql
        account partition_scan_1_column 10000 load.sql load.sql scan1.sql
        account partition_scan_6_columns 10000 load.sql load.sql scan6.sql
        account time_shown 10000 load.sql load.sql time.sql
        account sum 10000 load.sql load.sql sum.sql
        account count 10000 load.sql load.sql count.sql
        account scan_with_condition 10000 load.sql load.sql condition.sql
        account update 1000 load.sql load.sql update.sql
        account delete 1000 load.sql load.sql delete.sql
        account autocommit 300 load.sql load.sql autocommit.sql
        indexed=_indexed
        account load_with_index 10000 '' load_indexed.sql
        account look_up_by_index 5000 'load_indexed.sql names.sql' load_indexed.sql look_up.sql
        account range_of_entries 10000 load_indexed.sql load_indexed.sql entries.sql
    } | print_account
    exit
fi

# row NAME OPERATIONS BEFORE SCRIPT...: the instructions beyond BEFORE, for each operation.
row() {
    name=$1
    operations=$2
    before=$3
    shift 3
    echo "$name $((($(instructions_of "$@") - before) / operations))"
}

{
    empty=$(instructions_of empty.sql)
    row load 10000 "$empty" empty.sql load.sql
    loaded=$(instructions_of empty.sql load.sql)
    keyed=$(instructions_of empty.sql load.sql keys.sql)
    row point_query 5000 "$keyed" empty.sql load.sql point.sql
    row parsed_point_query 1000 "$loaded" empty.sql load.sql parsed.sql
    row partition_scan_1_column 10000 "$loaded" empty.sql load.sql scan1.sql
    row partition_scan_6_columns 10000 "$loaded" empty.sql load.sql scan6.sql
    row time_shown 10000 "$loaded" empty.sql load.sql time.sql
    row sum 10000 "$loaded" empty.sql load.sql sum.sql
    row count 10000 "$loaded" empty.sql load.sql count.sql
    row scan_with_condition 10000 "$loaded" empty.sql load.sql condition.sql
    row update 1000 "$loaded" empty.sql load.sql update.sql
    row delete 1000 "$loaded" empty.sql load.sql delete.sql
    row autocommit 300 "$loaded" empty.sql load.sql autocommit.sql
    indexed=$(instructions_of empty_indexed.sql)
    row load_with_index 10000 "$indexed" empty_indexed.sql load_indexed.sql
    loaded=$(instructions_of empty_indexed.sql load_indexed.sql)
    row range_of_entries 10000 "$loaded" empty_indexed.sql load_indexed.sql entries.sql
    named=$(instructions_of empty_indexed.sql load_indexed.sql names.sql)
    row look_up_by_index 5000 "$named" empty_indexed.sql load_indexed.sql look_up.sql
} >now

if [ "${RECORD:-}" = 1 ]; then
    cp now "$reference"
fi
awk '
    NR == FNR {
        reference[$1] = $2
        next
    }
    {
        change = ($2 / reference[$1] - 1) * 100
        mark = change > 2 ? "  too many" : ""
        failed = failed || change > 2 || !($1 in reference)
        printf "%-26s %8d  was %8d  %+6.2f %%%s\n", $1, $2, reference[$1], change, mark
        rows++
    }
    END {
        exit failed || rows != length(reference)
    }
    ' "$reference" now
