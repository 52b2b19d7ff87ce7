-- .import into a table with limits='azure': a row over a limit is left out with a message that names
-- line, column and limit; the rows around it are imported.
.load ./ptable
.nullvalue NULL
.mode list
.headers off
CREATE VIRTUAL TABLE Parcel USING ptable(
  Sender String, Weight Double, Count Int32, Fragile Boolean, Sent DateTime, Id Guid,
  limits='azure');

.once parcels.csv
SELECT 'PartitionKey,RowKey,Sender,Weight,Count,Fragile,Sent,Id
2026-11,0001,Müller,12.5,3,true,2026-11-21,0f8fad5b-d9cb-469f-a165-70867728950e
2026-11,0002,,,,,,
2026/11,0003,slash in the key,1,1,1,2026-11-21,
2026-11,is it 4?,question mark,1,1,1,2026-11-21,
2026-11,0005,too early,1,1,1,1600-12-31,
2026-11,0006,' || printf('%.32769c', 'x') || ',1,1,1,2026-11-21,
2026-11,' || printf('%.513c', '7') || ',long key,1,1,1,2026-11-21,
2026-11,0008,twelve,twelve,1,1,2026-11-21,
2026-11,0009,' || printf('%.32768c', 'x') || ',1,1,1,1601-01-01,
2026-11,0010,short';
.import --csv --skip 1 parcels.csv Parcel
SELECT RowKey, length(Sender), Weight, Count, Fragile, Sent, Id FROM Parcel;

-- Empty fields are absent properties, but for those of type String; short lines are filled with NULL.
SELECT RowKey, Properties FROM Parcel WHERE RowKey IN ('0002', '0010');

-- .import is one transaction: into a table with batch='azure' it is one batch, too, and the lines
-- that do not belong to it are left out.
CREATE VIRTUAL TABLE Team USING ptable(v Int32, limits='azure', batch='azure');
.once team.csv
SELECT 'p,1,1
p,2,2
q,3,3
p,a/b,4
p,2,5
p,6,';
.import --csv team.csv Team
SELECT PartitionKey, RowKey, v FROM Team;
