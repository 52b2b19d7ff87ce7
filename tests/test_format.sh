#!/bin/sh
# Holds ext/FORMAT.md against stores: the program tests/format/show_store, which follows the description
# alone, reads those of tests/sql/data, and what it finds must be what the extension shows. The numbers
# that the description takes from the source must be there. Prints TAP. PT_SHOW_STORE is the program,
# PT_COMPILE the compiler with its options.
set -u
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/shell.sh"

show_store=${PT_SHOW_STORE:-$root/build/tests/format/show_store}
compile=${PT_COMPILE:-cc -std=c11}

# Declares the tables that were found, and says which entities and values only one side has.
comparison() {
    cat <<'END'
.load ./ptable
.read decoded.sql
.once declare.sql
SELECT format('CREATE VIRTUAL TABLE "%w" USING %s(store=''stored.ptable'');', TableName,
              iif(Kind = 1, 'pt_queue', 'ptable')) FROM Found;
.read declare.sql
CREATE TABLE Shown(TableName, PartitionKey, RowKey, Ticks, Name, Value);
.once fill.sql
SELECT format('INSERT INTO Shown
    SELECT %Q, PartitionKey, RowKey, pt_ticks(Timestamp), key, value
      FROM "%w" LEFT JOIN json_each(Properties) AS each ON key NOT LIKE ''%%@odata.type'';', TableName, TableName)
  FROM Found WHERE Kind = 0;
.read fill.sql
.once messages.sql
SELECT format('INSERT INTO Shown
    SELECT %Q, '''', format(''%%019d_%%s'', pt_ticks(TimeNextVisible), MessageId), NULL, ''Body'', Body FROM "%w"
    UNION ALL
    SELECT %Q, '''', format(''%%019d_%%s'', pt_ticks(TimeNextVisible), MessageId), NULL, ''DequeueCount'', DequeueCount
      FROM "%w";', TableName, TableName, TableName, TableName)
  FROM Found WHERE Kind = 1;
.read messages.sql
DELETE FROM Decoded WHERE TableName IN (SELECT TableName FROM Found WHERE Kind = 1)
                      AND Name NOT IN ('Body', 'DequeueCount');
UPDATE Decoded SET Ticks = NULL WHERE TableName IN (SELECT TableName FROM Found WHERE Kind = 1);
SELECT 'not shown', * FROM (SELECT * FROM Decoded EXCEPT SELECT * FROM Shown) LIMIT 5;
SELECT 'not found', * FROM (SELECT * FROM Shown EXCEPT SELECT * FROM Decoded) LIMIT 5;
SELECT count(*) = (SELECT count(*) FROM Shown) AND count(*) > 10 FROM Decoded;
SELECT group_concat(TableName) FROM (SELECT TableName FROM pt_tables EXCEPT SELECT TableName FROM Found);
END
}

# A line of the table "Numbers" is: | `CONSTANT` | value | `folder/file.h` |
numbers() {
    # shellcheck disable=SC2016 # the backquotes are Markdown's
    sed -n 's/^| `\(PT_[A-Z0-9_]*\)` | \([0-9][0-9,]*\) | `\([a-z_/]*\.h\)` |$/\3 \1 \2/p' "$root/ext/FORMAT.md" |
        tr -d ,
}

assertions() {
    numbers | cut -d ' ' -f 1 | sort -u | sed 's/.*/#include "&"/'
    numbers | sed 's/.* \(.*\) \(.*\)/_Static_assert(\1 == \2, "\1");/'
}

for store in "$root"/tests/sql/data/format-*.ptable; do
    name=$(basename "$store" .ptable)
    fresh_folder "$name"
    cp "$store" "$work/$name/stored.ptable"
    chmod u+w "$work/$name/stored.ptable"
    if [ -e "$store-log" ]; then
        cp "$store-log" "$work/$name/stored.ptable-log"
        chmod u+w "$work/$name/stored.ptable-log"
        truncate --size=1314816 "$work/$name/stored.ptable-log" # zeros at its end are not kept
    fi
    # The program ends without giving memory back.
    same_text "$name is as described" "" \
        "$(ASAN_OPTIONS=detect_leaks=0 "$show_store" "$work/$name/stored.ptable" 2>&1 >"$work/$name/decoded.sql")"
    comparison >"$work/statement"
    run_shell "$name" :memory: "$work/statement" "$work/answer"
    same_text "$name has what the extension shows" "1" "$(cat "$work/answer")"
done

assertions >"$work/numbers.c"
same_text "numbers are in the description" "1" "$(test "$(numbers | wc -l)" -ge 30 && echo 1)"
# shellcheck disable=SC2086 # PT_COMPILE is a list of words
same_text "they are those of the source" "" \
    "$($compile -D_GNU_SOURCE -I"$root/ext" -fsyntax-only "$work/numbers.c" 2>&1)"
echo "1..$number"
test "$failures" -eq 0
