-- Large entities
-- Problem: an employee has a photo of 200,000 bytes. The Table service takes 65,536 bytes in a
--   Binary property, 32,768 characters in a String, and 1 MiB in an entity.
-- Solution: the photo is stored outside, on the service in a blob, here in a file. A property holds
--   its address.
-- When: the service's limits apply, or other programs need the file. Else it may stay inside.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Employee USING ptable(FirstName String, Photo String);
SELECT writefile('build/000223.jpg', zeroblob(200000)) AS "bytes written";    -- first the file
INSERT INTO Employee VALUES ('Sales', '000223', 'Jun', 'build/000223.jpg');   -- then the entity
SELECT FirstName, Photo, length(readfile(Photo)) AS size FROM Employee
  WHERE PartitionKey = 'Sales' AND RowKey = '000223';

-- In detail, in a new database
--
-- Keys: PartitionKey  the department: 'Sales'
--       RowKey        the employee's id: '000223'
-- Costs: file and entity are not written in one transaction. A job must look for one without the
--   other.
-- Better in SQL: a property may have any size. Values over 2,000 bytes are stored beside the
--   entity's record and are read only when a statement asks for them, so the photo can stay inside.
.open :memory:
.load ./ptable
.nullvalue NULL
.shell rm -rf build/photos

.print
.print == Outside: first the file, then the entity
-- So no entity names a file that does not exist yet. (The shell's writefile writes a file and
-- returns the number of bytes; readfile reads it.)
CREATE VIRTUAL TABLE Employee USING ptable(FirstName String, Photo String, limits='azure');
SELECT writefile('build/photos/000223.jpg', zeroblob(200000)) AS "bytes written";
INSERT INTO Employee VALUES ('Sales', '000223', 'Jun', 'build/photos/000223.jpg');
SELECT FirstName, Photo, length(readfile(Photo)) AS size FROM Employee
  WHERE PartitionKey = 'Sales' AND RowKey = '000223';

.print
.print == One without the other
-- A rollback undoes the entity but not the file.
BEGIN;
SELECT writefile('build/photos/000312.jpg', zeroblob(150000)) AS "bytes written";
INSERT INTO Employee VALUES ('Sales', '000312', 'Ken', 'build/photos/000312.jpg');
ROLLBACK;
-- Delete in the other order, first the entity and then the file; a crash in between leaves a file.
-- A file that no entity names can be deleted once it is so old that no entity is about to name it.
-- (The shell's fsdir lists a folder.)
SELECT name AS "files without an entity" FROM fsdir('build/photos')
  WHERE lsmode(mode) GLOB '-*' AND name NOT IN (SELECT Photo FROM Employee WHERE Photo IS NOT NULL);
-- An entity whose file someone has removed: readfile returns NULL.
INSERT INTO Employee VALUES ('Sales', '000401', 'Ann', 'build/photos/000401.jpg');
SELECT RowKey AS "entities without their file" FROM Employee
  WHERE Photo IS NOT NULL AND readfile(Photo) IS NULL;

.print
.print == Inside, within the service's limits
-- 64 KiB and no more, and 1 MiB for the whole entity.
CREATE VIRTUAL TABLE Small USING ptable(Photo Binary, Text String, limits='azure');
INSERT INTO Small(PartitionKey, RowKey, Photo) VALUES ('Sales', '000223', zeroblob(65536));
INSERT INTO Small(PartitionKey, RowKey, Photo) VALUES ('Sales', '000224', zeroblob(65537));
INSERT INTO Small(PartitionKey, RowKey, Photo)
  VALUES ('Sales', '000224', readfile('build/photos/000223.jpg'));
INSERT INTO Small(PartitionKey, RowKey, Text) VALUES ('Sales', '000224', printf('%.32769c', 'x'));
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 17)
INSERT INTO Small(PartitionKey, RowKey, Properties)
  SELECT 'Sales', '000224', json_group_object('Text' || i, printf('%.32000c', 'x')) FROM n;
SELECT RowKey, length(Photo) AS size FROM Small;

.print
.print == Inside, without these limits
-- Photo and name are one entity and one transaction: nothing is left over after a rollback, and
-- nothing is missing after a commit.
CREATE VIRTUAL TABLE Whole USING ptable(FirstName String, Photo Binary);
INSERT INTO Whole VALUES ('Sales', '000223', 'Jun', readfile('build/photos/000223.jpg'));
SELECT FirstName, length(Photo) AS size, Photo = readfile('build/photos/000223.jpg') AS same
  FROM Whole WHERE PartitionKey = 'Sales' AND RowKey = '000223';

.print
.print == A change of the name does not write the photo
-- pt_batches says what the open transaction is going to write.
BEGIN;
UPDATE Whole SET FirstName = 'June' WHERE PartitionKey = 'Sales' AND RowKey = '000223';
SELECT Operations, Bytes FROM pt_batches;
-- Nor does a change of the keys, which the service does not have at all.
UPDATE Whole SET PartitionKey = 'Marketing' WHERE PartitionKey = 'Sales' AND RowKey = '000223';
SELECT PartitionKey, Operations, Bytes FROM pt_batches;
SELECT PartitionKey, RowKey, FirstName, length(Photo) AS size FROM Whole;
ROLLBACK;

.print
.print == Statements that do not ask for the photo do not read it
-- A connection that accepts at most 50,000 bytes shows this: only the last statement fails.
.limit length 50000
SELECT RowKey, FirstName FROM Whole WHERE PartitionKey = 'Sales';
SELECT count(*) AS employees FROM Whole WHERE FirstName = 'Jun';
SELECT Photo FROM Whole WHERE PartitionKey = 'Sales' AND RowKey = '000223';
.limit length 1000000000

.print
.print == Copies of the entity
-- A second copy, such as one for an index, has a photo of its own if the photo is inside. The
-- address is the same for all copies.
BEGIN;
INSERT OR ROLLBACK INTO Whole
  SELECT PartitionKey, 'email_jonesj@contoso.com', FirstName, Photo FROM Whole;
INSERT OR ROLLBACK INTO Employee
  SELECT PartitionKey, 'email_jonesj@contoso.com', FirstName, Photo FROM Employee
  WHERE PartitionKey = 'Sales' AND RowKey = '000223';
SELECT TableName, Operations, Bytes FROM pt_batches;
ROLLBACK;

.print
.print == Which one?
-- Inside, as long as photos are read and written whole: a transaction is held in memory until it
-- commits, under three times its data, and a value has at most 1,000,000,000 bytes. Outside for
-- photos that are streamed, read in parts, or served by a web server. The space that the tables
-- use:
SELECT TableName, Entities, Bytes FROM pt_tables WHERE TableName IN ('Employee', 'Whole');

.shell rm -rf build/photos
