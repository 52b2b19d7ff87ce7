-- Filter: conditions as the Table service's $filter writes them, with its logic.
.load ./ptable
CREATE VIRTUAL TABLE Employee USING ptable(Name String, Age Int32, Active Boolean);
INSERT INTO Employee VALUES ('Marketing', '01', 'Ann', 51, 1), ('Marketing', '02', 'Ben', 29, 0),
                            ('Sales', '01', 'Cem', 34, 1), ('Sales', '02', 'Dee', NULL, 1),
                            ('Sales', '03', 'O''Neil', 30, NULL), ('Sales', '04', NULL, 23, 0);

-- As a condition, or as the argument of the table. A ' inside SQL's text is written twice.
SELECT PartitionKey, RowKey, Name, Age FROM Employee WHERE Filter MATCH 'Age gt 30';
SELECT PartitionKey, RowKey, Name FROM Employee('Age gt 30');
SELECT RowKey FROM Employee('Name eq ''Cem''');

-- eq ne gt ge lt le; the constant may stand left.
SELECT group_concat(Name) FROM Employee('Age eq 30');
SELECT group_concat(Name) FROM Employee('Age ge 30');
SELECT group_concat(Name) FROM Employee('Age lt 30');
SELECT group_concat(Name) FROM Employee('Age le 30');
SELECT group_concat(Name) FROM Employee('30 lt Age');

-- not binds before and, and before or; parentheses group.
SELECT group_concat(Name) FROM Employee('not Age gt 30 and Age gt 25');
SELECT group_concat(Name) FROM Employee('Age lt 30 or Age gt 40 and Active');
SELECT group_concat(Name) FROM Employee('(Age lt 30 or Age gt 40) and Active');

-- A Boolean property stands alone; so do true and false. Nothing is everything.
SELECT group_concat(Name) FROM Employee('Active');
SELECT group_concat(Name) FROM Employee('not Active');
SELECT count(*) FROM Employee('true');
SELECT count(*) FROM Employee('false');
SELECT count(*) FROM Employee('');
SELECT count(*) FROM Employee('  ');

-- A ' in a constant is written twice, and in SQL each of them again: better is a parameter.
SELECT RowKey FROM Employee('Name eq ''O''''Neil''');
.parameter set :filter "'Name eq ''O''''Neil'' or Age gt 50'"
SELECT Name FROM Employee WHERE Filter MATCH :filter;

-- Names count with their case, and a property need not be declared.
INSERT INTO Employee(PartitionKey, RowKey, Properties) VALUES ('Sales', '05', '{"Name":"Fay","Badge":7}');
SELECT group_concat(Name) FROM Employee('Badge ge 7');
SELECT group_concat(Name) FROM Employee('badge ge 7');
-- A name that differs from a column's only in case would find nothing, so it is an error.
SELECT Name FROM Employee WHERE Filter MATCH 'age gt 30';
SELECT Name FROM Employee('Badge ge 7 or 30 lt AGE');
SELECT Name, Filter MATCH 'not active' FROM Employee;
SELECT Name FROM Employee WHERE Name = 'Ann' OR NOT (Filter MATCH 'Active and name eq ''Ben''');
SELECT Name FROM Employee('partitionKey eq ''Sales''');
SELECT Name FROM Employee('rowkey eq ''01''');
SELECT Name FROM Employee('TimeStamp gt datetime''2000-01-01T00:00:00Z''');
UPDATE Employee SET Age = 0 WHERE Filter MATCH 'age gt 30';
DELETE FROM Employee WHERE Filter MATCH 'age gt 30';

-- Two-valued logic: a comparison with a property that an entity lacks is false, with ne too. With
-- not before it, it is true: SQL's own conditions know a third value there.
SELECT group_concat(Name) FROM Employee('Age ne 30');
SELECT group_concat(Name) FROM Employee('not (Age eq 30)');
SELECT group_concat(Name) FROM Employee WHERE NOT (Age = 30);
-- Of a present property one of these is true; so these are the entities without Age.
SELECT group_concat(Name) FROM Employee('not (Age ge '''' or Age lt '''')');
SELECT group_concat(Name) FROM Employee WHERE Age IS NULL;

