-- Properties: the whole bag of an entity as one JSON object, also those that no column declares.
.load ./ptable
.nullvalue NULL

-- With no column declared, Properties is the third column.
CREATE VIRTUAL TABLE Bag USING ptable(store='bag.ptable');
INSERT INTO Bag VALUES ('p', '1', '{"Name":"Jun","Age":34,"Rate":2.5,"Active":true}');
SELECT * FROM Bag;

-- Without annotation: text String, true and false Boolean, an integer Int32 if it fits and else
-- Int64, a number with point or exponent Double, null no property. Int64, DateTime, Guid, Binary
-- and the Doubles without digits carry an annotation "Name@odata.type".
INSERT INTO Bag VALUES ('p', '2',
  '{"small":2147483647,"large":2147483648,"whole":5.0,"exponent":1e3,"nothing":null}');
INSERT INTO Bag VALUES ('p', '3', '{
  "i":"7","i@odata.type":"Edm.Int64","d":"2026-11-21","d@odata.type":"Edm.DateTime",
  "g":"0F8FAD5B-D9CB-469F-A165-70867728950E","g@odata.type":"Edm.Guid","b":"AP8=","b@odata.type":"Edm.Binary",
  "n":"NaN","n@odata.type":"Edm.Double","x":5,"x@odata.type":"Edm.Double"}');
SELECT RowKey, Properties FROM Bag WHERE RowKey IN ('2', '3');

-- The annotation may stand before its property; one without its property is ignored.
INSERT INTO Bag VALUES ('p', '4', '{"i@odata.type":"Edm.Int64","i":7,"left@odata.type":"Edm.Guid"}');
SELECT Properties FROM Bag WHERE RowKey = '4';

-- Int64 is a JSON number, so comparisons are right.
SELECT RowKey, Properties ->> 'i' AS i FROM Bag WHERE Properties ->> 'i' > 6;
SELECT Properties ->> '$."d@odata.type"' FROM Bag WHERE RowKey = '3';

-- SQLite's JSON functions take it as JSON; it nests and can be taken apart.
SELECT json_object('key', RowKey, 'entity', Properties) FROM Bag WHERE RowKey = '1';
SELECT key, value, json_each.type FROM Bag, json_each(Properties) WHERE RowKey = '1' ORDER BY key;

-- Any text survives: quotes, control characters, letters of all planes.
INSERT INTO Bag VALUES ('p', '5', json_object('s', 'a"b\c' || char(10, 9, 1) || 'é😀'));
SELECT Properties, length(Properties ->> 's') FROM Bag WHERE RowKey = '5';
INSERT INTO Bag VALUES ('p', '6', '{"s":"\u0041\ud83d\ude00\/\n"}');
SELECT Properties FROM Bag WHERE RowKey = '6';
INSERT INTO Bag VALUES ('p', '7', '{}');
SELECT quote(Properties) FROM Bag WHERE RowKey = '7';

-- The same entities with columns: Properties is hidden, and holds declared properties too.
CREATE VIRTUAL TABLE Person USING ptable(Name String, Age Int32, store='bag.ptable', table='Bag');
SELECT * FROM Person WHERE RowKey = '1';
SELECT Properties FROM Person WHERE RowKey = '1';

-- INSERT with both: Properties is the base, columns that are not NULL override it.
INSERT INTO Person(PartitionKey, RowKey, Name, Age, Properties)
  VALUES ('q', '1', 'Ann', NULL, '{"Name":"overridden","Age":50,"City":"Rome"}');
SELECT Name, Age, Properties ->> 'City' FROM Person WHERE PartitionKey = 'q';

-- UPDATE of a column keeps the properties that it does not name, undeclared ones too.
UPDATE Person SET Age = 51 WHERE PartitionKey = 'q';
SELECT Properties ->> 'Name', Properties ->> 'Age', Properties ->> 'City' FROM Person
  WHERE PartitionKey = 'q';
