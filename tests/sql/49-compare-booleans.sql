-- A Boolean is 0 or 1 in SQL. A text beside it would find nothing, so it is refused.
.load ./ptable
CREATE VIRTUAL TABLE T USING ptable(Active Boolean, Done Boolean, Name String, store='booleans.ptable');
INSERT INTO T VALUES ('p', '1', 'true', 'false', 'true'), ('p', '2', 'false', 'false', 'b'), ('q', '3', 1, NULL, 'c');

-- These are right.
SELECT RowKey FROM T WHERE Active;
SELECT RowKey FROM T WHERE Active = TRUE;
SELECT RowKey FROM T WHERE Active = 0;
SELECT RowKey FROM T WHERE Active = '1';
SELECT RowKey FROM T WHERE Active IN ('0', 1) AND PartitionKey = 'p' ORDER BY RowKey DESC;
SELECT RowKey FROM T WHERE Active <> FALSE AND PartitionKey = 'p';
SELECT RowKey FROM T WHERE Done IS NULL;
SELECT RowKey FROM T WHERE Done IS NOT FALSE;
SELECT RowKey FROM T WHERE Active IS TRUE AND Filter MATCH 'Done eq false';
SELECT RowKey FROM T WHERE Active IN (SELECT 0 UNION SELECT NULL UNION SELECT '7');
SELECT RowKey FROM T WHERE Active = NULL OR Name = 'true';
SELECT RowKey FROM T WHERE PartitionKey IN ('p', 'q') AND RowKey IN ('1', '3') AND Active = 1 AND Done IN (0, 1);
.eqp on
SELECT RowKey FROM T WHERE PartitionKey = 'p' AND RowKey = '1' AND Active = 1;
.eqp off

-- These are refused.
SELECT RowKey FROM T WHERE Active = 'true';
SELECT RowKey FROM T WHERE 'TRUE' = Active AND PartitionKey = 'p' AND RowKey > '0';
SELECT RowKey FROM T WHERE Active <> 'false';
SELECT RowKey FROM T WHERE Active IS 'true';
SELECT RowKey FROM T WHERE Active IS NOT 'true';
SELECT RowKey FROM T WHERE Active IN (1, 'true');
SELECT RowKey FROM T WHERE Active = 'true' OR Active = 'false';
SELECT RowKey FROM T WHERE Done IN (SELECT Name FROM T WHERE Active);
SELECT RowKey FROM T WHERE Active = 1 AND Done = 'no' AND Filter MATCH 'Active';
SELECT RowKey FROM T WHERE PartitionKey = 'p' AND RowKey = '1' AND Done = '';
SELECT RowKey FROM T WHERE Active > 'a';
SELECT RowKey FROM T WHERE Active <= 'true' AND PartitionKey = 'p';
SELECT RowKey FROM T WHERE Active BETWEEN 'false' AND 'true';
SELECT RowKey FROM T WHERE (PartitionKey = 'p' AND Active < 'x') OR (PartitionKey = 'q' AND RowKey = '1');
UPDATE T SET Name = 'x' WHERE Active = 'true';
DELETE FROM T WHERE Done = 'false';
SELECT count(*) FROM T;

-- An entity can have a String there.
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('r', '4', '{"Active":"true"}');
SELECT RowKey FROM T WHERE typeof(Active) = 'text';
SELECT RowKey FROM T WHERE Active LIKE 't%';
SELECT RowKey FROM T WHERE Active GLOB 't*' AND Active GLOB '*e';
SELECT RowKey FROM T WHERE Active >= '1' AND Active > 0.5;
-- SQLite keeps these to itself.
SELECT RowKey FROM T WHERE Active = 'true' OR Name = 'c';
SELECT RowKey FROM T WHERE Active NOT IN ('true', 'false') AND PartitionKey = 'p';