-- Constants of all types, against each type.
CREATE VIRTUAL TABLE V USING ptable(v);
CREATE VIRTUAL TABLE Typed USING ptable(s String, i Int32, l Int64, d Double, b Boolean, t DateTime, g Guid, x Binary, table=V);
INSERT INTO Typed(PartitionKey, RowKey, s) VALUES ('', 'String', 'b');
INSERT INTO Typed(PartitionKey, RowKey, i) VALUES ('', 'Int32', 5);
INSERT INTO Typed(PartitionKey, RowKey, l) VALUES ('', 'Int64', 5);
INSERT INTO Typed(PartitionKey, RowKey, d) VALUES ('', 'Double', 5);
INSERT INTO Typed(PartitionKey, RowKey, b) VALUES ('', 'Boolean', 1);
INSERT INTO Typed(PartitionKey, RowKey, t) VALUES ('', 'DateTime', '2026-11-21 08:43:22.5484454');
INSERT INTO Typed(PartitionKey, RowKey, g) VALUES ('', 'Guid', '0f8fad5b-d9cb-469f-a165-70867728950e');
INSERT INTO Typed(PartitionKey, RowKey, x) VALUES ('', 'Binary', x'0a1b');
SELECT RowKey FROM Typed('s ge ''a'' and s lt ''c''');
SELECT RowKey FROM Typed('i eq 5');
SELECT RowKey FROM Typed('l eq 5L');
SELECT RowKey FROM Typed('d eq 5.0');
SELECT RowKey FROM Typed('d gt 49e-1 and d lt 5.01D');
SELECT RowKey FROM Typed('b eq true');
SELECT RowKey FROM Typed('t eq datetime''2026-11-21T08:43:22.5484454Z''');
SELECT RowKey FROM Typed('t gt datetime''2026-11-21T08:43:22.5484453Z''');
SELECT RowKey FROM Typed('g eq guid''0F8FAD5B-D9CB-469F-A165-70867728950E''');
SELECT RowKey FROM Typed('x eq X''0a1b'' and x eq binary''0A1B'' and x gt X''0a''');

-- The constant is widened to the property's type: Int32 to Int64 and Double, Int64 to Double.
SELECT RowKey FROM Typed('l eq 5 or d eq 5');
SELECT RowKey FROM Typed('d eq 5L');
-- No Double equals 9007199254740993, so the nearest one is compared.
UPDATE Typed SET d = 9007199254740992.0 WHERE RowKey = 'Double';
SELECT count(*) FROM Typed('d eq 9007199254740993L');
SELECT count(*) FROM Typed('d lt 9007199254740993L and d gt 0');
UPDATE Typed SET d = 5 WHERE RowKey = 'Double';
-- Otherwise a property of another type is less than the constant. So Int64 constants are for Int64
-- (and Double) properties only.
SELECT RowKey FROM Typed('i eq 5L or i gt 4L');
SELECT RowKey FROM Typed('i lt 4L');
WITH Op(op) AS (VALUES ('eq'), ('ne'), ('gt'), ('ge'), ('lt'), ('le'))
  SELECT group_concat(op, ' ') AS 'true of s ? 5' FROM Op JOIN Typed ON Filter MATCH 's ' || op || ' 5';

-- NaN is unequal to everything and neither less nor greater.
INSERT INTO Typed(PartitionKey, RowKey, d) VALUES ('', 'NaN', 'NaN'), ('', 'Infinity', 9e999);
WITH Op(op) AS (VALUES ('eq'), ('ne'), ('gt'), ('ge'), ('lt'), ('le'))
  SELECT op, group_concat(RowKey) FROM Op JOIN Typed ON Filter MATCH 'd ' || op || ' 5' GROUP BY op;

