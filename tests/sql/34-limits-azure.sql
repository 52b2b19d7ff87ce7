-- limits='azure': what the Table service refuses is refused, before it is looked whether the entity
-- exists. Texts are counted in UTF-16 units, as the service counts: an emoji is two.
.load ./ptable
.nullvalue NULL
CREATE VIRTUAL TABLE Entry USING ptable(
  Text String, Photo Binary, Due DateTime, Small Int32, limits='azure');

-- Keys: 512 units, and neither / \ # ? nor control characters.
INSERT INTO Entry(PartitionKey, RowKey) VALUES ('', ''), ('a%+&''",()b ', 'é日本😀');
INSERT INTO Entry(PartitionKey, RowKey) VALUES (printf('%.512c', 'k'), printf('%.512c', 'r'));
INSERT INTO Entry(PartitionKey, RowKey)
  VALUES (replace(printf('%.256c', 'k'), 'k', '😀'), replace(printf('%.512c', 'k'), 'k', '本'));
SELECT length(PartitionKey) AS Characters, length(EntityKey) AS Bytes FROM Entry
  WHERE length(PartitionKey) > 100;
DELETE FROM Entry WHERE length(PartitionKey) > 100;
INSERT INTO Entry(PartitionKey, RowKey) VALUES ('p', printf('%.513c', 'k'));
INSERT INTO Entry(PartitionKey, RowKey) VALUES (replace(printf('%.257c', 'k'), 'k', '😀'), 'r');
INSERT INTO Entry(PartitionKey, RowKey) VALUES ('2026/11', 'r');
INSERT INTO Entry(PartitionKey, RowKey) VALUES ('p', 'a\b');
INSERT INTO Entry(PartitionKey, RowKey) VALUES ('p', 'C#');
INSERT INTO Entry(PartitionKey, RowKey) VALUES ('really?', 'r');
INSERT INTO Entry(PartitionKey, RowKey) VALUES ('p', 'two' || char(9) || 'columns');
INSERT INTO Entry(PartitionKey, RowKey) VALUES ('p', 'next' || char(0x85) || 'line');
INSERT INTO Entry(PartitionKey, RowKey) VALUES ('p', 'not broken' || char(0xA0) || 'space');
SELECT quote(PartitionKey), quote(RowKey) FROM Entry;
UPDATE Entry SET RowKey = 'a/b' WHERE PartitionKey = 'p';
DELETE FROM Entry;

-- A String has 32,768 units, a Binary 65,536 bytes.
INSERT INTO Entry(PartitionKey, RowKey, Text) VALUES ('p', '1', printf('%.32768c', 'x'));
INSERT INTO Entry(PartitionKey, RowKey, Text) VALUES ('p', '2', printf('%.32769c', 'x'));
INSERT INTO Entry(PartitionKey, RowKey, Text)
  VALUES ('p', '3', replace(printf('%.30000c', 'x'), 'x', 'é'));
INSERT INTO Entry(PartitionKey, RowKey, Text)
  VALUES ('p', '4', replace(printf('%.32769c', 'x'), 'x', 'é'));
INSERT INTO Entry(PartitionKey, RowKey, Text)
  VALUES ('p', '5', replace(printf('%.16384c', 'x'), 'x', '😀'));
INSERT INTO Entry(PartitionKey, RowKey, Text)
  VALUES ('p', '6', replace(printf('%.16385c', 'x'), 'x', '😀'));
INSERT INTO Entry(PartitionKey, RowKey, Photo) VALUES ('p', '7', zeroblob(65536));
INSERT INTO Entry(PartitionKey, RowKey, Photo) VALUES ('p', '8', zeroblob(65537));
SELECT RowKey, length(Text), length(CAST(Text AS BLOB)), length(Photo) FROM Entry;

-- A String may have any character inside; a DateTime begins with 1601.
INSERT INTO Entry(PartitionKey, RowKey, Text) VALUES ('q', '1', 'a/b' || char(9, 0x7F));
INSERT INTO Entry(PartitionKey, RowKey, Due) VALUES ('q', '2', '1601-01-01');
INSERT INTO Entry(PartitionKey, RowKey, Due) VALUES ('q', '3', '1600-12-31T23:59:59.9999999Z');
INSERT INTO Entry(PartitionKey, RowKey, Due) VALUES ('q', '4', '9999-12-31T23:59:59.9999999Z');
SELECT RowKey, quote(Text), Due FROM Entry WHERE PartitionKey = 'q';

-- Names of properties are identifiers of C# with at most 255 characters, and an entity has at most
-- 252 properties.
INSERT INTO Entry(PartitionKey, RowKey, Properties)
  VALUES ('r', '1', '{"Übung_2":1,"_x":2,"名前":3}');
