-- Transactional master-item
-- Problem: an order has a header and lines. They are read together, the header's total must always
--   be the sum of the lines, and no line may be added once the order is closed.
-- Solution: header and lines are entities of one partition, so one batch (entity group transaction)
--   writes them.
-- When: the parts belong to one owner and are few enough to be read at once.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Orders USING ptable(Status String, Total Int64, Product String, Price Int64);
INSERT INTO Orders VALUES ('000223', 'order',     'open', 1250, NULL,     NULL),
                          ('000223', 'line_0001', NULL,   NULL, 'Kettle', 1250);
BEGIN;                                          -- one more line
INSERT OR ROLLBACK INTO Orders VALUES ('000223', 'line_0002', NULL, NULL, 'Lamp', 4900);
UPDATE Orders SET Total = Total + 4900 WHERE PartitionKey = '000223' AND RowKey = 'order';
COMMIT;
SELECT RowKey, Status, Total, Product, Price FROM Orders WHERE PartitionKey = '000223';

-- In detail, in a new database
--
-- Keys: PartitionKey  the order's number: '000223'
--       RowKey        'order' for the header; 'line_0001', 'line_0002' ... for the lines
-- Costs: every change of a line also writes the header. On the Table service two clerks at one
--   order make each other try again (412), and a batch has room for a header and 99 lines.
-- Better in SQL: UPDATE adds to the total in place, and a trigger enforces the rules.
.open :memory:
.load ./ptable
.nullvalue NULL

CREATE VIRTUAL TABLE Orders USING ptable(
  Customer String, Status String, Total Int64, Product String, Quantity Int32, Price Int64);
-- The same table, held to the service's batches. Amounts are in cents.
CREATE VIRTUAL TABLE OrdersBatch USING ptable(
  Customer String, Status String, Total Int64, Product String, Quantity Int32, Price Int64,
  table=Orders, batch='azure');

.print
.print == A new order: one statement, one batch
-- (BEGIN is there only to show the batch in pt_batches.)
BEGIN;
INSERT OR ROLLBACK INTO OrdersBatch VALUES
  ('000223', 'order', 'jonesj@contoso.com', 'open', 7400, NULL, NULL, NULL),
  ('000223', 'line_0001', NULL, NULL, NULL, 'Kettle', 2, 1250),
  ('000223', 'line_0002', NULL, NULL, NULL, 'Lamp', 1, 4900);
SELECT PartitionKey, Operations FROM pt_batches;
-- A batch may write an entity only once. Adding to the total line by line breaks that rule, so the
-- client adds up all lines first. (Without OR ROLLBACK the transaction goes on without this
-- UPDATE.)
UPDATE OrdersBatch SET Total = Total + 100 WHERE PartitionKey = '000223' AND RowKey = 'order';
COMMIT;

.print
.print == Read all of it: one partition scan
-- 'line_' sorts before 'order', so the header comes last, or first when read backwards. The
-- header's columns are NULL in a line, and the other way round.
.eqp on
SELECT RowKey, Customer, Status, Total, Product, Quantity, Price FROM Orders
  WHERE PartitionKey = '000223';
SELECT RowKey, Total, Price FROM Orders WHERE PartitionKey = '000223' ORDER BY RowKey DESC;
-- Only the header, only the lines.
SELECT Status, Total FROM Orders WHERE PartitionKey = '000223' AND RowKey = 'order';
SELECT Product FROM Orders WHERE PartitionKey = '000223' AND pt_starts_with(RowKey, 'line_');
.eqp off
-- Numbers in keys are padded, because keys sort as text.
SELECT 'line_10' < 'line_2' AS unpadded, 'line_0010' < 'line_0002' AS padded;

.print
.print == The service's way to add a line
-- Read the header, then write line and header in one batch, the header with its ETag. Two clerks
-- have read the same header: open, a total of 7400.
CREATE TEMP TABLE Seen AS SELECT Total, ETag FROM Orders
  WHERE PartitionKey = '000223' AND RowKey = 'order' AND Status = 'open';
-- The first clerk adds a cup.
INSERT INTO OrdersBatch(PartitionKey, RowKey, Total, Product, Quantity, Price, WriteMode, IfMatch)
  SELECT '000223', 'line_0003', NULL, 'Cup', 6, 300, 'insert', NULL FROM Seen
  UNION ALL
  SELECT '000223', 'order', Total + 6 * 300, NULL, NULL, NULL, 'merge', ETag FROM Seen;
