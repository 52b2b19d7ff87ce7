-- Paging
-- Problem: a list is too long for one screen or one request. Read its first ten entities, then the
--   next ten, perhaps tomorrow and in another process, while others insert and delete.
-- Solution: continuation tokens: the last key of a page is where the next one begins.
-- When: always, instead of OFFSET, which reads what it skips and is wrong when the table changes.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Employee USING ptable(LastName String);
INSERT INTO Employee VALUES ('Marketing', '000101', 'Hall'), ('Marketing', '000102', 'Wu'),
  ('Sales', '000103', 'Jones'), ('Sales', '000104', 'Kwok');
.parameter set @token "x''"
SELECT RowKey, LastName, hex(EntityKey) AS token FROM Employee
  WHERE EntityKey > @token ORDER BY EntityKey LIMIT 3;
.parameter set @token "x'53616C657300303030313033'"
SELECT RowKey, LastName FROM Employee WHERE EntityKey > @token ORDER BY EntityKey LIMIT 3;

-- In detail, in a new database
--
-- Keys: Employee  PartitionKey the department: 'Sales', RowKey the number: '000121'
-- Costs: a page is one seek and ten entities, wherever it begins.
-- Better in SQL: the EntityKey of any entity is a token. Pages are full until the last one, they go
--   backwards too, and OFFSET, which is wrong when the table changes, is not needed.
.mode box --wrap 80
.shell rm -f build/paging.db* build/token.sql
.open build/paging.db
.load ./ptable
PRAGMA journal_mode = WAL;
CREATE VIRTUAL TABLE Employee USING ptable(LastName String);
WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 34)
INSERT INTO Employee(PartitionKey, RowKey, LastName)
  SELECT iif(n <= 14, 'Marketing', 'Sales'), pt_pad(100 + n, 6),
    json_extract('["Jones","Kwok","Hall","Nguyen"]', '$[' || (n % 4) || ']')
  FROM number;

.print
.print == The first page
-- The first page. Every EntityKey is greater than the empty BLOB, so that is the first token. The
-- token of the page is that of its last row, here written in hex. It shows the keys, and a client
-- can make one to begin anywhere: if that matters, keep it on your side.
.parameter set @token "x''"
SELECT PartitionKey, RowKey, LastName, hex(EntityKey) AS token FROM Employee
  WHERE EntityKey > @token ORDER BY EntityKey LIMIT 10;

.print
.print == The second page
-- The second page: what comes after the token. Programs bind the blob; in the shell it is a
-- literal. From here on a page is printed as one line. The page runs into the next partition.
.parameter set @token "x'4D61726B6574696E6700303030313130'"
SELECT group_concat(RowKey, ' ') AS page, hex(max(EntityKey)) AS token FROM (
  SELECT RowKey, EntityKey FROM Employee WHERE EntityKey > @token ORDER BY EntityKey LIMIT 10);

.print
.print == The third page, by another process
-- The token is kept as text in a file, and ANOTHER process reads the third page.
SELECT writefile('build/token.sql',
    '.parameter set @token "' || quote(max(EntityKey)) || '"') AS bytes
  FROM (SELECT EntityKey FROM Employee WHERE EntityKey > @token ORDER BY EntityKey LIMIT 10);
.shell cat build/token.sql && echo
.shell sqlite3 -box build/paging.db ".load ./ptable" ".read build/token.sql" "SELECT RowKey, LastName FROM Employee WHERE EntityKey > @token ORDER BY EntityKey LIMIT 10"

.print
.print == The last page
-- The fourth page is the last: it has fewer than ten rows. After a last page that happens to be
-- full comes an empty one; to know beforehand, ask if there is more.
.parameter set @token "x'53616C657300303030313330'"
SELECT group_concat(RowKey, ' ') AS page FROM (
  SELECT RowKey FROM Employee WHERE EntityKey > @token ORDER BY EntityKey LIMIT 10);
SELECT EXISTS (SELECT 1 FROM Employee WHERE EntityKey > @token) AS "more after 000130",
  EXISTS (SELECT 1 FROM Employee WHERE EntityKey > pt_entity_key('Sales', '000134'))
    AS "more after 000134";

