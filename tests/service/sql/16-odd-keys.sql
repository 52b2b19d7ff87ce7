-- Deletes of entities whose keys look like parts of an address. The emulator misreads them in batches.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'Odd');
CREATE VIRTUAL TABLE Odd USING pt_service(n Int32, account=hr);
CREATE TEMP TABLE Keys AS SELECT column1 AS pk, column2 AS rk FROM (VALUES ('p', 'x'',y'), ('p'',q', 'x'), ('p', 'x' || char(8232) || 'y'), ('p', 'RowKey=''x'), ('p', 'x'')'), ('', ''));
SELECT quote(pk), quote(rk) FROM Keys WHERE rk NOT LIKE '%' || char(8232) || '%';
-- by a statement, with the ETag that it has read
INSERT INTO Odd(PartitionKey, RowKey, n) SELECT pk, rk, 1 FROM Keys WHERE rowid = 1;
INSERT INTO Odd(PartitionKey, RowKey, n) SELECT pk, rk, 2 FROM Keys WHERE rowid = 2;
INSERT INTO Odd(PartitionKey, RowKey, n) SELECT pk, rk, 3 FROM Keys WHERE rowid = 3;
INSERT INTO Odd(PartitionKey, RowKey, n) SELECT pk, rk, 4 FROM Keys WHERE rowid = 4;
INSERT INTO Odd(PartitionKey, RowKey, n) SELECT pk, rk, 5 FROM Keys WHERE rowid = 5;
INSERT INTO Odd(PartitionKey, RowKey, n) SELECT pk, rk, 6 FROM Keys WHERE rowid = 6;
SELECT sum(n) FROM Odd;
DELETE FROM Odd WHERE PartitionKey = 'p' AND RowKey = 'x'',y';
DELETE FROM Odd WHERE PartitionKey = 'p'',q' AND RowKey = 'x';
DELETE FROM Odd WHERE PartitionKey = 'p' AND RowKey = 'x' || char(8232) || 'y';
DELETE FROM Odd WHERE PartitionKey = 'p' AND RowKey = 'RowKey=''x';
DELETE FROM Odd WHERE PartitionKey = 'p' AND RowKey = 'x'')';
DELETE FROM Odd WHERE PartitionKey = '' AND RowKey = '';
SELECT n FROM Odd;
-- whatever is there, and no other entity for it
INSERT INTO Odd(PartitionKey, RowKey, n) SELECT pk, rk, 1 FROM Keys WHERE rowid = 1;
INSERT INTO Odd(PartitionKey, RowKey, n) SELECT pk, rk, 3 FROM Keys WHERE rowid = 3;
INSERT INTO Odd(PartitionKey, RowKey, n) VALUES ('p', '', 7);
INSERT INTO Odd(PartitionKey, RowKey, WriteMode) SELECT pk, rk, 'delete' FROM Keys WHERE rowid = 1;
INSERT INTO Odd(PartitionKey, RowKey, WriteMode) SELECT pk, rk, 'delete' FROM Keys WHERE rowid = 3;
INSERT INTO Odd(PartitionKey, RowKey, WriteMode) SELECT pk, rk, 'delete' FROM Keys WHERE rowid = 4;
SELECT n FROM Odd;
DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName = 'Odd';
