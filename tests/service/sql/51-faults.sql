-- Requests that fail are sent again, as far as that is safe; reading is.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
CREATE VIRTUAL TABLE Many USING pt_service(n Int32, account=hr, retries=2);
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey < '01';
.shell ./command fault drop 1
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey < '01';
.shell ./command fault lose 1
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey < '01';
.shell ./command fault cut 1
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey < '01';
.shell ./command fault cut 2
SELECT count(*), sum(n), count(DISTINCT PartitionKey || RowKey) FROM Many;
.shell ./command fault close 1
SELECT count(*) FROM Many;
.shell ./command fault busy 1
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey < '01';
.shell ./command fault throttle 2
SELECT count(*) FROM Many;
.shell ./command fault delay 1 10
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey < '01';
-- for ever
.shell ./command forget; ./command fault busy 1+
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey < '01';
.shell ./command | wc -l; ./command forget; ./command fault drop 1+
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey < '01';
.shell ./command | wc -l; ./command forget
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey < '01';
-- a time-out
CREATE VIRTUAL TABLE Impatient USING pt_service(account=hr, table='Many', timeout=1, retries=0);
.shell ./command fault delay 1 60000
SELECT count(*) FROM Impatient WHERE PartitionKey = 'a' AND RowKey = '00-0';
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey = '00-0';
