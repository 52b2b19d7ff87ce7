-- ==================================================================================
-- Packages: entities of different shapes in one table.
-- ==================================================================================
.load ./ptable
.mode box --wrap 60

-- What dpkg knows about the packages on this machine: a line for each field of each package.
CREATE TEMP TABLE Field(Number INTEGER, Name TEXT, Value TEXT);
.import --csv fields.csv Field
SELECT count(DISTINCT Number) AS packages, count(DISTINCT Name) AS "kinds of field",
  count(*) AS fields FROM Field;

-- Only four of the fields become columns; the others become properties, too.
-- Names of properties have no hyphens: Installed-Size becomes InstalledSize.
CREATE VIRTUAL TABLE Package USING ptable(
  Version String, Architecture String, InstalledSize Int64, Maintainer String,
  store=demo.ptable);
CREATE TEMP VIEW Gathered AS
  SELECT max(Value) FILTER (WHERE Name = 'Package') AS Package,
    coalesce(max(Value) FILTER (WHERE Name = 'Section'), 'none') AS Section,
    max(Value) FILTER (WHERE Name = 'Architecture') AS Architecture,
    max(Value) FILTER (WHERE Name = 'Version') AS Version,
    max(Value) FILTER (WHERE Name = 'Installed-Size') AS InstalledSize,
    max(Value) FILTER (WHERE Name = 'Maintainer') AS Maintainer,
    json_group_object(replace(Name, '-', ''), Value) FILTER (WHERE Name NOT IN
      ('Package', 'Section', 'Architecture', 'Version', 'Installed-Size', 'Maintainer'))
      AS Properties
  FROM Field GROUP BY Number
  HAVING max(Value) FILTER (WHERE Name = 'Status') LIKE '% ok installed';

-- Section and name are the keys. A package installed for two architectures is there twice;
-- then the architecture is part of its key.
CREATE TEMP TABLE Start AS SELECT pt_ticks() AS Ticks;
INSERT INTO Package(PartitionKey, RowKey, Version, Architecture, InstalledSize, Maintainer, Properties)
  SELECT Section, Package || iif(count(*) OVER (PARTITION BY Package) > 1, ':' || Architecture, ''),
    Version, Architecture, InstalledSize, Maintainer, Properties FROM Gathered;
SELECT changes() AS "packages loaded", round((pt_ticks() - Ticks) / 1e7, 3) AS seconds FROM Start;
.timer on
.eqp on

-- One package: the declared columns, and everything that its entity has as JSON.
SELECT * FROM Package WHERE PartitionKey = 'database' AND RowKey = 'sqlite3';
SELECT Properties FROM Package WHERE PartitionKey = 'database' AND RowKey = 'sqlite3';

-- A property without a column, in a partition scan.
SELECT RowKey AS package, Properties ->> 'Homepage' AS homepage FROM Package
  WHERE PartitionKey = 'database' AND homepage IS NOT NULL LIMIT 5;

-- Which properties the entities have: no two entities need the same ones.
SELECT key AS property, count(*) AS packages FROM Package, json_each(Properties)
  WHERE key NOT LIKE '%@odata.type' GROUP BY key ORDER BY packages DESC;

-- The essential packages: a condition on an undeclared property.
SELECT count(*) AS essential, group_concat(RowKey, ' ') AS packages FROM Package
  WHERE Properties ->> 'Essential' = 'yes';

-- Aggregates: the sections that take the most space. InstalledSize is in KiB.
SELECT PartitionKey AS section, count(*) AS packages, sum(InstalledSize) / 1024 AS MiB
  FROM Package GROUP BY PartitionKey ORDER BY MiB DESC LIMIT 5;

-- The same entities seen through other columns: declaring a table copies nothing.
CREATE VIRTUAL TABLE Origin USING ptable(
  Homepage String, Source String, store=demo.ptable, table=Package);
SELECT RowKey AS package, Homepage, Source FROM Origin
  WHERE PartitionKey = 'database' AND pt_starts_with(RowKey, 'sqlite');

-- A join with the words: packages whose name is in the dictionary, by point queries.
CREATE VIRTUAL TABLE IF NOT EXISTS Word USING ptable(Title String, Length Int32, store=demo.ptable);
SELECT count(*) AS "names that are words", min(Title) AS first, max(Title) AS last
  FROM Package JOIN Word
  ON Word.PartitionKey = upper(substr(Package.RowKey, 1, 1))
    AND Word.RowKey = upper(Package.RowKey) || ' ' || Package.RowKey;

-- A transaction sees its own writes, and ROLLBACK undoes them.
BEGIN;
UPDATE Package SET InstalledSize = 0 WHERE PartitionKey = 'database';
SELECT count(*) AS packages, sum(InstalledSize) AS size FROM Package WHERE PartitionKey = 'database';
ROLLBACK;
SELECT count(*) AS packages, sum(InstalledSize) > 0 AS "have their size" FROM Package
  WHERE PartitionKey = 'database';