-- The second adds a spoon. The header has changed (412), so the spoon is not inserted either. The
-- clerk reads the header again and repeats everything.
INSERT INTO OrdersBatch(PartitionKey, RowKey, Total, Product, Quantity, Price, WriteMode, IfMatch)
  SELECT '000223', 'line_0004', NULL, 'Spoon', 1, 150, 'insert', NULL FROM Seen
  UNION ALL
  SELECT '000223', 'order', Total + 150, NULL, NULL, NULL, 'merge', ETag FROM Seen;
SELECT RowKey, Total, Product FROM Orders WHERE PartitionKey = '000223';

.print
.print == SQL's way: a view of the lines with a trigger
-- The trigger assigns the number, maintains the total and enforces the rule. The client reads
-- nothing first, and two clerks wait for each other instead of repeating.
CREATE VIEW OrderLine AS SELECT PartitionKey AS OrderNo, pt_key_part(RowKey, 2) AS Line,
  Product, Quantity, Price FROM Orders WHERE pt_starts_with(RowKey, 'line_');
CREATE TRIGGER OrderLineInsert INSTEAD OF INSERT ON OrderLine BEGIN
  SELECT RAISE(ABORT, 'no open order has this number') WHERE NOT EXISTS (SELECT 1 FROM Orders
    WHERE PartitionKey = new.OrderNo AND RowKey = 'order' AND Status = 'open');
  SELECT RAISE(ABORT, 'a line has a quantity and a price') WHERE new.Quantity * new.Price IS NULL;
  INSERT INTO Orders(PartitionKey, RowKey, Product, Quantity, Price) VALUES (new.OrderNo,
    'line_' || pt_pad(1 + coalesce((SELECT pt_key_part(RowKey, 2) FROM Orders
      WHERE PartitionKey = new.OrderNo AND pt_starts_with(RowKey, 'line_')
      ORDER BY RowKey DESC LIMIT 1), 0), 4),
    new.Product, new.Quantity, new.Price);
  UPDATE Orders SET Total = Total + new.Quantity * new.Price
    WHERE PartitionKey = new.OrderNo AND RowKey = 'order';
END;
INSERT INTO OrderLine(OrderNo, Product, Quantity, Price)
  VALUES ('000223', 'Spoon', 1, 150), ('000223', 'Fork', 2, 150);
SELECT RowKey, Total, Product, Quantity * Price AS amount FROM Orders WHERE PartitionKey = '000223';

.print
.print == No line is added to a closed order
-- The whole statement fails: no plate is added either.
UPDATE Orders SET Status = 'closed'
  WHERE PartitionKey = '000223' AND RowKey = 'order' AND Status = 'open';
INSERT INTO Orders(PartitionKey, RowKey, Status, Total) VALUES ('000224', 'order', 'open', 0);
INSERT INTO OrderLine(OrderNo, Product, Quantity, Price)
  VALUES ('000224', 'Plate', 4, 800), ('000223', 'Knife', 2, 150);
SELECT PartitionKey, Total FROM Orders WHERE RowKey = 'order';
-- The check alone, without a trigger: changes() shows that nothing was inserted.
INSERT INTO Orders(PartitionKey, RowKey, Product, Quantity, Price)
  SELECT PartitionKey, 'line_0006', 'Knife', 2, 150 FROM Orders
  WHERE PartitionKey = '000223' AND RowKey = 'order' AND Status = 'open';
SELECT changes() AS "lines inserted";

.print
.print == The plain way: no total
-- SQL adds up the lines in the same partition scan. Store a total if headers are listed without
-- their lines: one point query in each partition.
INSERT INTO OrderLine(OrderNo, Product, Quantity, Price) VALUES ('000224', 'Plate', 4, 800);
.eqp on
SELECT PartitionKey, Total FROM Orders WHERE RowKey = 'order';
.eqp off
SELECT PartitionKey, max(Total) AS "total kept", sum(Quantity * Price) AS "sum of lines"
  FROM Orders GROUP BY PartitionKey;

.print
.print == Deleting an order with its lines
-- One statement, however many lines there are.
DELETE FROM Orders WHERE PartitionKey = '000223';
SELECT changes() AS "entities deleted";
