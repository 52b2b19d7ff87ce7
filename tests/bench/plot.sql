-- make bench-plot: draws build/bench/bench.csv as build/bench/bench.svg. For each row of the
-- benchmark and each side a bar from 1 (the ordinary table) to the ratio, on a logarithmic scale,
-- to the right if faster; a mark where the target is. For the sqlite3 shell.

.mode list
.headers off

CREATE TABLE bench(name TEXT, host TEXT, side TEXT, operations INT, median REAL, least REAL,
                   most REAL, ratio REAL, target TEXT);
.import --csv --skip 1 build/bench/bench.csv bench

-- Colour and place of the sides.
CREATE TABLE sides(side TEXT, host TEXT, place INT, title TEXT, colour TEXT);
INSERT INTO sides VALUES
  ('json',   'wal',    0, 'JSON ->>',         '#a0aec0'),
  ('ptable', 'memory', 1, 'ptable, :memory:', '#2b6cb0'),
  ('ptable', 'wal',    2, 'ptable, WAL file', '#63b3ed'),
  ('lmdb',   '-',      3, 'LMDB itself',      '#ecc94b'),
  ('floor',  'memory', 4, 'floor',            '#cbd5e0');

-- The chart goes from 0.01 to 1,000: 120 units for each power of ten, 1 at x = 560.
CREATE VIEW scaled AS
  SELECT name, first_value(b.rowid) OVER (PARTITION BY name ORDER BY b.rowid) AS position,
         place, title, colour, ratio, median / operations AS seconds, CAST(target AS REAL) AS target,
         560 + 120 * log10(min(1000.0, max(0.01, ratio))) AS x,
         560 + 120 * log10(min(1000.0, max(0.01, nullif(CAST(target AS REAL), 0)))) AS target_x
    FROM bench AS b JOIN sides USING (side, host);

CREATE VIEW bars AS
  SELECT *, 90 + 68 * (dense_rank() OVER (ORDER BY position) - 1) AS y FROM scaled;

WITH height(h) AS (SELECT 68 * count(DISTINCT name) + 110 FROM bars),
     grid(Svg) AS (
       SELECT group_concat(format(
                '<line class="%s" x1="%d" y1="80" x2="%d" y2="%d"/>' ||
                '<text class="small" x="%d" y="74" text-anchor="middle">%s</text>',
                iif(column1 = 0, 'one', 'grid'), 560 + 120 * column1, 560 + 120 * column1, h - 30,
                560 + 120 * column1, column2), char(10))
         FROM (VALUES (-2, '0.01'), (-1, '0.1'), (0, '1'), (1, '10'), (2, '100'), (3, '1000')),
              height),
     names(Svg) AS (
       SELECT group_concat(format('<text x="310" y="%d" text-anchor="end">%s</text>', y + 34,
                                  replace(replace(name, '&', '&amp;'), '<', '&lt;')), char(10))
         FROM (SELECT DISTINCT name, y FROM bars)),
     shapes(Svg) AS (
       SELECT group_concat(format(
                '<rect x="%.1f" y="%d" width="%.1f" height="10" fill="%s">' ||
                '<title>%s, %s: %.2f times, %.3g s</title></rect>',
                min(560.0, x), y + 12 * place, abs(x - 560.0), colour,
                replace(replace(name, '&', '&amp;'), '<', '&lt;'),
                replace(replace(title, '&', '&amp;'), '>', '&gt;'), ratio, seconds), char(10))
         FROM bars),
     targets(Svg) AS (
       SELECT group_concat(format('<line class="target" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>',
                                  target_x, y + 12 * place - 1, target_x, y + 12 * place + 11),
                           char(10))
         FROM bars WHERE target > 0),
     legend(Svg) AS (
       SELECT group_concat(format('<rect x="%d" y="40" width="12" height="12" fill="%s"/>' ||
                                  '<text x="%d" y="50">%s</text>', 330 + 125 * place, colour,
                                  347 + 125 * place,
                                  replace(title, '>', '&gt;')), char(10))
         FROM sides),
     picture(Svg) AS (
       SELECT format(
'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 %d" font-family="sans-serif" font-size="12">
<style>
.grid { stroke: #e2e8f0 } .one { stroke: #4a5568 } .small { font-size: 11px; fill: #4a5568 }
.target { stroke: #c53030; stroke-width: 2 }
</style>
<rect width="960" height="%d" fill="#fff"/>
<text x="20" y="28" font-size="18">Times as fast as an ordinary table</text>
<text class="small" x="20" y="50">red: the target</text>
%s
%s
%s
%s
%s
</svg>
', h, h, legend.Svg, grid.Svg, names.Svg, shapes.Svg, coalesce(targets.Svg, ''))
         FROM height, legend, grid, names, shapes, targets)
SELECT iif(writefile('build/bench/bench.svg', Svg) > 0, 'written: build/bench/bench.svg',
           'build/bench/bench.svg cannot be written')
  FROM picture;
