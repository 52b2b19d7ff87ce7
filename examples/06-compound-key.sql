-- Compound key
-- Problem: an employee has a review every year. One query should read the employee with all
--   reviews, or with those of some years.
-- Solution: the reviews follow their employee, in the same partition. Their RowKey is the
--   employee's, followed by the year.
-- When: most questions begin with the owner of the parts.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Employee USING ptable(LastName String, Rating Int32);
INSERT INTO Employee VALUES
  ('Sales', pt_compound_key('empid', '000123'),       'Jones', NULL),
  ('Sales', pt_compound_key('empid', '000123', 2011), NULL, 3),
  ('Sales', pt_compound_key('empid', '000123', 2012), NULL, 5);
SELECT RowKey, Rating FROM Employee             -- the reviews; an employee's key lacks the last _
  WHERE PartitionKey = 'Sales' AND pt_starts_with(RowKey, 'empid_000123_');

-- In detail, in a new database
--
-- Keys: PartitionKey  the department: 'Sales'
--       RowKey        'empid_000123' for the employee, 'empid_000123_2012' for the review of 2012
-- Costs: a question that does not begin with the employee, such as all reviews of 2012, reads the
--   whole partition. A part of a key must not contain the separator.
-- Better in SQL: pt_starts_with needs no upper bound; pt_compound_key and pt_key_part build and
--   split keys; a join puts employee and reviews into one row.
.open :memory:
.load ./ptable
.nullvalue NULL

CREATE VIRTUAL TABLE Employee USING ptable(
  LastName String, ManagerRating Int32, PeerRating Int32, Comments String);

.print
.print == Keys are joined from parts, and split
-- pt_compound_key joins the parts with '_'.
INSERT INTO Employee VALUES
  ('Sales', pt_compound_key('empid', '000123'), 'Jones', NULL, NULL, NULL),
  ('Sales', pt_compound_key('empid', '000123', 2011), NULL, 3, 4, 'Careful'),
  ('Sales', pt_compound_key('empid', '000123', 2012), NULL, 5, 4, 'Quick'),
  ('Sales', pt_compound_key('empid', '000124'), 'Kwok', NULL, NULL, NULL),
  ('Sales', pt_compound_key('empid', '000124', 2012), NULL, 2, 3, 'New'),
  ('Sales', pt_compound_key('empid', '0001235'), 'Hall', NULL, NULL, NULL);
SELECT RowKey, pt_key_part(RowKey, 2) AS id, pt_key_part(RowKey, 3) AS year,
  pt_key_part(RowKey, -1) AS last FROM Employee WHERE PartitionKey = 'Sales';

-- A part that contains the separator could not be told from two parts, so it is refused. Another
-- separator accepts it.
SELECT pt_compound_key('empid', '000_123', 2012);
SELECT pt_compound_key_sep('~', 'empid', '000_123', 2012) AS key,
  pt_key_part(pt_compound_key_sep('~', 'empid', '000_123', 2012), 2, '~') AS id;

.print
.print == Employee 000123 and all reviews: ranges that look right
-- The design guide's upper bound lacks the prefix. '0' comes before 'e', so the range ends before
-- it begins: nothing is found, and there is no error.
SELECT count(*) AS "lt '000123_2012'" FROM Employee WHERE Filter MATCH
  'PartitionKey eq ''Sales'' and RowKey ge ''empid_000123'' and RowKey lt ''000123_2012''';
-- With the prefix, but the review of 2012 itself is left out.
SELECT RowKey AS "lt 'empid_000123_2012'" FROM Employee WHERE Filter MATCH
  'PartitionKey eq ''Sales'' and RowKey ge ''empid_000123'' and RowKey lt ''empid_000123_2012''';
-- Up to the next id: right as long as all ids have six digits. Here one has seven.
SELECT RowKey AS "lt 'empid_000124'" FROM Employee WHERE Filter MATCH
  'PartitionKey eq ''Sales'' and RowKey ge ''empid_000123'' and RowKey lt ''empid_000124''';

.print
.print == The right one
-- All reviews begin with 'empid_000123_'. The first text after all of those ends with the
-- character after '_': that is the upper bound on the Table service.
SELECT pt_prefix_end('empid_000123_') AS bound;
SELECT RowKey, Comments FROM Employee WHERE Filter MATCH
  'PartitionKey eq ''Sales'' and RowKey ge ''empid_000123_'' and RowKey lt ''empid_000123`''';
-- In SQL give the prefix; it is the same range.
.eqp on
SELECT RowKey, Comments FROM Employee
  WHERE PartitionKey = 'Sales' AND pt_starts_with(RowKey, 'empid_000123_');
-- The employee as well. Each side of OR names the partition: only then is each a query of its own.
SELECT RowKey, LastName, Comments FROM Employee
  WHERE (PartitionKey = 'Sales' AND RowKey = 'empid_000123')
    OR (PartitionKey = 'Sales' AND pt_starts_with(RowKey, 'empid_000123_'));
.eqp off

-- Years sort as text and all have four digits: some years are a range, the latest is the last key.
SELECT pt_key_part(RowKey, 3) AS year, ManagerRating FROM Employee WHERE PartitionKey = 'Sales'
  AND RowKey BETWEEN pt_compound_key('empid', '000123', 2010)
    AND pt_compound_key('empid', '000123', 2011);
.eqp on
SELECT pt_key_part(RowKey, 3) AS latest, ManagerRating FROM Employee
  WHERE PartitionKey = 'Sales' AND pt_starts_with(RowKey, 'empid_000123_')
  ORDER BY RowKey DESC LIMIT 1;
.eqp off

.print
.print == Employees and reviews in one row each
-- The keys of the reviews begin with the employee's key, which the join uses. A key without a third
-- part is an employee's.
.eqp on
SELECT Person.RowKey, Person.LastName, count(Review.RowKey) AS reviews,
    avg(Review.ManagerRating) AS rating
  FROM Employee AS Person
  LEFT JOIN Employee AS Review ON Review.PartitionKey = Person.PartitionKey
    AND pt_starts_with(Review.RowKey, Person.RowKey || '_')
  WHERE Person.PartitionKey = 'Sales' AND pt_key_part(Person.RowKey, 3) IS NULL
  GROUP BY Person.RowKey;
.eqp off

.print
.print == A query that does not begin with the employee: all reviews of 2012
-- A partition scan. If this query is frequent, 01-intra-partition-index.sql adds a key for it.
.eqp on
SELECT RowKey, Comments FROM Employee
  WHERE PartitionKey = 'Sales' AND pt_key_part(RowKey, 3) = '2012';
.eqp off

.print
.print == Names of properties have no blanks
-- The design guide selects 'Manager Rating'. The service allows no such names, and its filters
-- cannot express them.
CREATE VIRTUAL TABLE Review USING ptable("Manager Rating" Int32, limits='azure');
INSERT INTO Review VALUES ('Sales', '000123_2012', 5);
-- Without limits='azure' any name is allowed; in SQL it is quoted.
CREATE VIRTUAL TABLE FreeReview USING ptable("Manager Rating" Int32);
INSERT INTO FreeReview VALUES ('Sales', '000123_2012', 5);
SELECT RowKey, "Manager Rating" FROM FreeReview WHERE "Manager Rating" > 4;
SELECT RowKey FROM FreeReview WHERE Filter MATCH 'Manager Rating gt 4';

-- In SQL a separate table for the reviews works as well, with the key ('000123', '2012'): a join
-- reads both. One table keeps them in one range, and in one batch of the service.
