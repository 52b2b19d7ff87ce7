-- Starts-with
-- Problem: find the words that begin with what the user has typed so far.
-- Solution: the text to search by is the RowKey. Keys are in order, so everything with one prefix
--   is together: RowKey ge 'METABOLIS' and RowKey lt 'METABOLIT'.
-- When: the text may be a key: it identifies the entity and does not change.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Word USING ptable(Title String);
INSERT INTO Word VALUES ('M', 'METABOLIFE', 'Metabolife'), ('M', 'METABOLISE', 'metabolise'),
  ('M', 'METABOLISM', 'metabolism'), ('M', 'METABOLITE', 'metabolite');
SELECT Title FROM Word WHERE PartitionKey = 'M' AND pt_starts_with(RowKey, upper('Metabolis'));

-- In detail, in a new database
--
-- Keys: PartitionKey  the first letter: 'M'
--       RowKey        the word in upper case: 'METABOLISM'. Title keeps the word as it is written.
-- Costs: one seek and the rows found, however many words there are. Words that differ only in case
--   share a key, and the text cannot change, because it is the key.
-- Better in SQL: pt_starts_with says it directly and is a key range, without working out an end.
.open :memory:
.load ./ptable
.nullvalue NULL

CREATE VIRTUAL TABLE Word USING ptable(Title String);
INSERT INTO Word VALUES
  ('M', 'METABOLIFE', 'Metabolife'), ('M', 'METABOLISE', 'metabolise'),
  ('M', 'METABOLISED', 'metabolised'), ('M', 'METABOLISM', 'metabolism'),
  ('M', 'METABOLITE', 'metabolite'), ('N', 'NEON', 'neon');

.print
.print == The range
.eqp on
-- As one asks the Table service: the first two ($top=2 is LIMIT 2) ...
SELECT Title FROM Word
  WHERE PartitionKey = 'M' AND RowKey >= 'METABOLIS' AND RowKey < 'METABOLIT' LIMIT 2;
-- ... the same as a $filter ...
SELECT Title FROM Word('PartitionKey eq ''M'' and RowKey ge ''METABOLIS''
  and RowKey lt ''METABOLIT''') LIMIT 2;
-- ... and all of them, without the end.
SELECT Title FROM Word WHERE PartitionKey = 'M' AND pt_starts_with(RowKey, 'METABOLIS');

-- What the user has typed, in any case. Its first letter is the partition.
.parameter set :typed "'metaboli'"
SELECT Title FROM Word
  WHERE PartitionKey = substr(upper(:typed), 1, 1) AND pt_starts_with(RowKey, upper(:typed));
-- Without the partition, the range is searched in each: one seek a partition, no scan.
SELECT Title FROM Word WHERE pt_starts_with(RowKey, upper(:typed));

.print
.print == GLOB and LIKE
-- GLOB is case-sensitive. With a literal pattern, it is the same range.
SELECT Title FROM Word WHERE PartitionKey = 'M' AND RowKey GLOB 'METABOLIS*';
-- With a computed pattern, SQLite cannot know the prefix: every key of M is read.
SELECT Title FROM Word WHERE PartitionKey = 'M' AND RowKey GLOB upper(:typed) || '*' LIMIT 1;
-- LIKE ignores the case of ASCII letters, so it is no range either. But it needs no upper-case
-- keys and searches any column: if a partition has a few thousand rows, this is the plain way.
SELECT Title FROM Word WHERE PartitionKey = 'M' AND Title LIKE 'METABOLIS%';
-- LIKE is a range, too, once it is made case-sensitive, for the whole connection.
PRAGMA case_sensitive_like = 1;
SELECT Title FROM Word WHERE PartitionKey = 'M' AND RowKey LIKE 'METABOLIS%' LIMIT 1;
PRAGMA case_sensitive_like = 0;
.eqp off

-- The user may type *, ? or [. GLOB treats them as patterns, pt_starts_with as plain characters.
SELECT 'GLOB' AS how, count(*) AS found FROM Word WHERE RowKey GLOB 'M*I' || '*' UNION ALL
SELECT 'pt_starts_with', count(*) FROM Word WHERE pt_starts_with(RowKey, 'M*I');

.print
.print == The end of a range
-- pt_prefix_end() is the smallest text greater than all with the prefix: it increments the last
-- character. The last character of all, U+10FFFF, is dropped and the one before it incremented;
-- U+D7FF becomes U+E000, past the surrogates; after nothing but U+10FFFF there is no text.
SELECT pt_prefix_end('METABOLIS') AS "METABOLIS", pt_prefix_end('Z') AS "Z",
  pt_prefix_end('MET' || char(0x10FFFF)) AS "MET U+10FFFF",
  printf('U+%X', unicode(pt_prefix_end(char(0xD7FF)))) AS "U+D7FF",
  printf('U+%X', unicode(pt_prefix_end(char(0xFFFF)))) AS "U+FFFF",
  pt_prefix_end(char(0x10FFFF)) AS "U+10FFFF";

-- An end chosen by hand is easily too low: É comes after Z, and many characters after U+FFFF.
INSERT INTO Word VALUES ('C', 'CAFE', 'cafe'), ('C', 'CAFETERIA', 'cafeteria'),
  ('C', 'CAFÉ', 'café'), ('C', 'CAF' || char(0x1F375), 'caf+teacup');
SELECT group_concat(Title, ' ') AS found FROM Word
  WHERE PartitionKey = 'C' AND RowKey >= 'CAF' AND RowKey <= 'CAF' || 'Z';
SELECT group_concat(Title, ' ') AS found FROM Word
  WHERE PartitionKey = 'C' AND RowKey >= 'CAF' AND RowKey <= 'CAF' || char(0xFFFF);
SELECT group_concat(Title, ' ') AS found FROM Word
  WHERE PartitionKey = 'C' AND RowKey >= 'CAF' AND RowKey < pt_prefix_end('CAF');

.print
.print == Upper-case keys
-- SQLite's upper() knows only ASCII. Make keys and prefixes in the program, both by one function.
SELECT upper('café') AS prefix, count(*) AS found
  FROM Word WHERE PartitionKey = 'C' AND pt_starts_with(RowKey, upper('café'));
SELECT 'CAFÉ' AS prefix, count(*) AS found
  FROM Word WHERE PartitionKey = 'C' AND pt_starts_with(RowKey, 'CAFÉ');

-- Words that differ only in case have one key: the second is refused.
INSERT INTO Word VALUES ('P', 'POLISH', 'polish'), ('P', 'POLITE', 'polite');
INSERT INTO Word VALUES ('P', 'POLISH', 'Polish');
-- If both must be stored, append the word itself to the key. A blank sorts before every letter.
UPDATE Word SET RowKey = pt_compound_key_sep(' ', RowKey, Title) WHERE PartitionKey = 'P';
INSERT INTO Word VALUES ('P', 'POLISH Polish', 'Polish');
SELECT RowKey, Title FROM Word WHERE PartitionKey = 'P' AND pt_starts_with(RowKey, 'POLI');
-- The whole word, in any case, is then a prefix too.
SELECT Title FROM Word WHERE PartitionKey = 'P' AND pt_starts_with(RowKey, 'POLISH ');