UPDATE Person SET Age = NULL WHERE PartitionKey = 'q';
SELECT Properties ->> 'Name', Properties ->> 'Age', Properties ->> 'City' FROM Person
  WHERE PartitionKey = 'q';

-- UPDATE of Properties replaces them all; columns set beside it override.
UPDATE Person SET Properties = '{"City":"Oslo","Age":20}' WHERE PartitionKey = 'q';
SELECT Name, Age, Properties ->> 'City' FROM Person WHERE PartitionKey = 'q';
UPDATE Person SET Properties = '{"City":"Bern","Age":20}', Age = 21, Name = 'Eve' WHERE PartitionKey = 'q';
SELECT Name, Age, Properties ->> 'City' FROM Person WHERE PartitionKey = 'q';

-- Properties that are read and written with a JSON function keep what is not touched.
UPDATE Person SET Properties = json_set(Properties, '$.Height', 1.8) WHERE PartitionKey = 'q';
SELECT Name, Properties ->> 'Height', Properties ->> 'City' FROM Person WHERE PartitionKey = 'q';
UPDATE Person SET Properties = json_remove(Properties, '$.City') WHERE PartitionKey = 'q';
SELECT Name, Properties ->> 'Height', Properties ->> 'City' FROM Person WHERE PartitionKey = 'q';
UPDATE Person SET Properties = NULL WHERE PartitionKey = 'q';
SELECT Name, Properties FROM Person WHERE PartitionKey = 'q';

-- A property of the same name in other letters is another property.
INSERT INTO Person(PartitionKey, RowKey, Properties) VALUES ('r', '1', '{"name":"small","Name":"large"}');
SELECT Name, Properties ->> 'name' FROM Person WHERE PartitionKey = 'r';

-- The copy form loses neither undeclared properties nor types.
CREATE VIRTUAL TABLE Copy USING ptable(store='copy.ptable');
INSERT INTO Copy(PartitionKey, RowKey, Properties) SELECT PartitionKey, RowKey, Properties FROM Person;
SELECT count(*) FROM Copy;
SELECT PartitionKey, RowKey, key, value, json_each.type FROM Bag, json_each(Properties)
EXCEPT
SELECT PartitionKey, RowKey, key, value, json_each.type FROM Copy, json_each(Properties);

-- A column that its type does not allow is refused beside Properties, too, also one that is left as
-- it is when what Properties leaves of it is not the same any more.
CREATE VIRTUAL TABLE Typed USING ptable(Age Int32, Email String, store='typed.ptable');
INSERT INTO Typed(PartitionKey, RowKey, Age, Properties) VALUES ('p', '1', 'old', '{"Name":"Jun"}');
INSERT INTO Typed(PartitionKey, RowKey, Properties) VALUES ('p', '1', '{"Age":"old"}');
UPDATE Typed SET Age = 'old', Email = 'x';
SELECT Properties FROM Typed;
UPDATE Typed SET Age = 'old', Properties = '{"Name":"Jun"}';
SELECT Properties FROM Typed;

-- Names that begin with odata. are not for properties, neither in Properties nor as columns. The
-- service sends some with an entity; pt_entity_properties leaves them out.
INSERT INTO Typed(PartitionKey, RowKey, Properties) VALUES ('p', '2', '{"odata.colour":"red"}');
UPDATE Typed SET Properties = '{"Age":1,"odata.etag":"W/"}';
CREATE VIRTUAL TABLE Reserved USING ptable("odata.colour" String);
INSERT INTO Typed(PartitionKey, RowKey, Properties) VALUES ('p', '2', pt_entity_properties(
  '{"odata.metadata":"u","odata.type":"a.T","odata.id":"i","odata.etag":"W/","odata.editLink":"T()","PartitionKey":"p","RowKey":"2","Age":2}', 'line 1'));
SELECT RowKey, Properties FROM Typed WHERE Age = 2;
