-- .import of CSV files: it sends only text, '' for an empty field, and NULL where a line is short.
.load ./ptable
.nullvalue NULL
CREATE VIRTUAL TABLE Orders USING ptable(
  Customer String, Amount Double, Count Int32, Paid Boolean, Due DateTime, Note String);

-- A file with keys, an empty field of each type, quotes, a comma, a line break, letters beyond ASCII.
.mode list
.headers off
.once orders.csv
SELECT 'PartitionKey,RowKey,Customer,Amount,Count,Paid,Due,Note
2026-11,0001,Müller,12.50,3,true,2026-11-21,plain
2026-11,0002,"O''Neil, Pat",1e3,+4,0,2026-11-21 08:43:22.5,"says ""hi"""
2026-11,0003,,,,,,
2026-12,0001,日本,-0.5,0,FALSE,2026-12-24T18:00:00Z,"two
lines"';
.import --csv --skip 1 orders.csv Orders
.mode box
SELECT RowKey, Customer, Amount, Count, Paid, Due, Note FROM Orders;
.mode list

-- Empty fields are absent properties, but for those of type String.
SELECT Properties FROM Orders WHERE RowKey = '0003';
SELECT count(*), count(Amount), sum(Amount), sum(Paid), max(Due) FROM Orders;

-- A table with no declared column takes a third column of JSON; an empty field is no properties.
CREATE VIRTUAL TABLE Loose USING ptable();
.once loose.csv
SELECT 'p,1,"{""Age"":34}"
p,2,{}
p,3,';
.import --csv loose.csv Loose
SELECT * FROM Loose;

-- A line that does not fit is left out, with a message; the lines around it are imported.
.once wrong.csv
SELECT '2027-01,0001,good,1,1,1,2027-01-01,
2027-01,0002,bad amount,twelve,1,1,2027-01-01,
2027-01,0003,bad date,1,1,1,2027-02-30,
2027-01,0004,good,1,1,1,2027-01-01,
2027-01,0001,exists,1,1,1,2027-01-01,';
.import --csv wrong.csv Orders
SELECT RowKey, Customer FROM Orders WHERE PartitionKey = '2027-01';

-- A short line is filled with NULL.
.once short.csv
SELECT '2027-02,0001,short';
.import --csv short.csv Orders
SELECT * FROM Orders WHERE PartitionKey = '2027-02';

-- Other orders of columns, and computed keys, go through a table of SQLite's own.
.once visits.csv
SELECT 'when,who,minutes
2026-11-21 08:00,Ann,30
2026-11-21 09:00,Bob,
2026-11-22 10:00,Ann,45';
.import --csv visits.csv VisitRaw
CREATE VIRTUAL TABLE Visit USING ptable(At DateTime, Minutes Int32);
INSERT INTO Visit SELECT who, pt_inverted_ticks("when"), "when", minutes FROM VisitRaw;
SELECT * FROM Visit;

-- And out again, with the types that JSON keeps.
.mode csv
.headers on
SELECT PartitionKey, RowKey, Customer, Amount FROM Orders WHERE PartitionKey = '2026-11';
.mode json
SELECT RowKey, Properties FROM Orders WHERE PartitionKey = '2026-12';