-- PartitionKey, RowKey and Timestamp are properties that every entity has.
SELECT RowKey FROM Employee('PartitionKey eq ''Sales'' and RowKey gt ''03''');
SELECT count(*) FROM Employee('Timestamp gt datetime''2000-01-01T00:00:00Z'' and PartitionKey ne 3');

-- What a filter says about keys is what is read: a point query, a range, two points, a partition.
CREATE VIRTUAL TABLE Careful USING ptable(Name String, Age Int32, table=Employee, scan=deny);
SELECT Name FROM Careful('PartitionKey eq ''Sales'' and RowKey eq ''03''');
SELECT Name FROM Careful('PartitionKey eq ''Sales'' and RowKey ge ''01'' and RowKey lt ''03''');
SELECT Name FROM Careful('PartitionKey eq ''Sales'' and RowKey eq ''01'' or PartitionKey eq ''Marketing'' and RowKey eq ''02''');
SELECT Name FROM Careful('PartitionKey eq ''Sales'' and Age gt 30');
SELECT Name FROM Careful('not (PartitionKey ne ''Marketing'')');
SELECT Name FROM Careful('PartitionKey gt ''Marketing'' and PartitionKey lt ''T'' and Age lt 30');
SELECT Name FROM Careful('false');
SELECT Name FROM Careful('Age gt 30');
SELECT Name FROM Careful('RowKey eq ''01''');
SELECT Name FROM Careful('PartitionKey eq ''Sales'' or Age gt 30');
SELECT Name FROM Careful WHERE PartitionKey = 'Sales' AND Filter MATCH 'Age gt 30';

-- Together with SQL's conditions, in any order of the keys, and under LIMIT, DISTINCT, GROUP BY.
.eqp on
SELECT Name FROM Employee WHERE Filter MATCH 'Age gt 25' AND PartitionKey = 'Sales';
SELECT Name FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '01' AND Filter MATCH 'Age gt 40';
SELECT Name FROM Employee WHERE RowKey IN ('01', '02') AND Filter MATCH 'Age lt 50' AND length(Name) = 3;
SELECT Name FROM Employee('Age gt 25') ORDER BY PartitionKey DESC, RowKey DESC LIMIT 2;
SELECT Name FROM Employee('Active') WHERE PartitionKey = 'Sales' ORDER BY RowKey LIMIT 1 OFFSET 1;
SELECT RowKey FROM Employee('Age gt 25') WHERE EntityKey > pt_entity_key('Marketing', '01') ORDER BY EntityKey LIMIT 2;
SELECT DISTINCT PartitionKey FROM Employee('Age eq 23 or Age eq 29');
SELECT PartitionKey, count(*) FROM Employee('Age gt 25') GROUP BY PartitionKey;
SELECT count(*) FROM Employee('RowKey lt ''02''');

-- Two filters with OR between are two reads; an entity that passes both comes once.
SELECT Name FROM Employee WHERE Filter MATCH 'Age gt 40' OR Filter MATCH 'Active';
SELECT Name FROM Employee WHERE (PartitionKey = 'Sales' AND Filter MATCH 'Age gt 30') OR (PartitionKey = 'Marketing' AND RowKey = '02');

-- The filter may come from another table, and be another one for each of its rows.
CREATE TABLE Search(id, filter);
INSERT INTO Search VALUES (1, 'Age gt 40'), (2, 'PartitionKey eq ''Sales'' and Active'), (3, NULL), (4, 'Age lt 0');
SELECT id, Name FROM Search JOIN Employee ON Employee.Filter MATCH Search.filter;
SELECT id, count(Name) FROM Search LEFT JOIN Employee ON Employee.Filter = Search.filter GROUP BY id;
SELECT id, (SELECT count(*) FROM Employee(Search.filter)) FROM Search;
.eqp off

