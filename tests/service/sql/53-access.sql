-- Shared access signatures and tokens instead of the account's key.
.load ./ptable_service
.shell ./command forget
CREATE TEMP TABLE Address AS SELECT pt_service_account('hr') AS address;
SELECT length(pt_service_account('signed', 'TableEndpoint=' || address || ';SharedAccessSignature=sv=2019-02-02&sig=c2VjcmV0')) > 0 FROM Address;
SELECT length(pt_service_account('token', 'TableEndpoint=' || address || ';BearerToken=c2VjcmV0')) > 0 FROM Address;
CREATE VIRTUAL TABLE Signed USING pt_service(FirstName String, account=signed, table='Employee', retries=0);
CREATE VIRTUAL TABLE Token USING pt_service(FirstName String, account=token, table='Employee');
SELECT FirstName FROM Signed WHERE PartitionKey = 'Sales' AND RowKey = '000223';
SELECT count(*) FROM Signed;
.shell ./command; ./command forget
SELECT FirstName FROM Token WHERE PartitionKey = 'Sales' AND RowKey = '000223';
.shell ./command; ./command forget
-- no message, plan or list shows the secret
.shell ./command fault drop 1+
SELECT count(*) FROM Signed;
.shell ./command forget
EXPLAIN QUERY PLAN SELECT count(*) FROM Signed;
SELECT * FROM pt_service_accounts;
SELECT sql FROM sqlite_schema;
-- a signature that is none is refused, and the account stays as it was
SELECT length(pt_service_account('signed', 'TableEndpoint=' || address || ';SharedAccessSignature=sv=2019-02-02')) > 0 FROM Address;
SELECT count(*) FROM Signed;
