.load ./ptable
CREATE TABLE made(n INTEGER PRIMARY KEY, guid TEXT, uuid7 TEXT);
INSERT INTO made WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
  SELECT i, pt_guid(), pt_uuid7() FROM n;

-- No two are the same.
SELECT count(*), count(DISTINCT guid), count(DISTINCT uuid7) FROM made;

-- All have the canonical form in lower case, with version and variant of RFC 9562.
SELECT count(*) FROM made
WHERE guid LIKE '________-____-4___-____-____________' AND NOT guid GLOB '*[^-0-9a-f]*'
  AND substr(guid, 20, 1) IN ('8', '9', 'a', 'b') AND length(replace(guid, '-', '')) = 32;
SELECT count(*) FROM made
WHERE uuid7 LIKE '________-____-7___-____-____________' AND NOT uuid7 GLOB '*[^-0-9a-f]*'
  AND substr(uuid7, 20, 1) IN ('8', '9', 'a', 'b') AND length(replace(uuid7, '-', '')) = 32;

-- pt_uuid7 ascends in the order of making.
SELECT count(*) FROM (SELECT uuid7, lag(uuid7) OVER (ORDER BY n) AS before FROM made)
WHERE uuid7 <= before;

-- Its first 48 bits are milliseconds since 1970.
WITH RECURSIVE
  digits(hex) AS (SELECT substr(replace(pt_uuid7(), '-', ''), 1, 12)),
  milliseconds(hex, n) AS (SELECT hex, 0 FROM digits
    UNION ALL SELECT substr(hex, 2), n * 16 + instr('0123456789abcdef', substr(hex, 1, 1)) - 1
    FROM milliseconds WHERE hex <> '')
SELECT abs(n - strftime('%s', 'now') * 1000) < 10000 FROM milliseconds WHERE hex = '';

-- The random rest is spread: each of its hexadecimal digits takes all 16 values.
WITH RECURSIVE place(i) AS (SELECT 21 UNION ALL SELECT i + 1 FROM place WHERE i < 36)
SELECT count(*), min(c), max(c) FROM
  (SELECT count(DISTINCT substr(uuid7, i, 1)) AS c FROM made, place WHERE i <> 24 GROUP BY i);

-- Neither is deterministic, and neither takes an argument.
CREATE INDEX made_guid ON made(pt_guid());
SELECT pt_guid(7);
SELECT pt_uuid7('now');

-- Innocuous: allowed in a default also where the schema is not trusted.
PRAGMA trusted_schema = 0;
CREATE TABLE session(id TEXT DEFAULT (pt_uuid7()), user TEXT DEFAULT (pt_guid()), at TEXT DEFAULT (pt_inverted_ticks()));
INSERT INTO session DEFAULT VALUES;
SELECT length(id), length(user), length(at) FROM session;