-- The column shows the text. Also where SQLite checks conditions again, behind fifteen others.
SELECT Filter, Name FROM Employee('Age gt 40');
SELECT Name FROM Employee
  WHERE Age > 0 AND Age > 1 AND Age > 2 AND Age > 3 AND Age > 4 AND Age > 5 AND Age > 6 AND Age > 7 AND Age > 8
    AND Age > 9 AND Age > 10 AND Age > 11 AND Age > 12 AND Age > 13 AND Age > 14 AND Age > 15
    AND Filter MATCH 'Age gt 40';

-- UPDATE and DELETE.
UPDATE Employee SET Age = Age + 1 WHERE Filter MATCH 'PartitionKey eq ''Sales'' and not Active';
SELECT changes();
CREATE TABLE Raise(who, years);
INSERT INTO Raise VALUES ('Ann', 100), ('Ben', 100);
UPDATE Employee SET Age = Age + years FROM Raise WHERE who = Name AND Filter MATCH 'Active';
DELETE FROM Employee WHERE Filter MATCH 'Age lt 25 or Badge eq 7';
SELECT changes();
SELECT RowKey, Name, Age FROM Employee;

-- A transaction filters what it has written.
BEGIN;
INSERT INTO Employee(PartitionKey, RowKey, Name, Age) VALUES ('Sales', '06', 'Gus', 60);
UPDATE Employee SET Age = 61 WHERE Name = 'Cem';
SELECT Name FROM Employee('Age gt 50');
ROLLBACK;
SELECT Name FROM Employee('Age gt 50');

