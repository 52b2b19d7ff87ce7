-- In JavaScript and R every number is a REAL. Where an integer is taken, a REAL that is one counts as one,
-- up to 2^53, beyond which it may have been rounded.
.load ./ptable
.parameter init
.parameter set ?1 1.0
.parameter set ?2 1.5
.parameter set ?3 9007199254740994.0

-- Functions.
SELECT pt_pad(?1, 6.0), pt_pad(1e3, 6), pt_pad(9007199254740992.0, 20.0), pt_pad(-0.0, 3);
SELECT pt_pad(?2, 6);
SELECT pt_pad(1, ?2);
SELECT pt_pad(?3, 20);
SELECT pt_pad(1e300, 20);
SELECT pt_pad(-9e999, 20);
SELECT pt_pad('1.0', 6);
SELECT pt_compound_key(?1, 1e3, -0.0, 'a'), pt_compound_key_sep('|', ?1, 2), pt_prefix_end(?1);
SELECT pt_compound_key('a', ?2);
SELECT pt_compound_key('a', ?3);
SELECT pt_compound_key('a', 1e300);
SELECT pt_key_part('a_b', ?1), pt_key_part('a_b', -1.0), pt_key_part(12.0, 1);
SELECT pt_key_part('a_b', ?2);
SELECT pt_key_part('a_b', -0.0);
SELECT pt_hash_bucket(?1, 16.0) = pt_hash_bucket(1, 16), pt_entity_key(?1, 2.0) = pt_entity_key('1', '2');
SELECT pt_hash_bucket('a', 0.5);
SELECT pt_datetime(1e7), pt_datetime(-0.0), pt_inverted_ticks(0.0);
SELECT pt_datetime(?2);
SELECT pt_datetime(639000000000000000.0);
SELECT pt_entity_json(?1, 2.0, NULL, '{}');
SELECT pt_entity_json(?2, 2.0, NULL, '{}');

-- Columns. What is written is found, by an index and without.
CREATE VIRTUAL TABLE T USING ptable(Active Boolean, Small Int32, Large Int64, Name String, index(Active), index(Small));
INSERT INTO T VALUES ('p', 'true', 1.0, ?1, ?1, ?1), ('p', 'false', -0.0, 1e3, 9007199254740992.0, ?1);
SELECT RowKey, Active, typeof(Active), Small, typeof(Small), Large, typeof(Large), Name FROM T;
UPDATE T SET Active = ?1, Small = 5.0 WHERE RowKey = 'false';
SELECT group_concat(RowKey) FROM T WHERE Active = ?1;
SELECT group_concat(RowKey) FROM T WHERE Active IN (?1, 0.0);
SELECT group_concat(RowKey) FROM T WHERE Active <> 0.0;
SELECT group_concat(RowKey) FROM T WHERE Active > 0.0 OR Small = 7.0;
SELECT group_concat(RowKey) FROM T WHERE Small = ?1 OR Small IN (5.0, 6.0);
SELECT group_concat(RowKey) FROM T WHERE Large <= ?1 AND Name = ?1;
INSERT INTO T(PartitionKey, RowKey, Active) VALUES ('p', 'x', ?2);
INSERT INTO T(PartitionKey, RowKey, Active) VALUES ('p', 'x', 2.0);
INSERT INTO T(PartitionKey, RowKey, Active) VALUES ('p', 'x', 1e300);
INSERT INTO T(PartitionKey, RowKey, Small) VALUES ('p', 'x', ?2);
INSERT INTO T(PartitionKey, RowKey, Large) VALUES ('p', 'x', 9e999);

-- An index that is unique, and a number of entities to be deleted.
INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('T', 'Large', ?1);
SELECT IsUnique FROM pt_indexes WHERE Columns = 'Large';
INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('T', 'Name', ?2);
INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('T', 'Name', 2.0);
CREATE VIRTUAL TABLE Session USING ptable(Due DateTime, expires=Due);
INSERT INTO Session(PartitionKey, RowKey, Due) VALUES ('s', 'a', '2020-01-01'), ('s', 'b', '2020-01-01');
SELECT pt_purge('Session', -0.0), pt_purge('Session', ?1), pt_purge('Session', 1e3);
SELECT pt_purge('Session', ?2);
SELECT pt_purge('Session', 1e300);

-- Queues: numbers of messages are integers, seconds may be fractions.
CREATE VIRTUAL TABLE Job USING pt_queue();
INSERT INTO Job(Body, TimeToLive, VisibilityTimeout) VALUES ('a', 100.0, -0.0), ('b', -1.0, 0.0), ('c', 2e9, NULL);
SELECT Body FROM pt_queue_get('Job', ?1);
SELECT Body FROM pt_queue_get('Job', 2.0, 1e3);
SELECT Body FROM pt_queue_get('Job', ?2);
SELECT Body FROM pt_queue_get('Job', -0.0);
SELECT Body FROM pt_queue_get('Job', 1e300);

-- A key is refused: what is written would not be found by IN, OR, <> and others. See 25-bound-numbers.sql.
INSERT INTO T(PartitionKey, RowKey) VALUES (?1, 'x');
INSERT INTO T(PartitionKey, RowKey) VALUES ('p', ?2);
INSERT OR REPLACE INTO T(PartitionKey, RowKey) VALUES ('p', 9007199254740992.0);
INSERT INTO T(PartitionKey, RowKey, WriteMode) VALUES ('p', ?1, 'merge');
UPDATE T SET RowKey = ?1 WHERE PartitionKey = 'p' AND RowKey = 'true';
INSERT INTO T(PartitionKey, RowKey) VALUES ('p', CAST(?1 AS INTEGER)), ('p', pt_compound_key(2.0));
SELECT group_concat(RowKey) FROM T;
