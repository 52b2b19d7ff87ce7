-- Large values: texts and blobs of any length. Those over 2,000 bytes are kept outside their
-- entity's record and read only when they are asked for; otherwise they are like any other.
.load ./ptable
.nullvalue NULL

CREATE VIRTUAL TABLE Document USING ptable(Title String, Body String, Scan Binary, Pages Int32,
  store='documents.ptable');

-- Around the lengths at which values leave the record and take one more piece outside.
CREATE TABLE Size(n);
INSERT INTO Size VALUES (0), (1), (256), (1999), (2000), (2001), (3999), (4000), (4001), (6000),
  (70000), (1000000);
INSERT INTO Document(PartitionKey, RowKey, Body, Scan)
  SELECT 'size', pt_pad(n, 7), substr(replace(hex(zeroblob(n)), '00', 'x'), 1, n), zeroblob(n)
  FROM Size;
SELECT RowKey, length(Body), length(Scan), typeof(Body), typeof(Scan) FROM Document;
SELECT count(*) FROM Document JOIN Size ON RowKey = pt_pad(n, 7)
  WHERE Body = substr(replace(hex(zeroblob(n)), '00', 'x'), 1, n) AND Scan = zeroblob(n);

-- They can be compared, ordered, grouped, cut and searched.
SELECT RowKey FROM Document WHERE length(Body) > 4000 ORDER BY Scan DESC LIMIT 2;
SELECT substr(Scan, 999998) = x'000000', substr(Body, -3) FROM Document WHERE RowKey = '1000000';
SELECT max(length(Body)), sum(length(Scan)) FROM Document GROUP BY PartitionKey;
DELETE FROM Document;

-- Characters of several bytes may lie on the edge of a piece: 'é' has two, '日' three, '😀' four.
WITH RECURSIVE t(c, s, n) AS (
  SELECT c, c, 1 FROM (SELECT 'é' AS c UNION ALL SELECT '日' UNION ALL SELECT '😀')
  UNION ALL SELECT c, s || s, 2 * n FROM t WHERE n < 2048)
INSERT INTO Document(PartitionKey, RowKey, Body) SELECT 'utf8', c, 'x' || s FROM t WHERE n = 2048;
SELECT RowKey, length(Body), length(CAST(Body AS BLOB)), substr(Body, 666, 3),
    length(replace(Body, RowKey, ''))
  FROM Document;
DELETE FROM Document;

-- U+0000 inside a text stays.
INSERT INTO Document(PartitionKey, RowKey, Body)
  VALUES ('zero', '1', 'a' || char(0) || replace(hex(zeroblob(2000)), '00', 'b') || char(0));
SELECT length(CAST(Body AS BLOB)), hex(substr(CAST(Body AS BLOB), 1, 3)),
    hex(substr(CAST(Body AS BLOB), -2))
  FROM Document;
DELETE FROM Document;

-- In Properties they are what they are elsewhere: a text is a string, a blob is base64.
INSERT INTO Document VALUES
  ('p', '1', 'Title', replace(hex(zeroblob(1250)), '00', 'é'), zeroblob(3000), 12);
SELECT length(Properties), length(Properties ->> 'Body'), length(Properties ->> 'Scan'),
    Properties ->> '$."Scan@odata.type"', substr(Properties ->> 'Scan', 1, 8)
  FROM Document;

-- An UPDATE of other columns keeps them; one that names them replaces them.
UPDATE Document SET Pages = 13, Title = 'New title';
SELECT Title, Pages, length(Body), Scan = zeroblob(3000) FROM Document;
UPDATE Document SET Body = Body || '!';
SELECT length(Body), substr(Body, -2), length(Scan) FROM Document;
UPDATE Document SET Body = 'short', Scan = NULL;
SELECT * FROM Document;
UPDATE Document SET Body = hex(zeroblob(5000));
SELECT length(Body) FROM Document;

-- The same through Properties, for properties without a column too.
UPDATE Document SET Properties = json_set(Properties, '$.Summary', hex(zeroblob(2000)));
SELECT length(Body), length(Properties ->> 'Summary'), Pages FROM Document;
UPDATE Document SET Properties = json_remove(Properties, '$.Body');
SELECT Body, length(Properties ->> 'Summary'), Pages FROM Document;

-- A new key takes them along.
UPDATE Document SET PartitionKey = 'q', RowKey = '2';
SELECT PartitionKey, RowKey, length(Properties ->> 'Summary') FROM Document;

-- The copy form, within a store and to another one.
UPDATE Document SET Scan = zeroblob(100000);
CREATE VIRTUAL TABLE Copy USING ptable(store='documents.ptable');
CREATE VIRTUAL TABLE Backup USING ptable(store='backup.ptable');
INSERT INTO Copy SELECT PartitionKey, RowKey, Properties FROM Document;
INSERT INTO Backup SELECT PartitionKey, RowKey, Properties FROM Copy;
DELETE FROM Copy;
SELECT count(*) FROM Document d JOIN Backup b USING (PartitionKey, RowKey)
  WHERE d.Properties ->> 'Scan' = b.Properties ->> 'Scan'
    AND d.Properties ->> 'Summary' = b.Properties ->> 'Summary';

-- Transactions: what is rolled back is as it was.
BEGIN;
UPDATE Document SET Scan = zeroblob(5000), Body = hex(zeroblob(3000));
INSERT OR REPLACE INTO Document(PartitionKey, RowKey, Body) VALUES ('q', '2', hex(zeroblob(4000)));
SELECT length(Body), length(Scan) FROM Document;
SAVEPOINT s;
DELETE FROM Document;
SELECT count(*) FROM Document;
ROLLBACK TO s;
SELECT length(Body), length(Scan) FROM Document;
ROLLBACK;
SELECT length(Body), length(Scan) FROM Document;

-- A length that the connection does not take is an error of that column alone.
.limit length 50000
SELECT Scan FROM Document;
SELECT PartitionKey, Pages FROM Document;