-- 1,000 comparisons are no trouble.
WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
  SELECT Name FROM Employee((SELECT group_concat('RowKey eq ''' || pt_pad(i, 4) || '''', ' or ') FROM n) || ' or Age gt 100');

-- A text may contain U+0000, here and in a bound filter. Keys cannot, so a constant with it is between two keys.
INSERT INTO Typed(PartitionKey, RowKey, s) VALUES ('', 'NUL', 'a' || char(0) || 'b'), ('', 'NUL2', 'a');
SELECT RowKey FROM Typed('s eq ''a' || char(0) || 'b''');
SELECT RowKey FROM Typed WHERE Filter MATCH 's lt ''a' || char(0) || 'b''' ORDER BY RowKey;
SELECT RowKey FROM Typed WHERE NOT Filter MATCH 's ne ''a' || char(0) || 'b''' AND s IS NOT NULL;
SELECT hex(Filter) FROM Typed('s eq ''a' || char(0) || 'b''');
SELECT group_concat(RowKey) FROM Employee('PartitionKey eq ''Sales'' and RowKey gt ''02' || char(0) || '''');
SELECT group_concat(RowKey) FROM Employee('PartitionKey eq ''Sales'' and RowKey le ''02' || char(0) || '9''');
SELECT count(*) FROM Employee('PartitionKey eq ''Sales' || char(0) || '''');
SELECT count(*) FROM Employee('PartitionKey ne ''Sales' || char(0) || '''');
DELETE FROM Typed WHERE RowKey GLOB 'NUL*';

-- Errors say where, counted from 0, and what to do.
SELECT * FROM Employee('Age GT 30');
SELECT * FROM Employee('Age > 30');
SELECT * FROM Employee('Age gt');
SELECT * FROM Employee('(Age gt 30');
SELECT * FROM Employee('Age gt 30 Active');
SELECT * FROM Employee('Name eq "Ann"');
SELECT * FROM Employee('Name eq ''Ann');
SELECT * FROM Employee('Age gt 3000000000');
SELECT * FROM Employee('Timestamp gt datetime''yesterday''');
SELECT * FROM Employee('Age eq null');
SELECT * FROM Employee('startswith(Name, ''A'')');
SELECT * FROM Employee('tolower(Name) eq ''ann''');
SELECT * FROM Employee('Age add 1 gt 30');
SELECT * FROM Employee('Age eq Badge');
SELECT * FROM Employee('1 eq 2');
SELECT * FROM Employee('Name eq ''Ann''' || char(0));
SELECT * FROM Employee(30);
SELECT * FROM Employee(NULL);
SELECT * FROM Employee WHERE Filter MATCH 'Age gt 30' AND Filter MATCH 'Active';
SELECT * FROM Employee WHERE Filter = 'Age gt 30' OR Filter = 'Active';
SELECT * FROM Employee WHERE Name MATCH 'A*';
INSERT INTO Employee(PartitionKey, RowKey, Filter) VALUES ('p', 'r', 'Age gt 30');
UPDATE Employee SET Filter = 'Age gt 30';

-- A Filter among other conditions: under NOT, beside OR, as a value.
SELECT Name, Age FROM Employee WHERE NOT (Filter MATCH 'Age gt 30') ORDER BY Name;
SELECT Name FROM Employee WHERE Filter MATCH 'Age gt 100' OR Name = 'Ben' ORDER BY Name;
SELECT Name FROM Employee
  WHERE PartitionKey = 'Sales' AND (Filter MATCH 'Age lt 20' OR Filter MATCH 'Age gt 30') ORDER BY Name;
SELECT Name, Filter MATCH 'Age gt 30' AS older FROM Employee ORDER BY Name;
SELECT a.Name FROM Employee AS a LEFT JOIN Employee AS b
  ON a.PartitionKey = b.PartitionKey AND b.Filter MATCH 'Age gt 100' WHERE b.Name IS NULL ORDER BY a.Name;

-- For what an outer join does not find, it is NULL, as every other condition.
SELECT id, Name, Employee.Filter MATCH 'Age gt 30' AS older
  FROM Search LEFT JOIN Employee ON PartitionKey = 'Sales' AND RowKey = printf('%02d', id * 2 - 1) ORDER BY id;
SELECT id, Name FROM Search LEFT JOIN Employee ON PartitionKey = 'Sales' AND RowKey = printf('%02d', id * 2 - 1)
  WHERE Employee.Filter MATCH 'Age gt 30';
SELECT id, Name FROM Search LEFT JOIN Employee ON PartitionKey = 'Sales' AND RowKey = printf('%02d', id * 2 - 1)
  WHERE Name IS NULL OR NOT (Employee.Filter MATCH 'Age gt 30') ORDER BY id;

-- It is not for the rows of another store.
CREATE VIRTUAL TABLE Elsewhere USING ptable(Age Int32, store='elsewhere.ptable');
INSERT INTO Elsewhere VALUES ('p', 'r', 31);
SELECT match(Employee.Name, Elsewhere.Filter) FROM Employee JOIN Elsewhere;

-- The argument of the table beside conditions joined with OR.
SELECT Name FROM Employee('Age gt 30') WHERE RowKey = '01' AND Name = 'Ann' OR PartitionKey = 'Sales' ORDER BY Name;
SELECT Name FROM Employee('Age gt 30') WHERE PartitionKey = 'Sales' OR Name = 'Ann';
SELECT Name FROM Employee('Age gt 30') WHERE (PartitionKey, RowKey) = ('Sales', '01') OR Name = 'Ben';

-- So stands MATCH.
SELECT Name FROM Employee WHERE Filter MATCH 'Age gt 30' AND (RowKey = '01' AND Name = 'Ann' OR PartitionKey = 'Sales');
SELECT Name FROM Employee WHERE Filter MATCH 'Age gt 30'
  AND (PartitionKey = 'Sales' AND RowKey IN ('01', '03') OR PartitionKey = 'Marketing' AND RowKey IN ('01', '02'));
UPDATE Employee SET Age = 40 WHERE (PartitionKey = 'Sales' AND RowKey > '01' OR PartitionKey = 'New') AND Filter MATCH 'Age ge 30';
SELECT changes();

-- A table that is gone is said to be gone, also to a wrong filter.
CREATE VIRTUAL TABLE Gone USING ptable(Age Int32, store='gone.ptable');
DELETE FROM pt_tables WHERE Store = 'gone.ptable' AND TableName = 'Gone';
SELECT * FROM Gone('Age >');
SELECT * FROM Gone WHERE Filter MATCH 'age gt 30';
