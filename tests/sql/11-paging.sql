-- Paging by EntityKey: its order is the order of the table, so the EntityKey of the last row seen is
-- all that is needed to go on, also in another process.
.load ./ptable
CREATE VIRTUAL TABLE T USING ptable(v Int32, store='paging.ptable');
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 24)
INSERT INTO T SELECT 'p' || (i / 10), pt_pad(i % 10, 2), i FROM n;

-- The key is the PartitionKey, a zero byte and the RowKey.
SELECT DISTINCT typeof(EntityKey), EntityKey = pt_entity_key(PartitionKey, RowKey) FROM T;
SELECT quote(EntityKey) FROM T LIMIT 1;
SELECT group_concat(v, ' ') FROM (SELECT v FROM T ORDER BY EntityKey);

-- Forwards in pages of eight: a page starts behind the token, and its last key is the next token.
CREATE TEMP TABLE Progress(Token BLOB);
INSERT INTO Progress VALUES (x'');
CREATE TEMP VIEW Page AS SELECT EntityKey, v FROM T
  WHERE EntityKey > (SELECT Token FROM Progress) ORDER BY EntityKey LIMIT 8;
SELECT group_concat(v, ' ') FROM Page;
UPDATE Progress SET Token = (SELECT max(EntityKey) FROM Page);
SELECT group_concat(v, ' ') FROM Page;
UPDATE Progress SET Token = (SELECT max(EntityKey) FROM Page);
SELECT group_concat(v, ' ') FROM Page;
UPDATE Progress SET Token = (SELECT max(EntityKey) FROM Page);
SELECT group_concat(v, ' ') FROM Page;
UPDATE Progress SET Token = (SELECT max(EntityKey) FROM Page);
SELECT count(*) FROM Page;

-- Each page is one seek, however far it is from the start.
EXPLAIN QUERY PLAN SELECT v FROM T WHERE EntityKey > ?1 ORDER BY EntityKey LIMIT 8;
EXPLAIN QUERY PLAN SELECT v FROM T WHERE EntityKey < ?1 ORDER BY EntityKey DESC LIMIT 8;

-- Backwards: from the end, and from a token.
SELECT group_concat(v, ' ') FROM (SELECT v FROM T ORDER BY EntityKey DESC LIMIT 8);
SELECT group_concat(v, ' ') FROM
  (SELECT v FROM T WHERE EntityKey < pt_entity_key('p1', '05') ORDER BY EntityKey DESC LIMIT 8);

-- Inside one partition, and inside a range of it.
SELECT group_concat(v, ' ') FROM (SELECT v FROM T
  WHERE PartitionKey = 'p1' AND EntityKey > pt_entity_key('p1', '06') ORDER BY EntityKey LIMIT 8);
SELECT group_concat(v, ' ') FROM (SELECT v FROM T
  WHERE PartitionKey = 'p1' AND RowKey < '05' AND EntityKey > pt_entity_key('p1', '01')
  ORDER BY EntityKey LIMIT 8);
EXPLAIN QUERY PLAN SELECT v FROM T
  WHERE PartitionKey = 'p1' AND EntityKey > ?1 ORDER BY EntityKey LIMIT 8;

-- From one page to the next with both bounds: what is between two tokens.
SELECT group_concat(v, ' ') FROM T
  WHERE EntityKey > pt_entity_key('p0', '07') AND EntityKey <= pt_entity_key('p1', '02');

-- A token stays good when its row is deleted, and when rows are inserted before or behind it.
DELETE FROM T WHERE PartitionKey = 'p1' AND RowKey = '05';
INSERT INTO T VALUES ('p1', '04b', 104), ('p1', '05b', 105);
SELECT group_concat(v, ' ') FROM
  (SELECT v FROM T WHERE EntityKey > pt_entity_key('p1', '05') ORDER BY EntityKey LIMIT 3);
SELECT group_concat(v, ' ') FROM
  (SELECT v FROM T WHERE EntityKey < pt_entity_key('p1', '05') ORDER BY EntityKey DESC LIMIT 3);

-- The token as text, for a URL or a file; another connection goes on from it.
SELECT hex(EntityKey) FROM T WHERE PartitionKey = 'p1' AND RowKey = '09';
.open other.db
.load ./ptable
CREATE VIRTUAL TABLE T USING ptable(v Int32, store='paging.ptable');
SELECT group_concat(v, ' ') FROM
  (SELECT v FROM T WHERE EntityKey > x'7031003039' ORDER BY EntityKey LIMIT 3);

-- A condition on other columns does not disturb paging; OFFSET works, but reads what it passes over.
SELECT group_concat(v, ' ') FROM
  (SELECT v FROM T WHERE EntityKey > x'703000' AND v % 2 = 0 ORDER BY EntityKey LIMIT 4);
SELECT group_concat(v, ' ') FROM (SELECT v FROM T ORDER BY EntityKey LIMIT 3 OFFSET 9);
