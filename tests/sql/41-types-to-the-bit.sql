-- Types to the bit: a value keeps its type and every bit, however it is written, read and copied.
.load ./ptable
.nullvalue NULL
CREATE VIRTUAL TABLE T USING ptable(
  S String, I Int32, L Int64, D Double, B Boolean, At DateTime, G Guid, X Binary, Any, store='types.ptable');

-- The number 1 in five types: alike in SQL, five different values in Properties.
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES
  ('one', 'Boolean', '{"Any":true}'), ('one', 'Double', '{"Any":1.0}'), ('one', 'Int32', '{"Any":1}'),
  ('one', 'Int64', '{"Any":1,"Any@odata.type":"Edm.Int64"}'), ('one', 'String', '{"Any":"1"}');
SELECT RowKey, quote(Any), typeof(Any), Properties FROM T WHERE PartitionKey = 'one';

-- What is set to the value it has keeps its type, and so does what is not named.
UPDATE T SET Any = Any, I = 7 WHERE PartitionKey = 'one';
UPDATE T SET I = NULL, Properties = Properties WHERE PartitionKey = 'one';
SELECT RowKey, Properties FROM T WHERE PartitionKey = 'one';

-- Another value brings its own type: from a column the declared one, or SQL's own.
UPDATE T SET Any = 2 WHERE PartitionKey = 'one';
SELECT RowKey, Properties FROM T WHERE PartitionKey = 'one';

-- The type changes with UPDATE, INSERT OR REPLACE and Properties as well.
UPDATE T SET Any = 'two' WHERE PartitionKey = 'one' AND RowKey = 'Boolean';
INSERT OR REPLACE INTO T(PartitionKey, RowKey, Any) VALUES ('one', 'Double', x'02');
UPDATE T SET Properties = '{"Any":"2","Any@odata.type":"Edm.Int64"}' WHERE PartitionKey = 'one' AND RowKey = 'Int32';
SELECT RowKey, Properties FROM T WHERE PartitionKey = 'one' AND RowKey < 'Int64';

-- Entities whose property has another type than the column: reading shows what is stored, and
-- UPDATE of another column leaves it alone. To mend them is UPDATE with a conversion.
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES
  ('mixed', '1', '{"I":34}'), ('mixed', '2', '{"I":"thirty-four"}'), ('mixed', '3', '{"I":"34"}'),
  ('mixed', '4', '{"I":34.5}'), ('mixed', '5', '{"I":34,"I@odata.type":"Edm.Int64"}'),
  ('mixed', '6', '{"I":true}'), ('mixed', '7', '{"I":"","I@odata.type":"Edm.Binary"}');
UPDATE T SET S = 'seen' WHERE PartitionKey = 'mixed';
SELECT RowKey, quote(I), Properties FROM T WHERE PartitionKey = 'mixed';
UPDATE T SET I = CAST(I AS INTEGER) WHERE PartitionKey = 'mixed' AND typeof(I) IN ('text', 'real');
SELECT RowKey, quote(I), Properties FROM T WHERE PartitionKey = 'mixed' AND RowKey <= '4';

-- Doubles: the smallest and largest, zeros of both signs, and those without digits. (The shell
-- prints 15 digits and no sign of zero; Properties shows as many as give the bits back.)
INSERT INTO T(PartitionKey, RowKey, D) VALUES
  ('double', '1', 5e-324), ('double', '2', '1.7976931348623157e308'), ('double', '3', -0.0),
  ('double', '4', 0.1 + 0.2), ('double', '5', 9e999), ('double', '6', '-Infinity'), ('double', '7', 'NaN');
UPDATE T SET S = 'kept' WHERE PartitionKey = 'double';
SELECT RowKey, typeof(D), Properties FROM T WHERE PartitionKey = 'double';
SELECT count(*) FROM T WHERE PartitionKey = 'double' AND D = 5e-324;
SELECT count(*) FROM T WHERE PartitionKey = 'double' AND D = 'NaN';

-- Int64: every digit, from JSON as number or string, with the annotation before or after it.
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES
  ('int64', '1', '{"L":9223372036854775807}'),
  ('int64', '2', '{"L":"-9223372036854775808","L@odata.type":"Edm.Int64"}'),
  ('int64', '3', '{"L@odata.type":"Edm.Int64","L":9007199254740993}');
SELECT RowKey, typeof(L), L, Properties ->> 'L' FROM T WHERE PartitionKey = 'int64';

-- DateTime: 100 ns from year 1 to 9999, in UTC.
INSERT INTO T(PartitionKey, RowKey, At) VALUES
  ('time', '1', '0001-01-01'), ('time', '2', '9999-12-31T23:59:59.9999999Z'),
  ('time', '3', '2026-11-21T08:43:22.5484454Z'), ('time', '4', '2024-02-29 23:59:59.0000001-01:30');
SELECT RowKey, At, pt_ticks(At) FROM T WHERE PartitionKey = 'time';

-- Guid: capitals, braces and bytes in, lower case out.
INSERT INTO T(PartitionKey, RowKey, G) VALUES
  ('guid', '1', '0F8FAD5B-D9CB-469F-A165-70867728950E'), ('guid', '2', '{0F8FAD5B-d9cb-469f-A165-70867728950e}'),
  ('guid', '3', x'0f8fad5bd9cb469fa16570867728950e');
