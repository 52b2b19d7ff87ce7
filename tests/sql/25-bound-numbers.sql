-- Keys are text. In JavaScript and R every number is bound as a REAL: where 5.0 counts as '5', where it
-- is refused, as in every INSERT, and where SQLite makes '5.0' of it.
.load ./ptable
CREATE VIRTUAL TABLE T USING ptable(n Int32);
INSERT INTO T SELECT p.value, r.value, 1
  FROM json_each('["4","5","6","5.0"]') p, json_each('["4","5","6","5.0"]') r;
.parameter init
.parameter set ?1 5.0
SELECT typeof(?1);

-- As '5'.
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey = ?1;
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey IS ?1 AND RowKey = ?1;
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey IN (?1);
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey > ?1 AND RowKey < ?1;
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey = '4' AND RowKey >= ?1;
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey = '4' AND RowKey <= ?1;
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey = '4' AND RowKey BETWEEN ?1 AND ?1;
SELECT count(*) FROM T WHERE (PartitionKey = ?1 AND RowKey = ?1) OR (PartitionKey = '6' AND RowKey = ?1);

-- Refused.
SELECT * FROM T WHERE PartitionKey >= ?1;
SELECT * FROM T WHERE PartitionKey <= ?1;
SELECT * FROM T WHERE PartitionKey BETWEEN ?1 AND '6';
SELECT * FROM T WHERE (PartitionKey, RowKey) > (?1, '4');
SELECT * FROM T WHERE PartitionKey = ?1 AND n<9 AND n<9 AND n<9 AND n<9 AND n<9 AND n<9 AND n<9 AND n<9
  AND n<9 AND n<9 AND n<9 AND n<9 AND n<9 AND n<9 AND n<9 AND n<9 AND RowKey = ?1;

-- As '5.0': SQLite compares, or has made a text of it before the table sees it.
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey = '4' AND RowKey IN (?1, 'x');
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey = '4' AND RowKey IN (SELECT ?1);
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey = '4' AND RowKey <> ?1;
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey = '4' AND RowKey NOT IN (?1, 'x');
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey = '4' AND NOT RowKey = ?1;
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey = '4' AND (RowKey < ?1 OR RowKey > ?1);
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey = '4' AND (RowKey, 1) > (?1, 0);
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey = '4' AND RowKey = ?1 COLLATE NOCASE;
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey = '4' AND RowKey GLOB ?1;
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey = '4' AND pt_starts_with(RowKey, ?1);

-- With a CAST it is '5' in all of these but IN (SELECT ...), where it is refused.
SELECT count(*) FROM T WHERE PartitionKey >= CAST(?1 AS INTEGER);
SELECT count(*) FROM T WHERE PartitionKey BETWEEN CAST(?1 AS INTEGER) AND '6';
SELECT count(*) FROM T WHERE (PartitionKey, RowKey) > (CAST(?1 AS INTEGER), '4');
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey = '4' AND RowKey IN (CAST(?1 AS INTEGER), 'x');
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey = '4' AND RowKey IN (SELECT CAST(?1 AS INTEGER));
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey = '4' AND RowKey <> CAST(?1 AS INTEGER);
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey = '4'
  AND (RowKey < CAST(?1 AS INTEGER) OR RowKey > CAST(?1 AS INTEGER));
SELECT group_concat(_rowid_, ' ') FROM T WHERE PartitionKey = '4' AND pt_starts_with(RowKey, CAST(?1 AS INTEGER));

-- Writing is refused: what it would write as '5' those conditions do not find.
CREATE VIRTUAL TABLE W USING ptable(n Int32, table='W');
CREATE TEMP TABLE Ids(id INTEGER);
INSERT INTO Ids VALUES (5), (6);
INSERT INTO W VALUES (?1, 'a', 1);
INSERT INTO W VALUES ('a', ?1, 1);
INSERT OR IGNORE INTO W VALUES ('a', ?1, 1);
INSERT INTO W SELECT ?1, id, 3 FROM Ids;
INSERT INTO W VALUES (5.5, 'a', 1);
SELECT count(*) FROM W;

-- With a CAST it is '5'.
INSERT INTO W VALUES (CAST(?1 AS INTEGER), 'a', 1), (CAST(?1 AS TEXT), 'b', 2);
INSERT INTO W SELECT CAST(?1 AS INTEGER), id, 3 FROM Ids ORDER BY id;
UPDATE W SET RowKey = ?1 WHERE PartitionKey = ?1 AND RowKey = 'a';
UPDATE W SET RowKey = ?1 WHERE n = 1;
UPDATE W SET PartitionKey = ?1;
UPDATE W SET RowKey = CAST(?1 AS INTEGER) + n + 1 WHERE n = 1;
SELECT PartitionKey, RowKey FROM W;
