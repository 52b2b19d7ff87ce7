-- UPDATE and DELETE touch what they find; changes() tells how many entities that was.
.load ./ptable
.nullvalue NULL
CREATE VIRTUAL TABLE Employee USING ptable(Name String, Age Int32, City String);
INSERT INTO Employee VALUES
  ('Sales', '1', 'Ann', 30, 'Rome'), ('Sales', '2', 'Bob', 40, 'Oslo'), ('Sales', '3', 'Eve', 50, 'Bern'),
  ('Legal', '1', 'Sam', 60, 'Rome'), ('Legal', '2', 'Kim', 70, 'Oslo');

-- One entity, several, all of a partition, those of any condition.
UPDATE Employee SET Age = 31 WHERE PartitionKey = 'Sales' AND RowKey = '1';
SELECT changes();
UPDATE Employee SET Age = Age + 1, City = upper(City) WHERE PartitionKey = 'Legal';
SELECT changes();
UPDATE Employee SET City = 'Wien' WHERE Age BETWEEN 40 AND 50;
SELECT changes();
SELECT * FROM Employee;

-- What is not there is not touched, and that is no error.
UPDATE Employee SET Age = 0 WHERE PartitionKey = 'Sales' AND RowKey = '9';
SELECT changes();
DELETE FROM Employee WHERE PartitionKey = 'Nobody';
SELECT changes();

-- = NULL removes a property; a column that is not named keeps its value.
UPDATE Employee SET City = NULL WHERE PartitionKey = 'Sales' AND RowKey = '1';
SELECT Properties FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '1';

-- Every write gives a new Timestamp and ETag, also one that changes nothing.
CREATE TEMP TABLE Before AS SELECT ETag, Timestamp FROM Employee
  WHERE PartitionKey = 'Sales' AND RowKey = '2';
UPDATE Employee SET Age = Age WHERE PartitionKey = 'Sales' AND RowKey = '2';
SELECT Employee.ETag <> Before.ETag, Employee.Timestamp > Before.Timestamp FROM Employee, Before
  WHERE PartitionKey = 'Sales' AND RowKey = '2';