.print
.print == Backwards
-- The page before: less than the FIRST key of the page shown, read downwards, then put in order.
.parameter set @first "pt_entity_key('Sales', '000121')"
SELECT group_concat(RowKey, ' ') AS "page before 000121" FROM (SELECT RowKey FROM (
  SELECT RowKey, EntityKey FROM Employee WHERE EntityKey < @first ORDER BY EntityKey DESC LIMIT 10)
  ORDER BY EntityKey);
-- The last page without reading those before it.
SELECT group_concat(RowKey, ' ') AS "from the end" FROM (
  SELECT RowKey FROM Employee ORDER BY EntityKey DESC LIMIT 4);

.print
.print == How pages are found
-- Each way is a range of keys. A row value looks as good and is not: it bounds the PartitionKey
-- only, so each page reads its partition from the start again.
EXPLAIN QUERY PLAN
SELECT RowKey FROM Employee WHERE EntityKey > @token ORDER BY EntityKey LIMIT 10;
EXPLAIN QUERY PLAN
SELECT RowKey FROM Employee WHERE EntityKey < @first ORDER BY EntityKey DESC LIMIT 10;
EXPLAIN QUERY PLAN
SELECT RowKey FROM Employee WHERE (PartitionKey, RowKey) > ('Sales', '000120')
  ORDER BY PartitionKey, RowKey LIMIT 10;

.print
.print == Others write between two pages
-- Between two pages others write. You hold the token of the first page, which ends with 000110.
-- Then 000102 is deleted, 000110 too, and 000111x is inserted. The token need not exist any more;
-- entities inserted after it are seen, and changes before it do not matter.
DELETE FROM Employee WHERE PartitionKey = 'Marketing' AND RowKey IN ('000102', '000110');
INSERT INTO Employee VALUES ('Marketing', '000111x', 'Jones');
SELECT group_concat(RowKey, ' ') AS "after the token" FROM (
  SELECT RowKey FROM Employee WHERE EntityKey > pt_entity_key('Marketing', '000110')
  ORDER BY EntityKey LIMIT 10);
-- OFFSET counts again: two entities before are gone, so 000111 and 000111x are on no page. It also
-- reads everything that it skips.
SELECT group_concat(RowKey, ' ') AS "OFFSET 10" FROM (
  SELECT RowKey FROM Employee ORDER BY EntityKey LIMIT 10 OFFSET 10);

.print
.print == Pages that agree with each other
-- Each page is a snapshot of its own, as in the service. Pages that must agree are read in one
-- transaction: another process deletes most of Sales, and the pages of this one still have them.
BEGIN;
SELECT count(*) AS employees FROM Employee;
.shell sqlite3 build/paging.db ".load ./ptable" "DELETE FROM Employee WHERE PartitionKey = 'Sales' AND RowKey > '000116'"
SELECT count(*) AS "still seen" FROM Employee WHERE EntityKey > pt_entity_key('Sales', '');
COMMIT;
SELECT count(*) AS "seen now" FROM Employee WHERE EntityKey > pt_entity_key('Sales', '');

.print
.print == Pages of a filter, and of a partition
-- A Filter, or any condition, works with pages. The service may return empty pages with tokens
-- until it finds a match; here LIMIT counts matches, and a short page is the last.
SELECT PartitionKey, RowKey, LastName FROM Employee
  WHERE Filter MATCH 'LastName eq ''Jones''' AND EntityKey > x'' ORDER BY EntityKey LIMIT 3;
SELECT PartitionKey, RowKey, LastName FROM Employee
  WHERE Filter MATCH 'LastName eq ''Jones''' AND EntityKey > pt_entity_key('Marketing', '000111x')
  ORDER BY EntityKey LIMIT 3;
-- Pages of one partition: the condition on its key and the token become one range.
EXPLAIN QUERY PLAN
SELECT RowKey FROM Employee WHERE PartitionKey = 'Marketing' AND EntityKey > @token
  ORDER BY EntityKey LIMIT 10;

.print
.print == Empty keys
-- Empty keys are valid keys. For some clients of the service an empty token means the end, and they
-- stop too early; here the token of the empty keys is one byte, and the empty BLOB is before it.
INSERT INTO Employee VALUES ('', '', 'Nobody');
SELECT hex(EntityKey) AS token, LastName FROM Employee
  WHERE EntityKey > x'' ORDER BY EntityKey LIMIT 1;
SELECT RowKey FROM Employee WHERE EntityKey > x'00' ORDER BY EntityKey LIMIT 1;

.open :memory:
.shell rm -f build/paging.db* build/token.sql
