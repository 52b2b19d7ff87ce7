.load ./ptable
-- Ticks of 100 ns since 0001-01-01 UTC, the service's own landmarks among them.
SELECT time, pt_ticks(time), pt_datetime(time), pt_inverted_ticks(time) FROM (
  SELECT column1 AS time FROM (VALUES
    ('0001-01-01'),
    ('1601-01-01T00:00:00Z'),
    ('1969-12-31 23:59:59.9999999'),
    ('1970-01-01'),
    ('2000-02-29 12:00'),
    ('2014-07-31T15:04:05Z'),
    ('2026-11-21T08:43:22.5484454Z'),
    ('9999-12-31T23:59:59.9999999Z')));

-- An offset is taken off; a fraction may be short.
SELECT pt_datetime('2026-11-21 08:43:22.5'), pt_datetime('2026-11-21T08:43:22+01:00');
SELECT pt_datetime('2026-11-21 23:30-01:30'), pt_datetime('2026-11-21 08:43:22.548445400');

-- There and back again.
SELECT pt_datetime(639308474025484454), pt_datetime(0), pt_datetime(3155378975999999999);
SELECT pt_inverted_ticks(639308474025484454), pt_inverted_datetime('2516070501974515545');
SELECT pt_inverted_datetime('0000000000000000000'), pt_inverted_datetime('3155378975999999999');
WITH RECURSIVE day(t) AS (
  SELECT 0 UNION ALL SELECT t + 60480000000007 FROM day WHERE t < 3155300000000000000)
SELECT count(*), sum(pt_ticks(pt_datetime(t)) = t),
  sum(pt_ticks(pt_inverted_datetime(pt_inverted_ticks(t))) = t),
  sum(length(pt_datetime(t)) = 28), sum(length(pt_inverted_ticks(t)) = 19) FROM day;

-- SQLite's own calendar agrees about days.
WITH RECURSIVE day(n) AS (SELECT 0 UNION ALL SELECT n + 61 FROM day WHERE n < 3651960)
SELECT count(*), max(n), sum(substr(pt_datetime(n * 864000000000), 1, 10) = date(1721425.5 + n)) FROM day;

-- Text order is time order, inverted text order is newest first.
SELECT group_concat(time, ' < ') FROM (SELECT pt_datetime(column1) AS time
  FROM (VALUES ('2026-11-21'), ('2026-02-28 23:59'), ('0999-01-01')) ORDER BY time);
SELECT group_concat(time, ' > ') FROM (SELECT column1 AS time
  FROM (VALUES ('2026-11-21'), ('2026-02-28 23:59'), ('0999-01-01')) ORDER BY pt_inverted_ticks(column1));

-- NULL gives NULL.
.nullvalue NULL
SELECT pt_ticks(NULL), pt_datetime(NULL), pt_inverted_ticks(NULL), pt_inverted_datetime(NULL);
.nullvalue ""

-- Without argument: the clock.
SELECT abs(pt_ticks() - pt_ticks(datetime('now'))) < 100000000, typeof(pt_ticks());
SELECT pt_datetime() >= pt_datetime('2024-01-01'), length(pt_datetime()), pt_datetime() GLOB '*Z';
SELECT abs(pt_ticks(pt_inverted_datetime(pt_inverted_ticks())) - pt_ticks()) < 100000000;

-- Inverted ticks of the clock never come twice, and each is less than the one before.
CREATE TABLE made(n INTEGER PRIMARY KEY, id TEXT);
INSERT INTO made WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
  SELECT i, pt_inverted_ticks() FROM n;
SELECT count(*), count(DISTINCT id), min(length(id)), max(length(id)) FROM made;
SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM made) WHERE id >= before;

-- What is refused.
SELECT pt_ticks('now');
SELECT pt_datetime('NOW');
SELECT pt_inverted_ticks('now');
SELECT pt_ticks(639308474025484454);
SELECT pt_ticks(2461365.5);
SELECT pt_datetime(x'3230');
SELECT pt_datetime('2026-02-29');
SELECT pt_datetime('2026-11-21 24:00');
SELECT pt_datetime('2026-11-21 08:43:22.54844541');
SELECT pt_datetime('0001-01-01 00:00+00:01');
SELECT pt_datetime(' 2026-11-21');
SELECT pt_datetime('12:00');
SELECT pt_datetime('');
SELECT pt_datetime(-1);
SELECT pt_inverted_ticks(3155378976000000000);
SELECT pt_inverted_datetime('251995481754999999');
SELECT pt_inverted_datetime('3155378976000000000');
SELECT pt_inverted_datetime('251606169397451554x');
SELECT pt_inverted_datetime(1.5);
SELECT pt_ticks('2026-11-21 ' || replace(hex(zeroblob(40)), '0', 'é'));
SELECT pt_ticks('2026-11-21', 'utc');

-- Deterministic with an argument, so good for an index; the clock is not.
CREATE TABLE event(due TEXT);
CREATE INDEX event_ticks ON event(pt_ticks(due));
INSERT INTO event VALUES ('2026-11-21'), (NULL);
INSERT INTO event VALUES ('tomorrow');
SELECT count(*) FROM event;
CREATE INDEX event_clock ON event(pt_ticks() - pt_ticks(due));
