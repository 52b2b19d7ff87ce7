-- ==================================================================================
-- Words: a list by first letter, made for "starts with" queries.
-- ==================================================================================
.load ./ptable
.mode box

-- The list, and each word in upper case. (An ordinary table for the content of the file.)
CREATE TEMP TABLE Raw(Word TEXT, Upper TEXT);
.import --csv words.csv Raw

-- A partition for each letter. The RowKey is the word in upper case, so that it is found
-- however it is written, then a blank and the word itself: Polish and polish stay apart,
-- and a blank sorts before all letters, so a word comes before its extensions.
CREATE VIRTUAL TABLE Word USING ptable(Title String, Length Int32, store=demo.ptable);
CREATE TEMP TABLE Start AS SELECT pt_ticks() AS Ticks;
INSERT INTO Word(PartitionKey, RowKey, Title, Length)
  SELECT substr(Upper, 1, 1), pt_compound_key_sep(' ', Upper, Word), Word, length(Word) FROM Raw;
SELECT changes() AS "words loaded",
  round((pt_ticks() - Ticks) / 1e7, 2) AS seconds,
  CAST(changes() / ((pt_ticks() - Ticks) / 1e7) AS INTEGER) AS "words per second" FROM Start;
.timer on
.eqp on

-- Point query: both keys are known. It takes the same time however many words there are.
SELECT Title, Length FROM Word
  WHERE PartitionKey = 'M' AND RowKey = 'METABOLISM metabolism';

-- Range query: from METABOLIS up to, but without, METABOLIT; the first two.
SELECT Title FROM Word
  WHERE PartitionKey = 'M' AND RowKey >= 'METABOLIS' AND RowKey < 'METABOLIT' LIMIT 2;

-- The whole range, without having to work out its end.
SELECT Title FROM Word WHERE PartitionKey = 'M' AND pt_starts_with(RowKey, 'METABOLIS');

-- Words that differ only in case.
SELECT Title, RowKey FROM Word
  WHERE PartitionKey = 'P' AND pt_starts_with(RowKey, 'POLISH ');

-- Letters outside ASCII work, too: sed made the keys.
SELECT Title, RowKey FROM Word WHERE PartitionKey = 'É' AND pt_starts_with(RowKey, 'ÉC') LIMIT 3;

-- The other way round: the last words of a partition, without reading those before.
-- (The order is that of the bytes, in which Ü comes after all of ASCII.)
SELECT Title FROM Word WHERE PartitionKey = 'Z' ORDER BY RowKey DESC LIMIT 3;

-- The partitions: one seek for each, without reading their words.
SELECT count(*) AS partitions, group_concat(PartitionKey, ' ') AS letters
  FROM (SELECT DISTINCT PartitionKey FROM Word);

-- SQL that the Table service does not have. Grouping by partition needs no sorting.
SELECT PartitionKey AS letter, count(*) AS words, max(Length) AS longest FROM Word
  GROUP BY PartitionKey ORDER BY words DESC LIMIT 5;

-- No key is given here, so every word is read: the plan says "table scan".
SELECT Title, Length FROM Word ORDER BY Length DESC LIMIT 3;

-- A join: words that also exist with UN in front. A point query for each word.
SELECT count(*) AS pairs, min(Negative.Title) AS first, max(Negative.Title) AS last
  FROM Word AS Positive JOIN Word AS Negative
  ON Negative.PartitionKey = 'U'
    AND Negative.RowKey = 'UN' || upper(Positive.Title) || ' un' || Positive.Title
  WHERE Positive.PartitionKey = 'H';
