-- sql/partition_report.sql: partition sizes as a text chart and as an SVG file.
.load ./ptable
CREATE VIRTUAL TABLE Login USING ptable(Result String);
-- A partition an hour: most logins come at eight and nine.
WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 3000)
  INSERT INTO Login SELECT '2026-11-21T' || pt_pad(8 + (n % 7) * (n % 7) / 8, 2), n, 'ok' FROM number;
INSERT INTO Login VALUES ('', '1', 'ok'), ('a<b> & "c"', '1', 'ok'),
  ('a very long PartitionKey, of 45 characters: ' || char(233), '1', 'ok'), (char(27) || '[2J', '1', 'ok');

CREATE TEMP VIEW reported AS SELECT * FROM pt_partitions('Login');
.parameter set @svg "'build/login.svg'"
.read sql/partition_report.sql

-- The picture itself.
.shell cat build/login.svg

-- Another view, of fewer partitions; more than twenty are summed up.
WITH RECURSIVE day(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM day WHERE n < 30)
  INSERT INTO Login SELECT 'day ' || pt_pad(n, 2), entity.value, 'ok'
    FROM day, json_each('[1,2,3,4,5]') AS entity WHERE entity.value <= 1 + n / 7;
DROP VIEW reported;
CREATE TEMP VIEW reported AS SELECT * FROM pt_partitions('Login') WHERE PartitionKey GLOB 'day*';
.parameter set @svg "'build/day.svg'"
.read sql/partition_report.sql
SELECT (length(svg) - length(replace(svg, '<rect class', ''))) / length('<rect class') AS bars
  FROM (SELECT CAST(readfile('build/day.svg') AS TEXT) AS svg);

-- Nothing to report; and a file that cannot be written.
DROP VIEW reported;
CREATE TEMP VIEW reported AS SELECT * FROM pt_partitions('Login') WHERE PartitionKey = 'nowhere';
.parameter clear
.read sql/partition_report.sql
.shell rm partition_report.svg
.parameter set @svg "'build'"
.read sql/partition_report.sql
SELECT count(*) AS left_behind FROM temp.sqlite_schema WHERE name GLOB 'partition_*';