-- The ETag has the service's form: the Timestamp with its colons encoded.
SELECT ETag = 'W/"datetime''' || replace(Timestamp, ':', '%3A') || '''"', length(Timestamp) FROM Employee
  WHERE PartitionKey = 'Sales' AND RowKey = '2';

-- Optimistic concurrency: the second writer with the same ETag changes nothing and sees it.
CREATE TEMP TABLE Seen AS SELECT ETag FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '3';
UPDATE Employee SET Age = 51
  WHERE PartitionKey = 'Sales' AND RowKey = '3' AND ETag = (SELECT ETag FROM Seen);
SELECT changes();
UPDATE Employee SET Age = 99
  WHERE PartitionKey = 'Sales' AND RowKey = '3' AND ETag = (SELECT ETag FROM Seen);
SELECT changes();
DELETE FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '3' AND ETag = (SELECT ETag FROM Seen);
SELECT changes(), (SELECT Age FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '3');

-- Keys can be changed: the entity moves, with all its properties.
INSERT INTO Employee(PartitionKey, RowKey, Name, Properties)
  VALUES ('Old', '1', 'Max', '{"Undeclared":true}');
UPDATE Employee SET PartitionKey = 'New', RowKey = '7' WHERE PartitionKey = 'Old';
SELECT changes(), (SELECT count(*) FROM Employee WHERE PartitionKey = 'Old');
SELECT PartitionKey, RowKey, Name, Properties ->> 'Undeclared' FROM Employee WHERE PartitionKey = 'New';

-- A whole partition moves, each entity once although it moves ahead of the scan.
UPDATE Employee SET RowKey = '1' || RowKey WHERE PartitionKey = 'Legal';
SELECT changes(), group_concat(RowKey, ' ') FROM Employee WHERE PartitionKey = 'Legal';

-- Not onto an entity that exists, unless told so.
UPDATE Employee SET RowKey = '2' WHERE PartitionKey = 'Sales' AND RowKey = '1';
UPDATE OR REPLACE Employee SET RowKey = '2' WHERE PartitionKey = 'Sales' AND RowKey = '1';
SELECT changes();
SELECT RowKey, Name FROM Employee WHERE PartitionKey = 'Sales';

-- From another table, and with a subquery.
CREATE TABLE Raise(Id TEXT, Years INTEGER);
INSERT INTO Raise VALUES ('2', 5), ('3', 6);
UPDATE Employee SET Age = Age + Years FROM Raise WHERE PartitionKey = 'Sales' AND RowKey = Id;
SELECT changes();
SELECT RowKey, Age FROM Employee WHERE PartitionKey = 'Sales';

-- UPDATE ... FROM keeps undeclared properties and types, too.
CREATE VIRTUAL TABLE Untyped USING ptable(v);
INSERT INTO Untyped(PartitionKey, RowKey, v, Properties)
  VALUES ('p', '1', 1,
    '{"Big":5,"Big@odata.type":"Edm.Int64","When":"2026-11-21","When@odata.type":"Edm.DateTime"}');
UPDATE Untyped SET v = Years FROM Raise WHERE Id = '2';
SELECT Properties FROM Untyped;

-- Properties replaces all, and what SET names besides it goes over that, whatever there was before.
UPDATE Untyped SET Properties = '{"a":1}', v = 5;
SELECT Properties FROM Untyped;
UPDATE Untyped SET Properties = '{"v":6,"b":1}', v = 5;
UPDATE Untyped SET Properties = '{"b":2}', v = 5;
SELECT Properties FROM Untyped;
UPDATE Untyped SET Properties = '{"c":3}', v = NULL;
UPDATE Untyped SET Properties = '{"v":6,"c":3}', v = NULL;
SELECT Properties FROM Untyped;
UPDATE Untyped SET Properties = '{"v":"six","c":4}', v = 'six';
UPDATE Untyped SET Properties = '{"d":5}';
SELECT Properties FROM Untyped;

-- An UPDATE ... FROM that meets an entity several times takes one of them.
UPDATE Untyped SET v = w.v FROM (SELECT 7 AS v UNION ALL SELECT 7 UNION ALL SELECT 7) AS w;
SELECT Properties FROM Untyped;
UPDATE Untyped SET Properties = w.p FROM (SELECT '{"e":1}' AS p UNION ALL SELECT '{"e":1}') AS w;
SELECT Properties FROM Untyped;

-- DELETE, of one and of all.
DELETE FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '2';
SELECT changes(), count(*) FROM Employee;
DELETE FROM Employee;
SELECT changes(), count(*) FROM Employee;

-- LIMIT bounds how many are touched at a time, for writing in slices.
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250)
INSERT INTO Employee(PartitionKey, RowKey, Age) SELECT 'Many', pt_pad(i, 4), i FROM n;
SELECT changes();
DELETE FROM Employee WHERE EntityKey IN
  (SELECT EntityKey FROM Employee WHERE PartitionKey = 'Many' ORDER BY EntityKey LIMIT 100);
SELECT changes(), min(RowKey), count(*) FROM Employee;

-- Timestamp and ETag are the store's also where all columns come from SET and FROM.
UPDATE Employee SET Timestamp = 'yesterday' FROM (SELECT 1) WHERE PartitionKey = 'Many' AND RowKey = '0101';
UPDATE Employee SET Timestamp = '2020-01-01T00:00:00.0000000Z' FROM (SELECT 1) WHERE PartitionKey = 'Many' AND RowKey = '0101';
UPDATE Employee SET Timestamp = '2020-01-01' FROM (SELECT 1) WHERE PartitionKey = 'Many' AND RowKey = '0101';
UPDATE Employee SET ETag = 'x' FROM (SELECT 1) WHERE PartitionKey = 'Many' AND RowKey = '0101';
SELECT count(*) FROM Employee WHERE Timestamp < '2021' OR ETag = 'x';
