-- pt_partitions: what lies in the partitions of a table. pt_properties: which properties its
-- entities have.
.load ./ptable
.nullvalue NULL
CREATE VIRTUAL TABLE Employee USING ptable(FirstName String, Age Int32, store='contoso.ptable');
INSERT INTO Employee VALUES ('Sales', '000223', 'Jun', 34), ('Sales', '000312', 'Ken', 23),
  ('Sales', '000401', 'Ann', 51), ('Marketing', '000150', 'Don', 46), ('IT', '', 'Eve', 29);

-- By the name of a ptable, or by a store and a table in it.
SELECT * FROM pt_partitions('Employee');
SELECT PartitionKey, Entities FROM pt_partitions('contoso.ptable', 'employee');
SELECT PartitionKey, Entities FROM pt_partitions('main.Employee');

-- Bytes are those of keys and records: table id, PartitionKey, 00, RowKey, and what the record takes.
SELECT sum(Entities), sum(Bytes) FROM pt_partitions('Employee');
SELECT Entities, Bytes FROM pt_tables WHERE TableName = 'Employee';

-- PartitionKey =, IN and ranges read only those partitions; key order costs nothing.
SELECT PartitionKey, FirstRowKey, LastRowKey FROM pt_partitions('Employee') WHERE PartitionKey = 'Sales';
SELECT PartitionKey FROM pt_partitions('Employee') WHERE PartitionKey IN ('Sales', 'None', 'IT');
SELECT PartitionKey FROM pt_partitions('Employee') WHERE PartitionKey > 'IT' AND PartitionKey <= 'Sales';
SELECT PartitionKey FROM pt_partitions('Employee') WHERE PartitionKey BETWEEN 'J' AND 'N' OR Entities = 1;
SELECT PartitionKey FROM pt_partitions('Employee') ORDER BY PartitionKey DESC;
SELECT PartitionKey FROM pt_partitions('Employee') WHERE PartitionKey IN ('IT', 'Sales') ORDER BY PartitionKey DESC;
SELECT PartitionKey FROM pt_partitions('Employee') WHERE PartitionKey < 'Sales' ORDER BY PartitionKey DESC LIMIT 1;
SELECT PartitionKey, Entities FROM pt_partitions('Employee') ORDER BY Entities DESC LIMIT 1;
SELECT count(*) FROM pt_partitions('Employee') WHERE PartitionKey = NULL;
.eqp on
SELECT Entities FROM pt_partitions('Employee') WHERE PartitionKey = 'Sales';
SELECT count(*) FROM (SELECT PartitionKey FROM pt_partitions('Employee') ORDER BY PartitionKey DESC);
.eqp off

-- A transaction sees what it has written.
BEGIN;
INSERT INTO Employee VALUES ('Sales', '000100', 'Abe', 60), ('Legal', '1', 'Lea', 40);
DELETE FROM Employee WHERE PartitionKey = 'IT';
UPDATE Employee SET FirstName = 'Donald' WHERE RowKey = '000150';
SELECT PartitionKey, Entities, Bytes, FirstRowKey, LastRowKey FROM pt_partitions('Employee');
SELECT Entities, Bytes FROM pt_tables WHERE TableName = 'Employee';
SELECT sum(Entities), sum(Bytes) FROM pt_partitions('Employee');
ROLLBACK;
SELECT count(*) FROM pt_partitions('Employee');

-- With all tables of a store.
INSERT INTO pt_tables(Store, TableName) VALUES ('contoso.ptable', 'Empty');
SELECT t.TableName, p.PartitionKey, p.Entities
  FROM pt_tables t LEFT JOIN pt_partitions(t.Store, t.TableName) p WHERE t.Store = 'contoso.ptable';

