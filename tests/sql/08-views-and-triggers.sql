-- Views over ptables, written to by INSTEAD OF triggers; ordinary tables whose triggers write ptables.
.load ./ptable
.nullvalue NULL

-- One table holds employees and their reviews, told apart by their RowKey; a view for each.
CREATE VIRTUAL TABLE Staff USING ptable(Name String, Rating Int32);
CREATE VIEW Employee AS SELECT PartitionKey AS Department, pt_key_part(RowKey, 2) AS Id, Name
  FROM Staff WHERE pt_starts_with(RowKey, 'empid_');
CREATE VIEW Review AS SELECT PartitionKey AS Department, pt_key_part(RowKey, 2) AS Id,
  pt_key_part(RowKey, 3) AS Year, Rating FROM Staff WHERE pt_starts_with(RowKey, 'review_');

CREATE TRIGGER EmployeeInsert INSTEAD OF INSERT ON Employee BEGIN
  INSERT INTO Staff(PartitionKey, RowKey, Name)
    VALUES (new.Department, pt_compound_key('empid', new.Id), new.Name);
END;
CREATE TRIGGER EmployeeUpdate INSTEAD OF UPDATE ON Employee BEGIN
  UPDATE Staff SET PartitionKey = new.Department, RowKey = pt_compound_key('empid', new.Id), Name = new.Name
    WHERE PartitionKey = old.Department AND RowKey = pt_compound_key('empid', old.Id);
END;
CREATE TRIGGER EmployeeDelete INSTEAD OF DELETE ON Employee BEGIN
  DELETE FROM Staff WHERE PartitionKey = old.Department AND RowKey = pt_compound_key('empid', old.Id);
  DELETE FROM Staff WHERE PartitionKey = old.Department
    AND pt_starts_with(RowKey, pt_compound_key('review', old.Id, ''));
END;
CREATE TRIGGER ReviewInsert INSTEAD OF INSERT ON Review BEGIN
  INSERT INTO Staff(PartitionKey, RowKey, Rating)
    VALUES (new.Department, pt_compound_key('review', new.Id, new.Year), new.Rating);
END;

INSERT INTO Employee VALUES
  ('Sales', '000123', 'Ann'), ('Sales', '000124', 'Bob'), ('Legal', '000125', 'Eve');
INSERT INTO Review VALUES
  ('Sales', '000123', 2025, 4), ('Sales', '000123', 2026, 5), ('Sales', '000124', 2026, 3);
SELECT * FROM Staff;
SELECT * FROM Employee;
SELECT Name, Year, Rating FROM Employee JOIN Review USING (Department, Id) ORDER BY Name, Year;
UPDATE Employee SET Name = 'Anna' WHERE Id = '000123';
UPDATE Employee SET Department = 'Sales' WHERE Id = '000125';
DELETE FROM Employee WHERE Id = '000124';
SELECT * FROM Staff;

-- A condition on the view reaches the keys of the table.
EXPLAIN QUERY PLAN SELECT * FROM Employee WHERE Department = 'Sales';

-- An error in a trigger takes the whole statement back.
INSERT INTO Employee VALUES ('Sales', '000200', 'Max'), ('Sales', '000123', 'Twice');
SELECT count(*) FROM Employee;

-- An ordinary table keeps an index of names in a ptable and a log tail in another.
CREATE TABLE Account(Id INTEGER PRIMARY KEY, Email TEXT);
CREATE VIRTUAL TABLE Login USING ptable(AccountId Int64);
CREATE VIRTUAL TABLE Audit USING ptable(What String);
CREATE TRIGGER AccountInsert AFTER INSERT ON Account BEGIN
  INSERT INTO Login VALUES (lower(new.Email), '', new.Id);
  INSERT INTO Audit VALUES (new.Id, pt_inverted_ticks(), 'created');
END;
CREATE TRIGGER AccountUpdate AFTER UPDATE OF Email ON Account BEGIN
  UPDATE Login SET PartitionKey = lower(new.Email) WHERE PartitionKey = lower(old.Email);
  INSERT INTO Audit VALUES (new.Id, pt_inverted_ticks(), 'moved to ' || new.Email);
END;
CREATE TRIGGER AccountDelete AFTER DELETE ON Account BEGIN
  DELETE FROM Login WHERE PartitionKey = lower(old.Email);
END;

INSERT INTO Account VALUES (1, 'Ann@example.org'), (2, 'bob@example.org');
UPDATE Account SET Email = 'ann@example.com' WHERE Id = 1;
DELETE FROM Account WHERE Id = 2;
SELECT * FROM Login;
SELECT PartitionKey, What FROM Audit;

-- The ptable's key makes e-mail addresses unique; the account and its log entry are not written either.
INSERT INTO Account VALUES (3, 'ANN@example.com');
SELECT count(*) FROM Account;
SELECT count(*) FROM Audit;
-- OR IGNORE reaches into the trigger: the account is written, its login is passed over.
INSERT OR IGNORE INTO Account VALUES (4, 'ANN@example.com');
SELECT (SELECT count(*) FROM Account), (SELECT count(*) FROM Login), (SELECT count(*) FROM Audit);

-- All of it is one transaction.
BEGIN;
INSERT INTO Account VALUES (5, 'eve@example.org');
SELECT count(*) FROM Login;
ROLLBACK;
SELECT count(*) FROM Login;

-- A virtual table itself has neither triggers nor indexes.
CREATE TRIGGER T AFTER INSERT ON Staff BEGIN SELECT 1; END;
CREATE INDEX I ON Staff(Name);
