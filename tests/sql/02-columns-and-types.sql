-- Columns and types: what can be declared, what can be written, and in which form it comes back.
.load ./ptable
.nullvalue NULL

-- The columns of a table, visible (hidden = 0) and hidden (1), with the types SQLite sees.
CREATE VIRTUAL TABLE Everything USING ptable(
  AString String, AnInt32 Int32, AnInt64 Int64, ADouble Double,
  ABoolean Boolean, ADateTime DateTime, AGuid Guid, ABinary Binary, Any);
SELECT name, type, hidden, "notnull", pk FROM pragma_table_xinfo('Everything');

-- Each type in its SQL form, and as JSON with the annotations that tell the type.
INSERT INTO Everything VALUES ('p', '1', 'text', 34, 12345678901, 2.5, 1,
  '2026-11-21T08:43:22.5484454Z', '0f8fad5b-d9cb-469f-a165-70867728950e', x'626c6f62', 'any');
.mode line
SELECT * FROM Everything;
SELECT typeof(AString), typeof(AnInt32), typeof(AnInt64), typeof(ADouble), typeof(ABoolean),
  typeof(ADateTime), typeof(AGuid), typeof(ABinary) FROM Everything;
.mode list
SELECT Properties FROM Everything;

-- Conversions that lose nothing are made: text that is exactly a number, numbers to text, words for
-- a Boolean, SQLite's date forms, GUIDs in braces, in capitals or as 16 bytes.
INSERT INTO Everything VALUES ('p', '2', 12, '+034', '-5', '1e3', 'TRUE', '2026-11-21',
  '{0F8FAD5B-D9CB-469F-A165-70867728950E}', x'', 7);
INSERT INTO Everything VALUES ('p', '3', 1.5, 34.0, 9007199254740992.0, 3, 'false',
  '2026-11-21 09:43:22+01:00', x'0f8fad5bd9cb469fa16570867728950e', x'00', 2.5);
SELECT AString, AnInt32, AnInt64, ADouble, ABoolean, ADateTime, AGuid, quote(ABinary), Any
  FROM Everything WHERE RowKey IN ('2', '3');

-- The ends of the ranges.
INSERT INTO Everything(PartitionKey, RowKey, AnInt32, AnInt64, ADouble, ADateTime) VALUES
  ('range', 'high', 2147483647, 9223372036854775807, 1.5e308, '9999-12-31T23:59:59.9999999Z'),
  ('range', 'low', -2147483648, -9223372036854775808, -1.5e308, '0001-01-01');
SELECT RowKey, AnInt32, AnInt64, ADouble, ADateTime FROM Everything WHERE PartitionKey = 'range';

-- Doubles that SQL has no numbers for; NaN comes back as text, for SQLite would make it NULL.
INSERT INTO Everything(PartitionKey, RowKey, ADouble) VALUES
  ('double', '1', 'NaN'), ('double', '2', 'Infinity'), ('double', '3', '-Infinity'), ('double', '4', 9e999);
SELECT RowKey, ADouble, typeof(ADouble), Properties FROM Everything WHERE PartitionKey = 'double';

-- NULL means that the entity has no such property. Because .import sends only text, an empty text
-- means the same in a column that is not String; in a String column it is a value.
INSERT INTO Everything VALUES ('absent', '1', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO Everything VALUES ('absent', '2', '', '', '', '', '', '', '', '', '');
SELECT RowKey, Properties FROM Everything WHERE PartitionKey = 'absent';

-- A column without a type keeps the type each value has; an integer is Int32 if it fits.
INSERT INTO Everything(PartitionKey, RowKey, Any) VALUES
  ('any', '1', 2147483647), ('any', '2', 2147483648), ('any', '3', 3.0), ('any', '4', '3'),
  ('any', '5', x'33');
SELECT RowKey, typeof(Any), Properties FROM Everything WHERE PartitionKey = 'any';

-- A stored value comes back in its own type's form, whatever the declaration says.
INSERT INTO Everything(PartitionKey, RowKey, Properties) VALUES
  ('other', '1', '{"AnInt32":"thirty","ABoolean":2.5,"AString":3}');
SELECT AnInt32, typeof(AnInt32), ABoolean, typeof(ABoolean), AString, typeof(AString)
  FROM Everything WHERE PartitionKey = 'other';

-- Keys: integers become text. They may be empty. Their order is that of their UTF-8 bytes.
CREATE VIRTUAL TABLE KeyOrder USING ptable();
INSERT INTO KeyOrder(PartitionKey, RowKey) VALUES
  (10, 1), ('9', ''), ('', ''), ('', 'x'), ('a', ''), ('B', ''), ('é', ''), ('~', ''), ('1', ''), ('aa', '');
SELECT quote(PartitionKey), quote(RowKey) FROM KeyOrder;

-- SQL's own names for types, with lengths that say nothing; the keys may be listed first.
CREATE VIRTUAL TABLE SqlNames USING ptable(
  PartitionKey TEXT, RowKey String, a TEXT, b VARCHAR(20), c INTEGER, d INT, e BIGINT, f SMALLINT, g REAL,
  h DOUBLE PRECISION, i BLOB, j UUID, k BOOL, l Edm.DateTime, "with blank" int32, [select] string);
SELECT name, type FROM pragma_table_xinfo('SqlNames') WHERE hidden = 0;
INSERT INTO SqlNames VALUES ('p', 'r', 1, 1, 1, 1, 1, 1, 1, 1, x'01',
  '0f8fad5b-d9cb-469f-a165-70867728950e', 1, '2026-11-21', 1, 1);
SELECT Properties FROM SqlNames;

-- With no column declared, Properties is visible.
SELECT name FROM pragma_table_xinfo('KeyOrder') WHERE hidden = 0;

-- The type of a column gives comparisons their affinity, as in any table.
SELECT count(*) FROM Everything WHERE AnInt32 = '34';

-- Names that the hash of names cannot tell apart are different properties.
CREATE VIRTUAL TABLE Colliding USING ptable(costarring Int32, liquid Int32);
INSERT INTO Colliding VALUES('p', '1', 1, 2);
SELECT costarring, liquid FROM Colliding;
UPDATE Colliding SET liquid = 3;
SELECT Properties FROM Colliding;
