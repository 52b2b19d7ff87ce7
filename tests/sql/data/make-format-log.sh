#!/bin/sh
# Makes the second store of tests/sql/80-format.sql, with changes, expiry and a log that was not applied, as its
# process was killed. In an empty folder, with ./ptable.so:
#
#     make-format-log.sh
set -eu

cat >make.sql <<'END'
.load ./ptable
CREATE VIRTUAL TABLE Person USING ptable(Name String, Born DateTime, Photo Binary, unique(Name),
    store='format-0.1.0-log.ptable');
UPDATE pt_tables SET Changes = 'on' WHERE TableName = 'Person' AND Store = 'format-0.1.0-log.ptable';
CREATE VIRTUAL TABLE Session USING ptable(Due DateTime, Large Int64, expires=Due, index(Large),
    store='format-0.1.0-log.ptable');
CREATE VIRTUAL TABLE Job USING pt_queue(store='format-0.1.0-log.ptable');
INSERT INTO Job(Body) VALUES ('in the tree');
INSERT INTO Person(PartitionKey, RowKey, Name) VALUES ('tree', 'stays', 'Ada'), ('tree', 'goes', 'Bob'),
    ('tree', 'changes', 'Cleo'), (printf('%.*c', 400, 'p'), printf('%.*c', 400, 'r'), 'long');
INSERT INTO Session(PartitionKey, RowKey, Due, Large) VALUES ('web', 'past', '2020-01-01', 1),
    ('web', 'future', '9999-01-01', -9007199254740993), ('web', 'never', NULL, 9223372036854775807);
-- A commit with a list of properties that is new to the store goes to the tree, with all of the log.
INSERT INTO Person(PartitionKey, RowKey, Name, Born) VALUES ('tree', 'born', 'Dora', '1990-05-01');
INSERT INTO Person(PartitionKey, RowKey, Photo) VALUES ('tree', 'large', zeroblob(4001));
INSERT INTO Session(PartitionKey, RowKey, Due) VALUES ('web', 'due', '9997-01-01');
END
# Small commits in quick succession: from the eighth on they go to the log.
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    echo "INSERT INTO Person(PartitionKey, RowKey, Name, Born) VALUES ('log', '$i', 'name $i', '2000-01-01');"
done >>make.sql
cat >>make.sql <<'END'
UPDATE Person SET Name = 'Cleopatra' WHERE RowKey = 'changes';
DELETE FROM Person WHERE RowKey = 'goes';
INSERT INTO Person(PartitionKey, RowKey, Photo) VALUES ('log', 'large', zeroblob(4001));
INSERT INTO Person(PartitionKey, RowKey, Name) VALUES (printf('%.*c', 600, 'p'), printf('%.*c', 600, 'r'), 'longer');
INSERT INTO Session(PartitionKey, RowKey, Due) VALUES ('log', 'past', '2021-01-01'), ('log', 'future', '9998-01-01');
INSERT INTO Job(Body) VALUES ('in the log');
SELECT count(*) FROM pt_queue_get('Job', 1, 1);
.shell kill -KILL $PPID
END
sqlite3 :memory: '.read make.sql' || true
# The log's file has its full size from the beginning: zeros, which are not kept here.
used=$(od -An -v -tx1 -w8 format-0.1.0-log.ptable-log | awk '!/^( 00)*$/ { last = NR } END { print last * 8 }')
truncate --size="$used" format-0.1.0-log.ptable-log
rm -f make.sql format-0.1.0-log.ptable-lock format-0.1.0-log.ptable-word
