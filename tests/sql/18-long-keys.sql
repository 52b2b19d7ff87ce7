-- Keys may be long: PartitionKey and RowKey together up to 16,379 bytes of UTF-8. Order, ranges,
-- paging and transactions are the same as with short ones.
.load ./ptable
.headers on
CREATE VIRTUAL TABLE Page USING ptable(Visits Int32);

-- Addresses as RowKeys: some short, some that share thousands of characters.
CREATE TEMP VIEW Long(deep, address) AS
  SELECT 0, 'https://example.com/' || replace(hex(zeroblob(300)), '00', 'ab')
  UNION ALL
  SELECT 1, 'https://example.com/' || replace(hex(zeroblob(2000)), '00', 'ab');
INSERT INTO Page SELECT 'example.com', address || '?page=' || n, 10 * deep + n
  FROM Long, (SELECT 3 AS n UNION SELECT 1 UNION SELECT 2);
INSERT INTO Page VALUES ('example.com', 'https://example.com/', 100), ('example.com', 'zz', 101);
SELECT length(RowKey), substr(RowKey, -7) AS ending, Visits FROM Page;
SELECT length(RowKey), Visits FROM Page ORDER BY PartitionKey DESC, RowKey DESC;

-- A point query, a prefix, a range.
SELECT Visits FROM Page, Long
  WHERE PartitionKey = 'example.com' AND RowKey = address || '?page=2' ORDER BY deep;
SELECT deep, count(*) FROM Long JOIN Page
  ON PartitionKey = 'example.com' AND pt_starts_with(RowKey, address || '?') GROUP BY deep;
SELECT length(RowKey), Visits FROM Page, Long
  WHERE deep = 1 AND PartitionKey = 'example.com' AND RowKey > address || '?page=1';

-- Paging from a long EntityKey, forwards and backwards.
CREATE TEMP TABLE Last AS SELECT EntityKey AS k FROM Page WHERE Visits = 11;
SELECT length(RowKey), Visits FROM Page WHERE EntityKey > (SELECT k FROM Last)
  ORDER BY EntityKey LIMIT 2;
SELECT length(RowKey), Visits FROM Page WHERE EntityKey < (SELECT k FROM Last)
  ORDER BY EntityKey DESC LIMIT 2;

-- Long PartitionKeys.
INSERT INTO Page SELECT address, 'r' || n, n FROM Long, (SELECT 1 AS n UNION SELECT 2);
SELECT length(PartitionKey), RowKey, Visits FROM Page WHERE RowKey IN ('r1', 'r2');
SELECT DISTINCT length(PartitionKey) FROM Page;
SELECT count(*) FROM (SELECT DISTINCT PartitionKey FROM Page);

-- Changing, deleting, rolling back.
BEGIN;
UPDATE Page SET Visits = Visits + 1000 WHERE length(RowKey) > 4000;
DELETE FROM Page WHERE length(PartitionKey) > 4000;
SELECT count(*), sum(Visits) FROM Page;
ROLLBACK;
SELECT count(*), sum(Visits) FROM Page;
DELETE FROM Page WHERE length(RowKey) BETWEEN 600 AND 700;
UPDATE Page SET RowKey = RowKey || '&more' WHERE Visits = 12;
SELECT length(RowKey), substr(RowKey, -12) AS ending, Visits FROM Page
  WHERE PartitionKey = 'example.com';

-- The limit counts bytes, of both together.
INSERT INTO Page SELECT 'p', substr(hex(zeroblob(9000)), 1, 16378), 0;
INSERT INTO Page SELECT 'pq', substr(hex(zeroblob(9000)), 1, 16378), 0;
INSERT INTO Page SELECT 'é', substr(hex(zeroblob(9000)), 1, 16378), 0;
SELECT PartitionKey, length(RowKey) FROM Page WHERE PartitionKey = 'p';
