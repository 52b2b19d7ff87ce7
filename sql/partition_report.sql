-- Shows how a table's entities are spread over its partitions: a bar chart in the shell, and an SVG
-- file with the largest partitions and the sizes of all partitions by rank. For the sqlite3 shell:
--
--     CREATE TEMP VIEW reported AS SELECT * FROM pt_partitions('Employee');
--     .parameter set @svg "'employee.svg'"
--     .read sql/partition_report.sql
--
-- The view selects the table, maybe of another store (pt_partitions('contoso.ptable', 'Employee')),
-- and may have a WHERE. Without @svg the file is partition_report.svg in the current folder. Sizes
-- are Bytes. Skew is the largest partition divided by the mean: 1 is even; with n partitions n is
-- the worst. Afterwards the shell is in .mode list with .headers off.

.mode list
.headers off

DROP TABLE IF EXISTS temp.partition_report;
CREATE TEMP TABLE partition_report AS
  SELECT row_number() OVER (ORDER BY Bytes DESC, PartitionKey) AS Rank, TableName,
         PartitionKey, Entities, Bytes
    FROM temp.reported;

-- One row for the whole table; all zeros if it has no entities.
DROP VIEW IF EXISTS temp.partition_summary;
CREATE TEMP VIEW partition_summary AS
  SELECT count(*) AS Partitions, coalesce(max(TableName), '') AS TableName,
         coalesce(sum(Entities), 0) AS Entities, coalesce(sum(Bytes), 0) AS Bytes,
         coalesce(max(Bytes), 0) AS Largest, coalesce(avg(Bytes), 0) AS Mean,
         coalesce((SELECT avg(Bytes) FROM temp.partition_report
                    WHERE Rank IN ((SELECT count(*) + 1 FROM temp.partition_report) / 2,
                                   (SELECT count(*) + 2 FROM temp.partition_report) / 2)),
                  0) AS Median,
         coalesce(1.0 * max(Bytes) / avg(Bytes), 0) AS Skew
    FROM temp.partition_report;

-- The twenty largest, and one row for all the others, which has no bar: that would dwarf the rest.
-- Labels are short and without control characters.
DROP VIEW IF EXISTS temp.partition_bars;
CREATE TEMP VIEW partition_bars AS
  WITH part AS (
         SELECT min(Rank, 21) AS Rank, sum(Entities) AS Entities, sum(Bytes) AS Bytes,
                count(*) AS Partitions, PartitionKey
           FROM temp.partition_report GROUP BY min(Rank, 21)),
       label(Rank, Text) AS (
         SELECT Rank,
                CASE WHEN Rank = 21 THEN format('(%,d more)', Partitions)
                     WHEN PartitionKey = '' THEN '(empty)'
                     WHEN length(PartitionKey) > 24 THEN substr(PartitionKey, 1, 23) || char(8230)
                     ELSE PartitionKey END
           FROM part),
       -- Replaces characters that neither a terminal nor XML accepts, one by one.
       clean(Rank, Text, Code) AS (
         SELECT Rank, Text, 1 FROM label
          UNION ALL
         SELECT Rank, replace(Text, char(Code), char(183)),
                CASE Code WHEN 31 THEN 127 WHEN 159 THEN 65534 ELSE Code + 1 END
           FROM clean WHERE Code < 65536)
  SELECT part.Rank, clean.Text AS Label, part.Entities, part.Bytes,
         1.0 * part.Bytes / max(1, summary.Bytes) AS Share,
         CASE part.Rank WHEN 21 THEN 0 ELSE 1.0 * part.Bytes / max(1, summary.Largest) END AS Length
    FROM part JOIN clean ON clean.Rank = part.Rank AND clean.Code = 65536
         JOIN temp.partition_summary AS summary
   ORDER BY part.Rank;

SELECT CASE Partitions WHEN 0 THEN 'there are no partitions to report'
       ELSE format('%s: %,d entities and %,d bytes in %,d partitions', TableName, Entities, Bytes,
                   Partitions) END
  FROM temp.partition_summary;
SELECT format('skew %.1f: the largest has %,d bytes, the mean is %,d, the median %,d', Skew, Largest,
              CAST(Mean AS INT), CAST(Median AS INT))
  FROM temp.partition_summary WHERE Partitions > 0;
