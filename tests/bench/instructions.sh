#!/bin/sh
# instructions.sh LIBRARY: counts the instructions of some statements with callgrind, in the stock
# sqlite3 shell, for each row or operation. Unlike times, the counts hardly depend on the machine and
# on other programs. Fails if one is more than 2 % above that in instructions.txt.
#
#     RECORD=1    rewrites instructions.txt
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
echo "UPDATE t SET Age = Age + 1 WHERE RowKey LIKE '%7';" >update.sql
echo "DELETE FROM t WHERE PartitionKey = 'p03';" >delete.sql
for_each 300 "INSERT INTO t(PartitionKey, RowKey, Name, Age) VALUES ('q', '%04d', 'n', 1);" \
    >autocommit.sql

# instructions_of SCRIPT...
instructions_of() {
    cat "$@" >all.sql
    valgrind --tool=callgrind --callgrind-out-file=/dev/null sqlite3 -batch :memory: '.read all.sql' \
        2>&1 | sed -n 's/.*Collected : //p'
}

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
