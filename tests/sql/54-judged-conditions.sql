-- Conditions on declared columns are part of the plan. Rows for which one is not true are passed over
-- in the scan, before SQLite sees them; SQLite checks the others again.
.load ./ptable
CREATE VIRTUAL TABLE Employee USING ptable(Name String, Age Int32, Number Int64, Pay Double, Active Boolean, Born DateTime, Badge Guid, Photo Binary, Note, store='judged.ptable');
INSERT INTO Employee(PartitionKey, RowKey, Name, Age, Number, Pay, Active, Born, Badge, Photo, Note) VALUES
  ('Sales', '1', 'Jun', 34, 9007199254740993, 2.5, TRUE, '1992-03-01', '0f8fad5b-d9cb-469f-a165-70867728950e', x'00ff', 'n'),
  ('Sales', '2', 'Kim', 28, 9007199254740992, 1e300, FALSE, '1998-11-22T10:00:00.5Z', '7c9e6679-7425-40de-944b-e07fc1f90ae7', x'', 5),
  ('Sales', '3', 'Lee', NULL, -1, -0.0, NULL, NULL, NULL, NULL, 5.0),
  ('Sales', '4', '12', 70, 5, 'NaN', TRUE, '1970-01-01', NULL, x'01', '5'),
  ('Ware', '5', '012', 28, NULL, 28, FALSE, NULL, NULL, NULL, x'35');
CREATE TABLE Wanted(t TEXT, i INTEGER);
INSERT INTO Wanted VALUES ('Kim', 28), ('12', 12), ('x', NULL);

.eqp on
-- Comparisons, BETWEEN, IN, IS and IS NULL, in every kind of scan.
SELECT RowKey FROM Employee WHERE Age > 30;
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales' AND Age BETWEEN 20 AND 34.5;
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales' AND RowKey >= '2' AND Name IN ('Kim', 'Lee', 'Max');
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '2' AND Age = 28 AND Active = FALSE;
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales' AND RowKey IN ('1', '2') AND Born < '1995';
SELECT RowKey FROM Employee WHERE Badge = '0F8FAD5B-D9CB-469F-A165-70867728950E' OR Age IS NULL;
SELECT RowKey FROM Employee WHERE Age IS NULL AND PartitionKey = 'Sales';
SELECT RowKey FROM Employee WHERE Age IS 28 AND PartitionKey >= 'T';
SELECT RowKey FROM Employee WHERE Age = 28 ORDER BY PartitionKey DESC, RowKey DESC;
SELECT RowKey FROM Employee WHERE Born >= '1990' AND Born < '1998-11-22T10:00:01' AND Photo = x'00ff';
SELECT RowKey FROM Employee WHERE Name GLOB 'J*';
-- With a Filter, both must hold.
SELECT RowKey FROM Employee WHERE Filter MATCH 'Active eq true' AND Age < 50;
-- The right side may come from another table.
SELECT RowKey, t FROM Wanted CROSS JOIN Employee ON Age = i;
SELECT t, RowKey FROM Wanted LEFT JOIN Employee ON Name > t AND Age < 50;
-- A change reads the same rows.
UPDATE Employee SET Note = 'young' WHERE Age < 30;
DELETE FROM Employee WHERE Age < 30 AND Pay = 28;

-- SQLite keeps these: <>, IS NOT, IS NOT NULL before 3.51.1, LIKE, expressions, other collations, NOT, columns
-- beside columns of the same row.
SELECT RowKey FROM Employee WHERE Age <> 28;
SELECT RowKey FROM Employee WHERE Age IS NOT NULL AND Name LIKE 'j%';
SELECT RowKey FROM Employee WHERE Name = 'kim' COLLATE NOCASE;
SELECT RowKey FROM Employee WHERE +Age = 34;
SELECT RowKey FROM Employee WHERE Age = Number;
-- SQLite does not tell of an IN after 32 conditions, so = is not judged there.
SELECT RowKey FROM Employee WHERE PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND PartitionKey > 'A' AND Age = 28 AND Number > 5;
.eqp off
-- And this, which would be a scan for each pair.
SELECT RowKey FROM Employee WHERE (Name, Age) IN (SELECT t, i FROM Wanted);

-- Numbers are compared exactly, Int64 beside REAL too.
SELECT RowKey FROM Employee WHERE Number = 9007199254740992.0;
SELECT RowKey FROM Employee WHERE Number > 9007199254740992;
SELECT RowKey FROM Employee WHERE Number < 9007199254740993.0 AND Number > 4.5;
SELECT RowKey FROM Employee WHERE Pay = 0;
SELECT RowKey FROM Employee WHERE Pay = 'NaN';
SELECT RowKey FROM Employee WHERE Age = '28';
SELECT RowKey FROM Employee WHERE Age > 9e999 OR Age < -9e999;
-- NULL is never equal, nor greater.
SELECT count(*) FROM Employee WHERE Age = NULL OR Age > NULL OR Age IN (NULL);
-- What the other side's affinity decides is left to SQLite: '12' is 12 beside a number.
SELECT RowKey FROM Employee WHERE Name = 12;
SELECT RowKey FROM Employee JOIN Wanted ON Name = i;
SELECT RowKey FROM Employee WHERE Name = '12';
SELECT RowKey FROM Employee WHERE Note = 5;
SELECT RowKey FROM Employee WHERE Note = '5';

-- Entities may have other types under a column.
INSERT INTO Employee(PartitionKey, RowKey, Properties) VALUES
  ('x', '6', '{"Name":34,"Age":"34","Born":"1992-03-01","Note":"big"}'), ('x', '7', '{"Name":true,"Age":34.5,"Badge":"x"}');
SELECT RowKey FROM Employee WHERE Name = '34';
SELECT RowKey FROM Employee WHERE Age = 34;
SELECT RowKey FROM Employee WHERE Age > 34;
SELECT RowKey FROM Employee WHERE Born = '1992-03-01';
SELECT RowKey FROM Employee WHERE Name < 5;
-- Large values are compared by SQLite.
UPDATE Employee SET Name = 'a' || hex(zeroblob(3000)) WHERE RowKey = '7';
SELECT RowKey FROM Employee WHERE Name > 'a' AND Name < 'b';
SELECT RowKey FROM Employee WHERE Name = 'b';

-- IN rounds an integer in a column of REALs, = does not.
INSERT INTO Employee(PartitionKey, RowKey, Properties) VALUES ('x', '8', '{"Pay":"9007199254740993","Pay@odata.type":"Edm.Int64"}');
SELECT RowKey FROM Employee WHERE Pay IN (9007199254740992.0, 1, 2);
SELECT RowKey FROM Employee WHERE Pay IN (SELECT 9007199254740992.0);
SELECT RowKey FROM Employee WHERE Pay = 9007199254740992.0;
