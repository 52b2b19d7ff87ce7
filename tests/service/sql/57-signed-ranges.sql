-- Signatures of key ranges. The emulator does not look at these.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
CREATE VIRTUAL TABLE Employee USING pt_service(FirstName, account=hr);
SELECT PartitionKey, RowKey FROM Employee;
CREATE TEMP TABLE signature(name, token);
CREATE TEMP TABLE address AS SELECT Endpoint FROM pt_service_accounts;
INSERT INTO signature VALUES
  ('sales', pt_service_sas('hr', 'Employee', 'raud', NULL, '2099-01-01', 'Sales', NULL, 'Sales')),
  ('rows', pt_service_sas('hr', 'Employee', 'r', NULL, '2099-01-01', 'Sales', '000224', 'Sales', '000401'));
SELECT count(pt_service_account(name, 'AccountName=devstoreaccount1;SharedAccessSignature=' || token ||
    ';TableEndpoint=' || Endpoint))
  FROM signature, address;
CREATE VIRTUAL TABLE Sales USING pt_service(FirstName, account=sales, table=Employee);
CREATE VIRTUAL TABLE SomeSales USING pt_service(FirstName, account=rows, table=Employee);
SELECT PartitionKey, RowKey FROM Sales;
SELECT PartitionKey, RowKey FROM SomeSales WHERE PartitionKey = 'Sales';
SELECT FirstName FROM SomeSales WHERE PartitionKey = 'Sales' AND RowKey = '000312';
SELECT FirstName FROM SomeSales WHERE PartitionKey = 'Sales' AND RowKey = '000223';
