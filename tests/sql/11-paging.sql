-- Paging by EntityKey: its order is the order of the table, and the EntityKey of the last row seen
-- is all that is needed to go on, in another connection or another process too.
.load ./ptable
CREATE VIRTUAL TABLE T USING ptable(v Int32);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 24)
INSERT INTO T SELECT 'p' || i / 10, pt_pad(i % 10, 2), i FROM n;

-- The key is the PartitionKey, a zero byte, the RowKey.
SELECT DISTINCT typeof(EntityKey), EntityKey = pt_entity_key(PartitionKey, RowKey) FROM T;
SELECT quote(EntityKey) FROM T LIMIT 1;
SELECT group_concat(v, ' ') FROM (SELECT v FROM T ORDER BY EntityKey);

-- Forwards, in pages of eight; the token of a page is the last key of the one before.
.parameter init
.parameter set :token "x''"
SELECT count(*), group_concat(v, ' ') FROM
  (SELECT v FROM T WHERE EntityKey > :token ORDER BY EntityKey LIMIT 8);
.parameter set :token "(SELECT EntityKey FROM T WHERE EntityKey > :token ORDER BY EntityKey LIMIT 1 OFFSET 7)"
SELECT count(*), group_concat(v, ' ') FROM
  (SELECT v FROM T WHERE EntityKey > :token ORDER BY EntityKey LIMIT 8);
.parameter set :token "x'70310035'"
SELECT count(*), group_concat(v, ' ') FROM
  (SELECT v FROM T WHERE EntityKey > :token ORDER BY EntityKey LIMIT 8);
SELECT hex(:token);
