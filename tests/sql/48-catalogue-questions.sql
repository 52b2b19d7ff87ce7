-- Questions to the catalogue, to tables of many columns and to one partition, asked in ways that are rare but right.
.open contoso.db
.load ./ptable
CREATE VIRTUAL TABLE Employee USING ptable(FirstName String, Age Int32);
INSERT INTO Employee VALUES ('Marketing', '00001', 'Don', 34), ('Marketing', '00002', 'Jun', 47), ('Sales', '00010', 'Ken', 23);
CREATE VIRTUAL TABLE temp.Draft USING ptable(Age Int32);
CREATE VIRTUAL TABLE Old USING ptable(Age Int32, store='archive.ptable');
CREATE TABLE Ask(Store, Name, PartitionKey);
INSERT INTO Ask VALUES ('archive.ptable', 'Old', 'Sales'), ('(private temp)', 'Draft', 'Marketing'), ('(private nobody)', 'T', 'Nobody');

-- A store that another table names, twice.
SELECT Ask.Name, Entities FROM Ask JOIN pt_tables AS t ON t.Store = Ask.Store AND t.Store = trim(Ask.Store) WHERE Ask.Name <> 'T';
SELECT TableName FROM pt_tables WHERE Store = '(private nobody)';
SELECT TableName FROM pt_tables WHERE Store IS '(private temp)' AND TableName IS 'DRAFT';
SELECT TableName FROM pt_tables WHERE Store = x'00';
-- Names that no table has.
SELECT count(*) FROM pt_tables WHERE TableName = printf('%.600c', 'x');
SELECT count(*) FROM pt_tables WHERE TableName = 5 OR TableName = 5.5 OR TableName = x'00' OR TableName IS NULL;
SELECT TableName FROM pt_tables WHERE TableName IN ('employee', 'draft', 7);
SELECT TableName FROM pt_tables WHERE TableName COLLATE RTRIM = 'Employee  ';
SELECT TableName FROM pt_tables WHERE Entities = 3;

-- Arguments of functions are conditions on hidden columns.
SELECT PartitionKey FROM pt_partitions WHERE argument1 IS 'Employee';
SELECT PartitionKey FROM pt_partitions('Employee') WHERE argument1 > 'E';
SELECT count(*) FROM pt_partitions(NULL, NULL);
SELECT count(*) FROM pt_partitions(NULL, 'Employee');
SELECT p.PartitionKey, Entities FROM Ask JOIN pt_partitions('Employee') AS p ON p.PartitionKey = Ask.PartitionKey ORDER BY 1;
SELECT p.PartitionKey, Entities FROM pt_partitions('Employee') AS p LEFT JOIN Ask ON p.PartitionKey = Ask.PartitionKey AND Ask.Name = 'Old';
SELECT PartitionKey FROM pt_partitions('Employee') WHERE PartitionKey IN ('Nobody', 'Sales', 'Zoe') ORDER BY PartitionKey DESC;
SELECT PartitionKey FROM pt_partitions('Employee') WHERE PartitionKey LIKE 'S%' AND PartitionKey GLOB 'S*';

-- A table whose Filter another one gives is read behind that one.
CREATE TABLE Wanted(What);
INSERT INTO Wanted VALUES ('Age lt 30'), ('Age gt 40');
SELECT What, FirstName FROM Employee JOIN Wanted ON Employee.Filter = Wanted.What;

-- A key with a NUL is nobody's.
SELECT count(*) FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '00010' || char(0);
SELECT count(*) FROM Employee WHERE PartitionKey = 'Sales' || char(0) AND RowKey = '00010';
SELECT count(*) FROM Employee WHERE PartitionKey = 'Sales' || char(0);
SELECT count(*) FROM Employee WHERE EntityKey > zeroblob(1) AND EntityKey < zeroblob(0);
SELECT count(*) FROM Employee WHERE EntityKey > zeroblob(0);

-- Only keys are read of a table with more columns than SQLite tells apart.
CREATE VIRTUAL TABLE Wide USING ptable(c01, c02, c03, c04, c05, c06, c07, c08, c09, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20,
  c21, c22, c23, c24, c25, c26, c27, c28, c29, c30, c31, c32, c33, c34, c35, c36, c37, c38, c39, c40, c41, c42, c43, c44, c45, c46, c47,
  c48, c49, c50, c51, c52, c53, c54, c55, c56, c57, c58, c59, c60, c61, c62, c63, c64, c65, c66);
INSERT INTO Wide(PartitionKey, RowKey, c66) VALUES ('a', '1', 66), ('a', '2', 67), ('b', '1', 68);
SELECT PartitionKey, RowKey FROM Wide;
SELECT RowKey, c66 FROM Wide WHERE PartitionKey = 'a';
SELECT DISTINCT PartitionKey FROM Wide ORDER BY PartitionKey DESC;
SELECT DISTINCT PartitionKey FROM Employee WHERE PartitionKey < 'Sales' ORDER BY PartitionKey DESC;

-- A table that only reads has no store to write to, and takes part in the transaction all the same.
CREATE VIRTUAL TABLE Later USING ptable(Age Int32, store='later.ptable', readonly=1);
BEGIN;
CREATE VIRTUAL TABLE Much_later USING ptable(Age Int32, store='much-later.ptable', readonly=1);
SAVEPOINT a;
INSERT INTO Employee VALUES ('Sales', '00011', 'Eve', 61);
INSERT INTO Much_later VALUES ('a', '1', 1);
SAVEPOINT b;
RELEASE b;
ROLLBACK TO a;
RELEASE a;
COMMIT;
SELECT count(*) FROM Employee;
SELECT count(*) FROM Much_later;

-- The transaction's batches, while the catalogue changes under them.
BEGIN;
UPDATE Employee SET Age = Age + 1;
INSERT INTO pt_tables(TableName) VALUES ('Next');
SELECT TableName, PartitionKey, Operations FROM pt_batches;
DELETE FROM pt_tables WHERE TableName = 'Employee';
SELECT TableName, PartitionKey, Operations FROM pt_batches;
ROLLBACK;

-- A row with a large value is changed: the value that stays is not written again.
CREATE VIRTUAL TABLE Document USING ptable(Body, Note);
INSERT INTO Document VALUES ('d', '1', printf('%.100000c', 'x'), 'short');
BEGIN;
INSERT INTO Document VALUES ('e', '1', printf('%.50000c', 'y'), NULL);
UPDATE Document SET Note = 'shorter' WHERE PartitionKey = 'd';
SELECT PartitionKey, Operations, Bytes > 50000 FROM pt_batches;
ROLLBACK;

-- A folder is no database whose file could have the store's name.
.shell mkdir folder
CREATE VIRTUAL TABLE InFolder USING ptable(Age Int32, store='folder-wal');
SELECT count(*) FROM InFolder;

-- A copy cannot be named as a lock file is.
SELECT pt_backup('contoso.db-ptable', 'backup-lock');

-- Messages are not taken from a queue of a database that was opened read-only.
CREATE VIRTUAL TABLE jobs USING pt_queue;
INSERT INTO jobs(Body) VALUES ('wash');
.open --readonly contoso.db
.load ./ptable
SELECT Body FROM pt_queue_get('jobs');
SELECT Body FROM jobs;
