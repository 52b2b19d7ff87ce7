-- Table name key
-- Problem: one program keeps the orders of several companies, its tenants. Their data must stay
--   apart: it is counted and deleted for each of them, at no cost to the others.
-- Solution: a table for each tenant; the name is one more key, before the other two.
-- When: tenants come and go as a whole, and few questions are about all of them.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Contoso  USING ptable(Customer String, Total Int32, table=OrderContoso);
CREATE VIRTUAL TABLE Fabrikam USING ptable(Customer String, Total Int32, table=OrderFabrikam);
INSERT INTO Contoso VALUES ('2014-07', '000101', 'jonesj@contoso.com', 80);
INSERT INTO Fabrikam VALUES ('2014-07', '000101', 'kwokk@fabrikam.com', 300);
SELECT substr(TableName, 6) AS tenant, Entities FROM pt_tables;
DELETE FROM pt_tables WHERE TableName = 'OrderFabrikam';    -- a tenant leaves

-- In detail, in a new database
--
-- Keys: table         'Order' and the tenant: OrderContoso
--       PartitionKey  the month: '2014-07'
--       RowKey        the order's number: '000101'
-- Costs: a declaration for each tenant and, for questions about all of them, a query for each,
--   which the Table service leaves to the client.
-- Better in SQL: one view reads all tenants, and a transaction spans their tables.
.open :memory:
.load ./ptable

.print
.print == A table for each tenant
-- In SQL it may have any name; the option table names the table of the store.
CREATE VIRTUAL TABLE Contoso  USING ptable(Customer String, Total Int32, table=OrderContoso);
CREATE VIRTUAL TABLE Fabrikam USING ptable(Customer String, Total Int32, table=OrderFabrikam);
INSERT INTO Contoso VALUES ('2014-06', '000100', 'jonesj@contoso.com', 120),
  ('2014-07', '000101', 'jonesj@contoso.com', 80), ('2014-07', '000102', 'donh@contoso.com', 45);
INSERT INTO Fabrikam VALUES ('2014-07', '000101', 'kwokk@fabrikam.com', 300);

-- A tenant's name must be usable in a table's name. The service allows only letters and digits,
-- which limits='azure' checks. Names that differ only in case are one table, there and here (409).
CREATE VIRTUAL TABLE Tailspin USING ptable(
  Customer String, Total Int32, table='Order-Tailspin-Toys', limits='azure');
INSERT INTO pt_tables(TableName) VALUES ('ORDERCONTOSO');
CREATE VIRTUAL TABLE Tailspin USING ptable(
  Customer String, Total Int32, table='OrderTailspinToys', limits='azure');
INSERT INTO Tailspin VALUES ('2014-07', '000101', 'annb@tailspintoys.com', 60);

.print
.print == The tenants, and how much each has
-- These are counters of the store: no entity is read.
SELECT substr(TableName, 6) AS tenant, Entities, Bytes FROM pt_tables WHERE TableName GLOB 'Order*';
-- = compares the names of tables case-insensitively, GLOB case-sensitively.
SELECT count(*) FILTER (WHERE TableName = 'ordercontoso') AS "=",
       count(*) FILTER (WHERE TableName GLOB 'ordercontoso') AS "GLOB" FROM pt_tables;

.print
.print == One tenant: its table
-- The same keys are another entity in another tenant's table.
.eqp on
SELECT 'Contoso' AS tenant, Total FROM Contoso WHERE PartitionKey = '2014-07' AND RowKey = '000101'
UNION ALL
SELECT 'Fabrikam', Total FROM Fabrikam WHERE PartitionKey = '2014-07' AND RowKey = '000101';
.eqp off

.print
.print == All tenants: a view
-- Conditions on keys reach each table. A new tenant needs a new view, which can be made from the
-- list in pt_tables: 08-high-volume-delete.sql does so for a table each day.
CREATE VIEW AnyOrder AS
  SELECT 'Contoso' AS Tenant, * FROM Contoso UNION ALL
  SELECT 'Fabrikam' AS Tenant, * FROM Fabrikam UNION ALL
  SELECT 'TailspinToys' AS Tenant, * FROM Tailspin;