INSERT INTO Entry(PartitionKey, RowKey, Properties) VALUES ('r', '2', '{"Manager Rating":1}');
INSERT INTO Entry(PartitionKey, RowKey, Properties) VALUES ('r', '2', '{"2nd":1}');
INSERT INTO Entry(PartitionKey, RowKey, Properties) VALUES ('r', '2', '{"":1}');
INSERT INTO Entry(PartitionKey, RowKey, Properties)
  VALUES ('r', '3', json_object(printf('%.255c', 'n'), 1));
INSERT INTO Entry(PartitionKey, RowKey, Properties)
  VALUES ('r', '4', json_object(printf('%.256c', 'n'), 1));
CREATE TABLE Number(n INTEGER PRIMARY KEY);
WITH RECURSIVE more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more WHERE n < 70000)
  INSERT INTO Number SELECT n FROM more;
INSERT INTO Entry(PartitionKey, RowKey, Properties)
  SELECT 'r', '5', json_group_object('p' || n, n) FROM Number WHERE n <= 252;
INSERT INTO Entry(PartitionKey, RowKey, Properties)
  SELECT 'r', '6', json_group_object('p' || n, n) FROM Number WHERE n <= 253;
-- One more by an UPDATE is one too many, too.
UPDATE Entry SET Small = 1 WHERE PartitionKey = 'r' AND RowKey = '5';
UPDATE Entry SET Properties = json_remove(Properties, '$.p252'), Small = 1
  WHERE PartitionKey = 'r' AND RowKey = '5';
SELECT RowKey, (SELECT count(*) FROM json_each(Properties)) FROM Entry WHERE PartitionKey = 'r';

-- 1 MiB by the service's formula: 4 + 2 * (length of both keys), and for each property 8 + 2 *
-- (length of its name) + its value, which for a String is 4 + 2 * (its length): here
-- 4 + 2 * 2 + 16 * (8 + 2 * 3 + 4) + 2 * (15 * 32768 + 32620) = 1048576.
CREATE VIEW Full AS
  SELECT json_group_object('b' || (n + 9), printf('%.*c', iif(n < 16, 32768, 32620), 'x')) AS bag
  FROM Number WHERE n <= 16;
INSERT INTO Entry(PartitionKey, RowKey, Properties) SELECT 's', '1', bag FROM Full;
INSERT INTO Entry(PartitionKey, RowKey, Properties) SELECT 's', '12', bag FROM Full;
UPDATE Entry SET Small = 1 WHERE PartitionKey = 's';
UPDATE Entry SET RowKey = '12' WHERE PartitionKey = 's';
SELECT RowKey, length(Properties) FROM Entry WHERE PartitionKey = 's';

-- A refused statement changes nothing, and limits come before existence, as in the service.
INSERT INTO Entry(PartitionKey, RowKey, Text) VALUES ('t', '1', 'first'), ('t', 'a/b', 'second');
INSERT INTO Entry(PartitionKey, RowKey, Due) VALUES ('q', '1', '1600-01-01');
INSERT OR REPLACE INTO Entry(PartitionKey, RowKey, Due) VALUES ('q', '1', '1600-01-01');
INSERT OR IGNORE INTO Entry(PartitionKey, RowKey) VALUES ('t', 'a/b'), ('t', '2');
SELECT count(*) FROM Entry WHERE PartitionKey = 't';
-- The loud forms: 400 before 404 and 412. What a merge adds to counts as well.
INSERT INTO Entry(PartitionKey, RowKey, Due, WriteMode, IfMatch)
  VALUES ('t', 'none', '1600-01-01', 'replace', '*');
INSERT INTO Entry(PartitionKey, RowKey, Due, WriteMode, IfMatch)
  VALUES ('q', '1', '1600-01-01', 'merge', 'W/"datetime''2001-01-01T00%3A00%3A00.0000000Z''"');
INSERT INTO Entry(PartitionKey, RowKey, Small, WriteMode) VALUES ('r', '5', 2, 'merge');
INSERT INTO Entry(PartitionKey, RowKey, Properties, WriteMode)
  VALUES ('r', '5', '{"One_more":1}', 'merge');
INSERT INTO Entry(PartitionKey, RowKey, Properties, WriteMode)
  VALUES ('r', '5', '{"One_more":1}', 'replace');
SELECT Properties FROM Entry WHERE PartitionKey = 'r' AND RowKey = '5';