SELECT format(char(10) || '%-!24s %12s %14s %7s', 'PartitionKey', 'Entities', 'Bytes', 'share')
  FROM temp.partition_summary WHERE Partitions > 0;
SELECT rtrim(format('%-!24s %,12d %,14d %5.1f %% ', Label, Entities, Bytes, 100 * Share) ||
             replace(hex(zeroblob(CAST(round(30 * Length) AS INT))), '00', char(9608)))
  FROM temp.partition_bars;

-- The same as SVG: on the left the bars; on the right the sizes of the partitions from the largest
-- to the smallest (a curve of at most 400 points), and the mean.
WITH escaped AS (
       SELECT Rank, Entities, Bytes, Share, Length,
              replace(replace(replace(Label, '&', '&amp;'), '<', '&lt;'), '"', '&quot;') AS Label
         FROM temp.partition_bars),
     bars(Svg) AS (
       SELECT group_concat(format(
                '<text x="190" y="%d" text-anchor="end">%s</text>' ||
                '<rect class="bar" x="200" y="%d" width="%.1f" height="14">' ||
                '<title>%s: %,d entities, %,d bytes</title></rect>' ||
                '<text class="small" x="%.1f" y="%d">%.1f %%</text>',
                100 + 22 * Rank, Label, 88 + 22 * Rank, 280 * Length, Label, Entities, Bytes,
                206 + 280 * Length, 100 + 22 * Rank, 100 * Share), char(10))
         FROM escaped),
     curve(Svg, MeanY) AS (
       SELECT group_concat(format('%.1f,%.1f', 600.0 + 300.0 * (Rank - 1) / max(1, Partitions - 1),
                                  560.0 - 440.0 * p.Bytes / max(1, Largest)), ' '),
              560.0 - 440.0 * Mean / max(1, Largest)
         FROM temp.partition_report AS p JOIN temp.partition_summary AS s
        WHERE (Rank - 1) % (1 + Partitions / 400) = 0 OR Rank = Partitions),
     title(Text) AS (
       SELECT replace(replace(TableName, '&', '&amp;'), '<', '&lt;') FROM temp.partition_summary),
     picture(Svg) AS (
       SELECT format(
'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 940 620" font-family="sans-serif" font-size="12">
<style>
.bar { fill: #2b6cb0 } .small { font-size: 11px; fill: #4a5568 }
.curve { fill: none; stroke: #2b6cb0; stroke-width: 2 } .axis { stroke: #718096 }
.mean { stroke: #c05621; stroke-dasharray: 4 3 }
</style>
<rect width="940" height="620" fill="#fff"/>
<text x="20" y="34" font-size="20">Partitions of %s</text>
<text x="20" y="58">%,d entities and %,d bytes in %,d partitions</text>
<text x="20" y="78">skew %.1f: the largest has %,d bytes, the mean is %,d, the median %,d</text>
%s
<text x="600" y="106">bytes of each partition, by rank</text>
<line class="axis" x1="600" y1="560" x2="900" y2="560"/><line class="axis" x1="600" y1="120" x2="600" y2="560"/>
<line class="mean" x1="600" y1="%.1f" x2="900" y2="%.1f"/><text class="small" x="900" y="%.1f" text-anchor="end">mean</text>
<polyline class="curve" points="%s"/>
<text class="small" x="594" y="126" text-anchor="end">%,d</text><text class="small" x="594" y="562" text-anchor="end">0</text>
<text class="small" x="600" y="578">1</text><text class="small" x="900" y="578" text-anchor="end">%,d</text>
</svg>
',            title.Text, Entities, Bytes, Partitions, Skew, Largest, CAST(Mean AS INT),
              CAST(Median AS INT), coalesce(bars.Svg, ''), coalesce(MeanY, 560.0),
              coalesce(MeanY, 560.0), coalesce(MeanY, 560.0) - 5, coalesce(curve.Svg, ''), Largest,
              Partitions)
         FROM temp.partition_summary, bars, curve, title)
SELECT CASE WHEN writefile(coalesce(@svg, 'partition_report.svg'), Svg) > 0
            THEN char(10) || 'written: ' || coalesce(@svg, 'partition_report.svg')
            ELSE 'cannot write ' || coalesce(@svg, 'partition_report.svg') END
  FROM picture;

DROP VIEW temp.partition_bars;
DROP VIEW temp.partition_summary;
DROP TABLE temp.partition_report;
