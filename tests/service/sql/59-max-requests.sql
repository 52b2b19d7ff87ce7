-- max_requests is the limit of a statement, for reads and writes, whatever its plan.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'Limited');
CREATE VIRTUAL TABLE Free USING pt_service(n Int32, account=hr, table=Limited, batch=split, max_requests=0);
CREATE VIRTUAL TABLE Limited USING pt_service(n Int32, account=hr, max_requests=10);
CREATE VIRTUAL TABLE Split USING pt_service(n Int32, account=hr, table=Limited, batch=split, max_requests=10);
CREATE TABLE Local AS WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 49) SELECT i, printf('%05d', i) AS k FROM c;
INSERT INTO Free(PartitionKey, RowKey, n) SELECT 'p', k, i FROM Local;
-- reads
.shell ./command forget
SELECT sum((SELECT n FROM Limited WHERE PartitionKey = 'p' AND RowKey = k)) FROM Local;
.shell ./command | wc -l; ./command forget
SELECT count(*) FROM Local CROSS JOIN Limited ON PartitionKey = 'p' AND RowKey = k;
.shell ./command | wc -l; ./command forget
SELECT count(*) FROM Limited WHERE PartitionKey = 'p' AND RowKey IN (SELECT k FROM Local);
.shell ./command | wc -l; ./command forget
SELECT count(*) FROM Local WHERE EXISTS (SELECT 1 FROM Limited WHERE PartitionKey = 'p' AND RowKey = k);
.shell ./command | wc -l; ./command forget
SELECT count(*) FROM Limited WHERE PartitionKey = 'p' AND NOT Filter MATCH 'n lt 0';
.shell ./command | wc -l; ./command forget
-- two tables of a statement are counted together; here the ten are enough
SELECT count(*) FROM Limited AS a, Limited AS b WHERE a.PartitionKey = 'p' AND a.RowKey < '00009' AND b.PartitionKey = 'p' AND b.RowKey = a.RowKey;
.shell ./command | wc -l; ./command forget
SELECT count(*) FROM Limited AS a, Limited AS b WHERE a.PartitionKey = 'p' AND a.RowKey <= '00009' AND b.PartitionKey = 'p' AND b.RowKey = a.RowKey;
.shell ./command | wc -l; ./command forget
-- writes: nothing is done if what was read used up all
INSERT OR IGNORE INTO Limited(PartitionKey, RowKey, n) SELECT 'q', k, i FROM Local;
.shell ./command | wc -l; ./command forget
UPDATE Limited SET n = NULL WHERE PartitionKey = 'p';
.shell ./command | wc -l; ./command forget
UPDATE Limited SET n = n + 1 WHERE PartitionKey = 'p' AND RowKey IN ('00000', '00001', '00002', '00003', '00004', '00005', '00006', '00007', '00008', '00009');
.shell ./command | wc -l; ./command forget
UPDATE Limited SET n = n + 1 WHERE PartitionKey = 'p' AND RowKey IN ('00000', '00001', '00002', '00003', '00004', '00005', '00006', '00007', '00008');
.shell ./command | wc -l; ./command forget
SELECT sum(n), count(*) FROM Free;
-- COMMIT is a statement of its own
BEGIN;
INSERT OR IGNORE INTO Limited(PartitionKey, RowKey, n) SELECT 'q', k, i FROM Local WHERE i < 10;
COMMIT;
SELECT count(*) FROM Free WHERE PartitionKey = 'q';
BEGIN;
INSERT OR IGNORE INTO Limited(PartitionKey, RowKey, n) SELECT 'r', k, i FROM Local;
ROLLBACK;
-- a split statement says what is done
.shell ./command forget
INSERT INTO Split(PartitionKey, RowKey, n) WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 2999) SELECT 's', printf('%05d', i), i FROM c;
.shell ./command | wc -l; ./command forget
SELECT count(*) FROM Free WHERE PartitionKey = 's';
-- a batch that is sent again without a missing entity is counted, too
.shell ./command forget
INSERT INTO Limited(PartitionKey, RowKey, WriteMode) SELECT 'none', k, 'delete' FROM Local;
.shell ./command | wc -l; ./command forget
-- a range is read to its end, however long; with the option no further
CREATE VIRTUAL TABLE Two USING pt_service(account=hr, table=Many, max_requests=2);
.shell ./command rows 100; ./command forget
SELECT count(*) FROM Two WHERE PartitionKey = 'a';
.shell ./command | wc -l; ./command rows 1000; ./command forget
CREATE VIRTUAL TABLE Wrong USING pt_service(account=hr, table=Limited, max_requests=-1);
DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName = 'Limited';