-- A delete with a key that is too long finds nothing, as in the service. One with a character that
-- no key may have is malformed.
INSERT INTO Entry(PartitionKey, RowKey, WriteMode, IfMatch) VALUES (printf('%.513c', 'k'), 'r', 'delete', '*');
INSERT INTO Entry(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', printf('%.513c', 'k'), 'delete', 'W/"x"');
INSERT INTO Entry(PartitionKey, RowKey, WriteMode) VALUES ('p', printf('%.513c', 'k'), 'delete');
INSERT INTO Entry(PartitionKey, RowKey, WriteMode) VALUES ('p', printf('%.1000000c', 'k'), 'delete');
INSERT INTO Entry(PartitionKey, RowKey, WriteMode) VALUES (printf('%.513c', 'k'), 'a/b', 'delete');
INSERT INTO Entry(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', printf('%.513c', 'k'), 'merge', '*');

-- Another declaration of the same table without limits lets more in. Such entities can be read and
-- deleted, and changed if they then are within the limits.
CREATE VIRTUAL TABLE Free USING ptable(Text String, Small Int32, table=Entry);
INSERT INTO Free VALUES ('u', 'a/b', 'slash', 1), ('u', 'c', printf('%.40000c', 'x'), 2);
SELECT RowKey, length(Text), Small FROM Entry WHERE PartitionKey = 'u';
UPDATE Entry SET Small = 3 WHERE PartitionKey = 'u' AND RowKey = 'a/b';
UPDATE Entry SET Small = 3 WHERE PartitionKey = 'u' AND RowKey = 'c';
UPDATE Entry SET RowKey = 'a_b' WHERE PartitionKey = 'u' AND RowKey = 'a/b';
UPDATE Entry SET Text = 'short' WHERE PartitionKey = 'u' AND RowKey = 'c';
DELETE FROM Entry WHERE PartitionKey = 'u' AND RowKey = 'c';
SELECT RowKey, Text, Small FROM Entry WHERE PartitionKey = 'u';
INSERT INTO Free(PartitionKey, RowKey) VALUES ('u', printf('%.513c', 'k'));
INSERT INTO Entry(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('u', printf('%.513c', 'k'), 'delete', '*');
SELECT count(*) FROM Entry WHERE PartitionKey = 'u' AND length(RowKey) = 513;
-- What is large and stays is measured again.
UPDATE Entry SET Small = 1 WHERE PartitionKey = 'p' AND RowKey IN ('1', '5', '7');
SELECT RowKey, Small FROM Entry WHERE PartitionKey = 'p' AND Small = 1;

-- The table's name in the store: a letter, then 2 to 62 letters and digits, and not "tables".
CREATE VIRTUAL TABLE "order-lines" USING ptable(limits=azure);
CREATE VIRTUAL TABLE "order-lines" USING ptable(limits=azure, table=OrderLines);
CREATE VIRTUAL TABLE "2026" USING ptable(limits=azure);
CREATE VIRTUAL TABLE tt USING ptable(limits=azure);
CREATE VIRTUAL TABLE Tables USING ptable(limits=azure);
CREATE VIRTUAL TABLE t USING ptable(limits=azure, table=a23456789012345678901234567890123456789012345678901234567890123);
CREATE VIRTUAL TABLE u USING ptable(limits=azure, table=a234567890123456789012345678901234567890123456789012345678901234);
INSERT INTO "order-lines" VALUES ('p', '1', '{"Count":1}');
SELECT * FROM "order-lines";

-- limits='none', the default: only what the store cannot hold is refused.
CREATE VIRTUAL TABLE Loose USING ptable(Due DateTime, Text String);
INSERT INTO Loose VALUES ('a/b#?', char(9), '0001-01-01', printf('%.100000c', 'x'));
INSERT INTO Loose(PartitionKey, RowKey, Properties) VALUES ('p', '1', '{"Manager Rating":1}');
INSERT INTO Loose(PartitionKey, RowKey, Properties)
  SELECT 'p', '2', json_group_object('p' || n, n) FROM Number WHERE n <= 1000;
SELECT quote(RowKey), Due, length(Text), (SELECT count(*) FROM json_each(Properties)) FROM Loose;
INSERT INTO Loose(PartitionKey, RowKey, Properties)
  VALUES ('p', '3', json_object(printf('%.65536c', 'n'), 1));
INSERT INTO Loose(PartitionKey, RowKey, Properties)
  SELECT 'p', '4', json_group_object('p' || n, n) FROM Number WHERE n <= 65536;
INSERT INTO Loose(PartitionKey, RowKey) VALUES ('p', 'a' || char(0) || 'b');
INSERT INTO Loose(PartitionKey, RowKey) VALUES ('p', printf('%.16379c', 'k'));
INSERT INTO Loose(PartitionKey, RowKey, WriteMode) VALUES ('p', printf('%.16379c', 'k'), 'delete');
SELECT count(*) FROM Loose;

-- An unknown choice.
CREATE VIRTUAL TABLE Wrong USING ptable(limits=cosmos);