.eqp on
SELECT Tenant, count(*) AS orders, sum(Total) AS total FROM AnyOrder
  WHERE PartitionKey = '2014-07' GROUP BY Tenant;
.eqp off

.print
.print == A transaction over tenants: Contoso hands an order over to Fabrikam
-- The service has no transaction over two tables. Fabrikam has an order 000101 of July: OR ROLLBACK
-- ends the transaction at the statement that fails, so the order that was deleted is back, and
-- COMMIT finds no transaction. Properties are all properties, including undeclared ones.
CREATE TEMP TABLE Moving(PartitionKey TEXT, RowKey TEXT, Properties TEXT);
BEGIN;
INSERT INTO Moving SELECT PartitionKey, RowKey, Properties FROM Contoso
  WHERE PartitionKey = '2014-07' AND RowKey = '000101';
DELETE FROM Contoso WHERE PartitionKey = '2014-07' AND RowKey = '000101';
INSERT OR ROLLBACK INTO Fabrikam(PartitionKey, RowKey, Properties) SELECT * FROM Moving;
COMMIT;
SELECT Tenant, RowKey, Total FROM AnyOrder WHERE PartitionKey = '2014-07';
-- Under a number that is free.
BEGIN;
INSERT INTO Moving SELECT PartitionKey, '000102', Properties FROM Contoso
  WHERE PartitionKey = '2014-07' AND RowKey = '000101';
DELETE FROM Contoso WHERE PartitionKey = '2014-07' AND RowKey = '000101';
INSERT OR ROLLBACK INTO Fabrikam(PartitionKey, RowKey, Properties) SELECT * FROM Moving;
COMMIT;
SELECT Tenant, RowKey, Total FROM AnyOrder WHERE PartitionKey = '2014-07';
-- The INSERT, which can fail, is the last statement on purpose. If it were the first, a script
-- would go on with the DELETE, outside any transaction, and the order would be gone.

.print
.print == A tenant leaves
-- Dropping its table is one operation, whose time does not grow with the entities. Its declaration
-- stays, and reports that the table is gone (404).
DELETE FROM pt_tables WHERE TableName = 'OrderFabrikam';
SELECT changes() AS "tables dropped";
SELECT * FROM Fabrikam;
-- The view fails likewise, unless the condition on Tenant excludes that table.
SELECT count(*) FROM AnyOrder;
SELECT count(*) AS "orders of Contoso" FROM AnyOrder WHERE Tenant = 'Contoso';
-- The tenant comes back. The name is free at once; the service keeps it busy for 40 seconds or more
-- (409 TableBeingDeleted).
INSERT INTO pt_tables(TableName) VALUES ('OrderFabrikam');
INSERT INTO Fabrikam VALUES ('2014-08', '000103', 'kwokk@fabrikam.com', 10);
SELECT Tenant, count(*) AS orders FROM AnyOrder GROUP BY Tenant;
-- DROP TABLE alone removes the declaration; the data stays.
DROP VIEW AnyOrder;
DROP TABLE Tailspin;
SELECT TableName, Entities FROM pt_tables WHERE TableName = 'OrderTailspinToys';

.print
.print == The plain way: one table, the tenant at the start of the PartitionKey
-- No declarations and no view are needed, and all tenants are one query; better for thousands of
-- small tenants. A tenant is a range of keys (the '_' keeps 'Contoso' and 'ContosoEast' apart), and
-- to delete one costs as much as it has entities.
CREATE VIRTUAL TABLE OneTable USING ptable(Customer String, Total Int32);
INSERT INTO OneTable SELECT 'Contoso_' || PartitionKey, RowKey, Customer, Total FROM Contoso;
INSERT INTO OneTable SELECT 'Fabrikam_' || PartitionKey, RowKey, Customer, Total FROM Fabrikam;
INSERT INTO OneTable VALUES ('ContosoEast_2014-07', '000101', 'jonesj@contoso.com', 15);
SELECT pt_key_part(PartitionKey, 1) AS tenant, count(*) AS orders, sum(Total) AS total
  FROM OneTable GROUP BY tenant;
.eqp on
DELETE FROM OneTable WHERE pt_starts_with(PartitionKey, 'Contoso_');
.eqp off
SELECT changes() AS "entities deleted";
SELECT * FROM OneTable;
