-- Shared access signatures that pt_service_sas makes, as the service accepts or refuses them.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
CREATE TEMP TABLE signature(name, token);
CREATE TEMP TABLE address AS SELECT Endpoint FROM pt_service_accounts;
INSERT INTO signature VALUES
  ('read', pt_service_sas('hr', 'Employee', 'r', NULL, '2099-01-01')),
  ('all', pt_service_sas('hr', 'EMPLOYEE', 'daur', '2026-01-01', '2099-01-01')),
  ('add', pt_service_sas('hr', 'Employee', 'a', NULL, '2099-01-01')),
  ('expired', pt_service_sas('hr', 'Employee', 'r', NULL, '2026-01-01')),
  ('early', pt_service_sas('hr', 'Employee', 'r', '2098-01-01', '2099-01-01')),
  ('other', pt_service_sas('hr', 'Many', 'r', NULL, '2099-01-01'));
INSERT INTO signature SELECT 'wrong', replace(token, 'sp=r', 'sp=raud') FROM signature WHERE name = 'read';
SELECT count(pt_service_account(name, 'AccountName=devstoreaccount1;SharedAccessSignature=' || token ||
    ';TableEndpoint=' || Endpoint))
  FROM signature, address;
CREATE VIRTUAL TABLE CanRead USING pt_service(FirstName, account=read, table=Employee);
CREATE VIRTUAL TABLE CanAll USING pt_service(FirstName, account=all, table=Employee);
CREATE VIRTUAL TABLE CanAdd USING pt_service(FirstName, account=add, table=Employee);
CREATE VIRTUAL TABLE Expired USING pt_service(FirstName, account=expired, table=Employee);
CREATE VIRTUAL TABLE Early USING pt_service(FirstName, account=early, table=Employee);
CREATE VIRTUAL TABLE Other USING pt_service(FirstName, account=other, table=Employee);
CREATE VIRTUAL TABLE Wrong USING pt_service(FirstName, account=wrong, table=Employee);
SELECT RowKey, FirstName FROM CanRead WHERE PartitionKey = 'Sales' AND RowKey = '000223';
SELECT count(*) FROM CanRead WHERE PartitionKey = 'Sales';
SELECT count(*) FROM CanAll;
SELECT count(*) FROM CanAdd;
SELECT count(*) FROM Expired;
SELECT count(*) FROM Early;
SELECT count(*) FROM Other;
SELECT count(*) FROM Wrong;
SELECT count(*) FROM pt_service_tables WHERE Account = 'all';
