-- Log tail
-- Problem: read the latest ten expense claims of an employee, out of very many. The Table service
--   reads in ascending key order only.
-- Solution: the RowKey counts down: it is the time left until the end of the year 9999. The newest
--   entity comes first.
-- When: data must move to or from the service. In SQL alone, ORDER BY RowKey DESC does it.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Expense USING ptable(Submitted DateTime, Amount Double);
INSERT INTO Expense VALUES
  ('empid_000223', pt_inverted_ticks('2026-01-07 09:30') || '_c01', '2026-01-07 09:30', 12.5),
  ('empid_000223', pt_inverted_ticks('2026-01-14 09:30') || '_c02', '2026-01-14 09:30', 25.0);
SELECT RowKey, Submitted, Amount FROM Expense WHERE PartitionKey = 'empid_000223' LIMIT 10;

-- In detail, in a new database
--
-- Keys: PartitionKey  the employee: 'empid_000223'
--       RowKey        '2516070501974515545_c17': 3155378975999999999 minus the ticks of 100 ns
--                     since the year 1, always 19 digits; then the claim's id
-- Costs: unreadable keys, and ranges whose bounds are swapped.
-- Better in SQL: two functions convert both ways exactly; ORDER BY ... DESC reads backwards, so
--   plain times serve as keys and the trick is not needed: see the end.
.open :memory:
.load ./ptable

.print
.print == There and back
SELECT time, pt_inverted_ticks(time) AS inverted,
  pt_inverted_datetime(pt_inverted_ticks(time)) AS back
  FROM (SELECT column1 AS time FROM (VALUES ('9999-12-31T23:59:59.9999999Z'),
    ('2014-07-31T15:04:05.0000001Z'), ('2014-07-31T15:04:05Z'), ('1970-01-01'), ('0001-01-01')));
-- It takes 64-bit integers: a double is exact only up to 2^53 and loses the last digits.
SELECT 3155378975999999999 - pt_ticks('2014-07-31T15:04:05Z') AS integer,
  CAST(3155378975999999999.0 - pt_ticks('2014-07-31T15:04:05Z') AS INTEGER) AS double;

.print
.print == The latest ten are the first ten
-- Fourteen claims, one a week. The id after the time is explained below.
CREATE VIRTUAL TABLE EmployeeExpense USING ptable(Submitted DateTime, Amount Double);
WITH RECURSIVE N(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM N WHERE n < 14),
  Claim AS (SELECT 'c' || pt_pad(n, 2) AS id, 12.5 * n AS amount,
    datetime('2025-12-31 09:30', (7 * n) || ' days') AS time FROM N)
INSERT INTO EmployeeExpense
  SELECT 'empid_000223', pt_inverted_ticks(time) || '_' || id, time, amount FROM Claim;

-- The rows are in key order: nothing is sorted, and LIMIT ends the scan after ten. On the
-- service: ?$filter=PartitionKey eq 'empid_000223'&$top=10
.eqp on
SELECT RowKey, Submitted, Amount FROM EmployeeExpense
  WHERE PartitionKey = 'empid_000223' ORDER BY RowKey LIMIT 10;
.eqp off
-- The service's own filter gives the same. (The design guide puts the PartitionKey in parentheses
-- after the table's name and gives no filter; that is not a valid request.)
SELECT count(*) AS rows, max(Submitted) AS latest, min(Submitted) AS earliest FROM
  (SELECT Submitted FROM EmployeeExpense WHERE Filter MATCH 'PartitionKey eq ''empid_000223'''
    ORDER BY RowKey LIMIT 10);

.print
.print == Two claims in one tick
-- With the time alone as key the second is refused: 409. The id after it keeps them apart.
-- (Within the tick the ids still count upwards.)
CREATE VIRTUAL TABLE TimeOnly USING ptable(Amount Double);
INSERT INTO TimeOnly VALUES ('empid_000223', pt_inverted_ticks('2026-04-15 09:30'), 20.0);
INSERT INTO TimeOnly VALUES ('empid_000223', pt_inverted_ticks('2026-04-15 09:30'), 30.0);
INSERT INTO EmployeeExpense VALUES
  ('empid_000223', pt_inverted_ticks('2026-04-15 09:30') || '_c15', '2026-04-15 09:30', 20.0),
  ('empid_000223', pt_inverted_ticks('2026-04-15 09:30') || '_c16', '2026-04-15 09:30', 30.0);
SELECT pt_key_part(RowKey, 2) AS id, pt_inverted_datetime(pt_key_part(RowKey, 1)) AS "from the key"
  FROM EmployeeExpense WHERE PartitionKey = 'empid_000223' ORDER BY RowKey LIMIT 3;
-- Without an argument it is the current time; in a process, each call returns less than the one
-- before. Another process may still use the same tick: keep the id.
SELECT pt_inverted_ticks() > pt_inverted_ticks() AS "counts down";

.print
.print == A range of time: the bounds change places
-- From 14 January up to, but not including, the 28th: the later time gives the lower bound.
SELECT count(*) AS "not swapped" FROM EmployeeExpense WHERE PartitionKey = 'empid_000223'
  AND RowKey >= pt_inverted_ticks('2026-01-14 09:30')
  AND RowKey < pt_inverted_ticks('2026-01-28 09:30');
-- Keys continue after their 19 digits. So a bound of 19 digits is less than the claims of its own
-- tick, and swapped bounds include the claim at the end, not the one at the start.
SELECT pt_key_part(RowKey, 2) AS id, Submitted FROM EmployeeExpense
  WHERE PartitionKey = 'empid_000223' AND RowKey >= pt_inverted_ticks('2026-01-28 09:30')
    AND RowKey < pt_inverted_ticks('2026-01-14 09:30');
-- pt_prefix_end is greater than all keys that begin with the digits: it includes the start and not
-- the end.
.eqp on
SELECT pt_key_part(RowKey, 2) AS id, Submitted FROM EmployeeExpense
  WHERE PartitionKey = 'empid_000223'
    AND RowKey >= pt_prefix_end(pt_inverted_ticks('2026-01-28 09:30'))
    AND RowKey < pt_prefix_end(pt_inverted_ticks('2026-01-14 09:30'));
.eqp off

.print
.print == The plain way: times as they are, read backwards
-- The same claims under keys such as '2026-04-15T09:30:00.0000000Z_c16'.
CREATE VIRTUAL TABLE Expense USING ptable(Amount Double);
INSERT INTO Expense
  SELECT PartitionKey, pt_compound_key(Submitted, pt_key_part(RowKey, 2)), Amount
  FROM EmployeeExpense;
.eqp on
SELECT RowKey, Amount FROM Expense
  WHERE PartitionKey = 'empid_000223' ORDER BY RowKey DESC LIMIT 10;
-- A range is written in the natural order.
SELECT pt_key_part(RowKey, -1) AS id, Amount FROM Expense WHERE PartitionKey = 'empid_000223'
  AND RowKey >= pt_datetime('2026-01-14 09:30') AND RowKey < pt_datetime('2026-01-28 09:30')
  ORDER BY RowKey DESC;
-- It costs the same. Use inverted ticks only for data that the service itself will read.