-- Names that need quotes, and the same name in several databases.
CREATE VIRTUAL TABLE "My ""odd"".table" USING ptable(V Int32);
INSERT INTO "My ""odd"".table" VALUES ('odd', '1', 1);
CREATE VIRTUAL TABLE temp.Employee USING ptable(V Int32);
INSERT INTO temp.Employee VALUES ('temp', '1', 1);
SELECT PartitionKey FROM pt_partitions('My "odd".table');
SELECT PartitionKey FROM pt_partitions('employee');
SELECT count(*) FROM pt_partitions('MAIN.employee');
DROP TABLE temp.Employee;

-- What is not there, and what is not said.
CREATE TABLE Plain(v);
SELECT * FROM pt_partitions('Plain');
SELECT * FROM pt_partitions('Nobody');
SELECT * FROM pt_partitions('other.Employee');
SELECT * FROM pt_partitions('contoso.ptable', 'Nobody');
SELECT * FROM pt_partitions('nowhere.ptable', 'Employee');
SELECT * FROM pt_partitions;
SELECT * FROM pt_partitions WHERE argument2 = 'Employee';
SELECT count(*) FROM pt_partitions(NULL);
SELECT count(*) FROM pt_partitions('contoso.ptable', NULL);
SELECT * FROM pt_partitions('a', 'b', 'c');

-- pt_properties, for a table that one does not know: every name and type that occurs, in how many
-- entities, and what a value looks like.
CREATE VIRTUAL TABLE Thing USING ptable;
INSERT INTO Thing VALUES
  ('a', '1', '{"Name":"Kettle","Price":12.5,"Stock":7}'),
  ('a', '2', '{"Name":"Toaster","Price":40,"Stock":0,"Sold":true}'),
  ('a', '3', '{"Name":"A very long name that goes on and on without coming to an end","Stock":3000000000}'),
  ('b', '1', '{"Made":"2026-11-21","Made@odata.type":"Edm.DateTime",
     "Id":"0f8fad5b-d9cb-469f-a165-70867728950e","Id@odata.type":"Edm.Guid",
     "Raw":"AP8=","Raw@odata.type":"Edm.Binary","Rate":"NaN","Rate@odata.type":"Edm.Double"}'),
  ('b', '2', NULL);
SELECT * FROM pt_properties('Thing');
SELECT Name FROM pt_properties('Thing') GROUP BY Name HAVING count(*) > 1;
-- The columns of a ptable that shows them all.
SELECT group_concat(Name || ' ' || Type, ', ') FROM pt_properties('Thing') WHERE Share >= 0.4;
BEGIN;
UPDATE Thing SET Properties = '{"New":1}' WHERE PartitionKey = 'b';
SELECT * FROM pt_properties('Thing') WHERE Name = 'New' OR Type = 'Guid';
DELETE FROM Thing;
SELECT count(*) FROM pt_properties('Thing');
ROLLBACK;
SELECT Name, Type, Example FROM pt_properties('contoso.ptable', 'Employee');
SELECT * FROM pt_properties('Nobody');
SELECT * FROM pt_properties;

-- Large values are counted whole, and shown by their size.
CREATE VIRTUAL TABLE Document USING ptable(Body, Note);
INSERT INTO Document VALUES ('d', '1', printf('%100000c', 'x'), 'short'), ('d', '2', zeroblob(5000), NULL);
SELECT Entities, Bytes > 105000, Bytes < 106000 FROM pt_partitions('Document');
SELECT * FROM pt_properties('Document');
SELECT Entities, Bytes > 105000 FROM pt_tables WHERE TableName = 'Document';

-- A name without a schema is the one that SQLite finds first: here an ordinary table and a view.
ATTACH 'other.db' AS other;
CREATE VIRTUAL TABLE other.Twice USING ptable(V);
CREATE TABLE main.Twice(V);
SELECT count(*) FROM pt_partitions('Twice');
SELECT count(*) FROM pt_partitions('other.Twice');
DROP TABLE main.Twice;
SELECT count(*) FROM pt_partitions('TWICE');
CREATE TEMP VIEW Twice AS SELECT 1;
SELECT count(*) FROM pt_partitions('Twice');
