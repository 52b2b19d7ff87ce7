-- What is refused, and what is said then: what was wrong, with the value, and what to do instead.
.load ./ptable

-- Options: unknown, abbreviated, twice, without value, with a wrong value.
CREATE VIRTUAL TABLE T USING ptable(a String, stores='x.ptable');
CREATE VIRTUAL TABLE T USING ptable(sto='x.ptable');
CREATE VIRTUAL TABLE T USING ptable(store='a.ptable', STORE='b.ptable');
CREATE VIRTUAL TABLE T USING ptable(store=);
CREATE VIRTUAL TABLE T USING ptable(store='');
CREATE VIRTUAL TABLE T USING ptable(store=my store.ptable);
CREATE VIRTUAL TABLE T USING ptable(sync=sometimes);
CREATE VIRTUAL TABLE T USING ptable(readonly=yes);
CREATE VIRTUAL TABLE T USING ptable(scan='no');

-- Columns: unknown type, twice, names of ptable's own, constraints, no names.
CREATE VIRTUAL TABLE T USING ptable(a Integr);
CREATE VIRTUAL TABLE T USING ptable(a NUMERIC);
CREATE VIRTUAL TABLE T USING ptable(a String, A Int32);
CREATE VIRTUAL TABLE T USING ptable(ETag String);
CREATE VIRTUAL TABLE T USING ptable("properties");
CREATE VIRTUAL TABLE T USING ptable(a String NOT NULL);
CREATE VIRTUAL TABLE T USING ptable(a Int32 DEFAULT 5);
CREATE VIRTUAL TABLE T USING ptable(a String PRIMARY KEY);
CREATE VIRTUAL TABLE T USING ptable(a, PRIMARY KEY(a));
CREATE VIRTUAL TABLE T USING ptable(a String COLLATE NOCASE);
CREATE VIRTUAL TABLE T USING ptable(a String REFERENCES other(id));
CREATE VIRTUAL TABLE T USING ptable(a Int32, b AS (a + 1));
CREATE VIRTUAL TABLE T USING ptable(a, PartitionKey);
CREATE VIRTUAL TABLE T USING ptable(PartitionKey Int32, RowKey);
CREATE VIRTUAL TABLE T USING ptable(1st String);
CREATE VIRTUAL TABLE T USING ptable(last-name String);
CREATE VIRTUAL TABLE T USING ptable("" String);
SELECT count(*) FROM sqlite_schema;

-- Values of the wrong type, out of range, malformed.
CREATE VIRTUAL TABLE T USING ptable(
  s String, i Int32, l Int64, d Double, b Boolean, t DateTime, g Guid, x Binary);
INSERT INTO T(PartitionKey, RowKey, s) VALUES ('p', 'r', x'00ff');
INSERT INTO T(PartitionKey, RowKey, i) VALUES ('p', 'r', 2147483648);
INSERT INTO T(PartitionKey, RowKey, i) VALUES ('p', 'r', 34.5);
INSERT INTO T(PartitionKey, RowKey, i) VALUES ('p', 'r', ' 34');
INSERT INTO T(PartitionKey, RowKey, i) VALUES ('p', 'r', 'thirty-four');
INSERT INTO T(PartitionKey, RowKey, l) VALUES ('p', 'r', '9223372036854775808');
INSERT INTO T(PartitionKey, RowKey, l) VALUES ('p', 'r', 1e19);
INSERT INTO T(PartitionKey, RowKey, d) VALUES ('p', 'r', 9007199254740993);
INSERT INTO T(PartitionKey, RowKey, d) VALUES ('p', 'r', '1e999');
INSERT INTO T(PartitionKey, RowKey, d) VALUES ('p', 'r', '0x10');
INSERT INTO T(PartitionKey, RowKey, d) VALUES ('p', 'r', '9007199254740993');
INSERT INTO T(PartitionKey, RowKey, d) VALUES ('p', 'r', '1e-400');
INSERT INTO T(PartitionKey, RowKey, s) VALUES ('p', 'r', -0.0);
INSERT INTO T(PartitionKey, RowKey, b) VALUES ('p', 'r', 2);
INSERT INTO T(PartitionKey, RowKey, b) VALUES ('p', 'r', 'yes');
INSERT INTO T(PartitionKey, RowKey, t) VALUES ('p', 'r', '2026-02-30');
INSERT INTO T(PartitionKey, RowKey, t) VALUES ('p', 'r', '21.11.2026');
INSERT INTO T(PartitionKey, RowKey, t) VALUES ('p', 'r', 'now');
INSERT INTO T(PartitionKey, RowKey, t) VALUES ('p', 'r', 1795250602);
INSERT INTO T(PartitionKey, RowKey, g) VALUES ('p', 'r', '0f8fad5b-d9cb-469f-a165-7086772895');
INSERT INTO T(PartitionKey, RowKey, g) VALUES ('p', 'r', x'00112233');
INSERT INTO T(PartitionKey, RowKey, x) VALUES ('p', 'r', 'text');
INSERT INTO T(PartitionKey, RowKey, x) VALUES ('p', 'r', 7);
INSERT INTO T(PartitionKey, RowKey, i) VALUES
  ('p', 'r', 'a text that is far too long to be shown as a whole in the message of an error');

