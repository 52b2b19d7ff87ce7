-- Together with tables of this database and its store.
.load ./ptable
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
CREATE VIRTUAL TABLE Employee USING pt_service(FirstName String, Age Int32, account=hr);
CREATE TABLE Wanted(department, id, note);
INSERT INTO Wanted VALUES ('Sales', '000223', 'first'), ('Sales', '000312', 'second'), ('Marketing', '000150', 'third'), ('None', '1', 'none');
SELECT note, FirstName FROM Wanted JOIN Employee ON PartitionKey = department AND RowKey = id ORDER BY note;
SELECT note, FirstName FROM Wanted LEFT JOIN Employee ON PartitionKey = department AND RowKey = id ORDER BY note;
SELECT FirstName FROM Employee WHERE PartitionKey = 'Sales' AND RowKey IN (SELECT id FROM Wanted) ORDER BY RowKey;
SELECT FirstName, (SELECT note FROM Wanted WHERE department = PartitionKey AND id = RowKey) FROM Employee WHERE Age > 20 ORDER BY 1;
SELECT count(*) FROM Employee AS a JOIN Employee AS b ON b.PartitionKey = a.PartitionKey AND b.RowKey > a.RowKey WHERE a.PartitionKey = 'Sales';

-- a backup of the service's table, with every property and type
CREATE VIRTUAL TABLE Local USING ptable(limits='azure');
INSERT INTO Local(PartitionKey, RowKey, Properties) SELECT PartitionKey, RowKey, Properties FROM Employee;
SELECT count(*), changes() FROM Local;
SELECT PartitionKey, RowKey, Properties FROM Local;
SELECT count(*) FROM Local AS l JOIN Employee AS e ON e.PartitionKey = l.PartitionKey AND e.RowKey = l.RowKey AND (SELECT group_concat(key || '=' || value, ' ') FROM (SELECT key, value FROM json_each(e.Properties) ORDER BY key)) = (SELECT group_concat(key || '=' || value, ' ') FROM (SELECT key, value FROM json_each(l.Properties) ORDER BY key));
CREATE VIRTUAL TABLE Many USING pt_service(account=hr);
CREATE VIRTUAL TABLE ManyHere USING ptable(n Int32, m Int32);
INSERT INTO ManyHere(PartitionKey, RowKey, Properties) SELECT PartitionKey, RowKey, Properties FROM Many;
SELECT count(*), sum(n), sum(m) FROM ManyHere;
CREATE TABLE Ordinary AS SELECT * FROM Employee WHERE PartitionKey = 'Sales';
SELECT count(*) FROM Ordinary;
