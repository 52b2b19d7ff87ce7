-- Requests that fail are sent again after a pause.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
CREATE VIRTUAL TABLE Many USING pt_service(n Int32, account=hr, retries=2);
.shell ./command fault drop 1
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey < '01';
.shell ./command fault lose 1
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey < '01';
.shell ./command fault cut 1
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey < '01';
.shell ./command fault throttle 2
SELECT count(*) FROM Many;
-- as long as the service says
.shell ./command fault busy 1 2
CREATE TEMP TABLE Begun AS SELECT julianday('now') AS at;
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey < '01';
SELECT (julianday('now') - at) * 86400 BETWEEN 1.9 AND 20 FROM Begun;
-- for ever
.shell ./command forget; ./command fault drop 1+
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey < '01';
.shell ./command | wc -l; ./command forget
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey < '01';
-- a time-out
CREATE VIRTUAL TABLE Impatient USING pt_service(account=hr, table='Many', timeout=1, retries=0);
.shell ./command fault delay 1 60000
SELECT count(*) FROM Impatient WHERE PartitionKey = 'a' AND RowKey = '00-0';
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey = '00-0';
-- no message shows the secret of an account, however often the request was sent
CREATE TEMP TABLE Address AS SELECT pt_service_account('hr') AS address;
SELECT length(pt_service_account('signed', 'TableEndpoint=' || address || ';SharedAccessSignature=sv=2019-02-02&sig=c2VjcmV0')) > 0 FROM Address;
CREATE VIRTUAL TABLE Signed USING pt_service(FirstName String, account=signed, table='Employee');
.shell ./command forget; ./command fault drop 1+
SELECT count(*) FROM Signed;
.shell ./command | wc -l; ./command forget
SELECT count(*) FROM Signed;