-- Keys: they must be there, and be text or integers.
INSERT INTO T(PartitionKey, RowKey) VALUES (NULL, 'r');
INSERT INTO T(PartitionKey) VALUES ('p');
INSERT INTO T(PartitionKey, RowKey) VALUES (1.5, 'r');
INSERT INTO T(PartitionKey, RowKey) VALUES ('p', x'72');
INSERT INTO T(PartitionKey, RowKey) VALUES ('p', 'a' || char(0) || 'b');
INSERT INTO T(PartitionKey, RowKey) VALUES ('p', CAST(x'ff' AS TEXT));
INSERT INTO T(PartitionKey, RowKey) VALUES ('p', hex(zeroblob(40000)));
INSERT INTO T VALUES ('p', 'r');

-- Properties: malformed, no object, nested, twice, names of ptable's own, wrong annotations.
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', '{"a":1');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', '{a:1}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', '[1,2]');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', '34');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', x'7b7d');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', 34);
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', '{"a":{"b":1}}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', '{"a":[1]}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', '{"a":1,"a":2}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', '{"":1}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', '{"RowKey":"x"}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', '{"Timestamp":"2026-11-21"}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', '{"a":12345678901234567890}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', '{"a":1e999}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', '{"a":1,"a@odata.type":"Edm.Float"}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', '{"a":"x","a@odata.type":"Edm.Guid"}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', '{"a":"x","a@odata.type":"Edm.DateTime"}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', '{"a":"x","a@odata.type":"Edm.Binary"}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES
  ('p', 'r', '{"a":2147483648,"a@odata.type":"Edm.Int32"}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', '{"a":1.5,"a@odata.type":"Edm.Int64"}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', '{"a":1,"a@odata.type":"Edm.Boolean"}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', '{"a":"\ud83d"}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('p', 'r', json_object('a', hex(zeroblob(20))) || '!');

-- None of them left anything behind.
SELECT count(*) FROM T;

-- What only the store sets.
INSERT INTO T(PartitionKey, RowKey, Timestamp) VALUES ('p', 'r', '2026-11-21');
INSERT INTO T(PartitionKey, RowKey, ETag) VALUES ('p', 'r', 'x');
INSERT INTO T(PartitionKey, RowKey, EntityKey) VALUES ('p', 'r', x'70');
INSERT INTO T(PartitionKey, RowKey, i) VALUES ('p', 'r', 1);
UPDATE T SET Timestamp = '2026-11-21';
UPDATE T SET ETag = 'x';
UPDATE T SET EntityKey = x'70';
UPDATE T SET Timestamp = Timestamp, ETag = ETag, EntityKey = EntityKey, i = 2;
SELECT changes(), i FROM T;

-- UPDATE refuses what INSERT refuses.
UPDATE T SET i = 'x';
UPDATE T SET RowKey = NULL;
UPDATE T SET PartitionKey = 1.5;
UPDATE T SET Properties = '[]';
SELECT * FROM T;

-- Writing where readonly=1 says no.
CREATE VIRTUAL TABLE Seen USING ptable(i Int32, table='T', readonly=1);
SELECT i FROM Seen;
INSERT INTO Seen VALUES ('p', 's', 1);
UPDATE Seen SET i = 3;
DELETE FROM Seen;
SELECT i FROM T;

-- What SQLite does not have for virtual tables.
INSERT INTO T(PartitionKey, RowKey) VALUES ('p', 'r') ON CONFLICT DO NOTHING;
UPDATE T SET i = 4 RETURNING i;
DELETE FROM T RETURNING i;
SELECT last_insert_rowid();
-- INSERT knows RETURNING, but only what was given, also where it is left out.
SAVEPOINT given;
INSERT INTO T(PartitionKey, RowKey) VALUES (1, 2) RETURNING PartitionKey, typeof(Timestamp), typeof(ETag);
INSERT OR IGNORE INTO T(PartitionKey, RowKey) VALUES (1, 2) RETURNING PartitionKey, typeof(EntityKey);
ROLLBACK TO given;
RELEASE given;

-- A column that is misspelt.
SELECT Firstname FROM T;