SELECT count(*) FROM T WHERE PartitionKey = 'guid' AND G = '0f8fad5b-d9cb-469f-a165-70867728950e';

-- Binary and String: empty is not absent, and a Binary is not a String of the same bytes.
INSERT INTO T(PartitionKey, RowKey, S, X, Any) VALUES
  ('bytes', '1', '', x'', x''), ('bytes', '2', 'a', x'61', 'a'), ('bytes', '3', NULL, NULL, NULL);
SELECT RowKey, quote(S), quote(X), quote(Any), Properties FROM T WHERE PartitionKey = 'bytes';

-- U+0000 inside a String, from an SQL function, a parameter and JSON. The shell prints up to it.
.parameter init
INSERT INTO sqlite_parameters VALUES (':text', 'a' || char(0) || 'b');
INSERT INTO T(PartitionKey, RowKey, S, Any) VALUES ('nul', '1', 'a' || char(0) || 'b', char(0)), ('nul', '2', :text, 'a');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('nul', '3', '{"S":"a\u0000b","Any":"\u0000"}');
UPDATE T SET I = 1 WHERE PartitionKey = 'nul';
SELECT RowKey, hex(S), hex(Any), Properties FROM T WHERE PartitionKey = 'nul';
SELECT count(*) FROM T WHERE S = 'a' || char(0) || 'b';
SELECT count(*) FROM T WHERE PartitionKey = 'nul' AND S = 'a';
SELECT count(*) FROM T WHERE PartitionKey = 'nul' AND S > 'a' AND S < 'a' || char(1);
CREATE TABLE Plain AS SELECT RowKey, S, Any FROM T WHERE PartitionKey = 'nul';
INSERT INTO T(PartitionKey, RowKey, S, Any) SELECT 'nul again', RowKey, S, Any FROM Plain;
SELECT RowKey, hex(S), hex(Any) FROM T WHERE PartitionKey = 'nul again';

-- The copy form loses nothing: all of the above in another table of another store. (The order of
-- the members of Properties is the store's own; pt_entity_json has them in the order of names.)
CREATE VIRTUAL TABLE Copy USING ptable(store='copy.ptable');
INSERT INTO Copy(PartitionKey, RowKey, Properties) SELECT PartitionKey, RowKey, Properties FROM T;
SELECT count(*), (SELECT count(*) FROM Copy),
    sum(pt_entity_json('', '', NULL, t.Properties) = pt_entity_json('', '', NULL, c.Properties))
  FROM T AS t JOIN Copy AS c USING (PartitionKey, RowKey);

-- Columns alone lose what columns cannot tell: an Int64 in a column without a type, a NaN there.
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES
  ('untold', '1', '{"Any":1,"Any@odata.type":"Edm.Int64"}'), ('untold', '2', '{"Any":"NaN","Any@odata.type":"Edm.Double"}');
INSERT OR REPLACE INTO T(PartitionKey, RowKey, Any) SELECT PartitionKey, RowKey, Any FROM T WHERE PartitionKey = 'untold';
SELECT RowKey, Properties FROM T WHERE PartitionKey = 'untold';

-- An entity in the Table service's own JSON, where Int64 is a string, and back.
SELECT pt_entity_json(PartitionKey, RowKey, NULL, Properties) FROM T WHERE PartitionKey = 'int64';
SELECT pt_entity_properties('{"PartitionKey":"p","RowKey":"r","Timestamp":"2026-11-21T08:43:22.5484454Z",
  "L@odata.type":"Edm.Int64","L":"7"}', 'here');

-- What is not right is refused, and nothing changes.
INSERT INTO T(PartitionKey, RowKey, At) VALUES ('wrong', '1', '2026-02-30');
INSERT INTO T(PartitionKey, RowKey, At) VALUES ('wrong', '1', '10000-01-01');
INSERT INTO T(PartitionKey, RowKey, At) VALUES ('wrong', '1', '0001-01-01T00:00:00+00:01');
INSERT INTO T(PartitionKey, RowKey, At) VALUES ('wrong', '1', '2026-11-21T08:43:22.54844541Z');
INSERT INTO T(PartitionKey, RowKey, I) VALUES ('wrong', '1', 2147483648);
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('wrong', '1', '{"I":1,"I":2}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('wrong', '1', '{"I":1,"I@odata.type":"Edm.Int16"}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('wrong', '1', '{"X":"AP8","X@odata.type":"Edm.Binary"}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('wrong', '1', '{"S":"\ud83d"}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('wrong', '1', '{"S":{"first":"Jun"}}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('wrong', '1', '{"Timestamp":"2026-11-21"}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('wrong', '1', '{"L":9223372036854775808}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('wrong', '1', '{"D":1e400}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('wrong', '1', '{"I":2147483648,"I@odata.type":"Edm.Int32"}');
INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('wrong', '1', '{"At":"2026-02-30","At@odata.type":"Edm.DateTime"}');
UPDATE T SET S = 'changed', Properties = '{"S":' WHERE PartitionKey = 'int64';
UPDATE T SET S = 'changed', D = 'one' WHERE PartitionKey = 'int64';
SELECT count(*) FROM T WHERE PartitionKey = 'wrong';
SELECT RowKey, Properties FROM T WHERE PartitionKey = 'int64';
