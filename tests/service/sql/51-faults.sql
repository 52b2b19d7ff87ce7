-- Requests that fail are sent again, as far as that is safe; reading is. 90-pauses has more.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
CREATE VIRTUAL TABLE Many USING pt_service(n Int32, account=hr, retries=2);
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey < '01';
.shell ./command fault cut 2
SELECT count(*), sum(n), count(DISTINCT PartitionKey || RowKey) FROM Many;
.shell ./command fault close 1
SELECT count(*) FROM Many;
.shell ./command fault busy 1
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey < '01';
.shell ./command fault delay 1 10
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey < '01';
-- for ever
.shell ./command forget; ./command fault busy 1+
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey < '01';
.shell ./command | wc -l; ./command forget
SELECT count(*) FROM Many WHERE PartitionKey = 'a' AND RowKey < '01';
-- without retries
CREATE VIRTUAL TABLE Once USING pt_service(n Int32, account=hr, table='Many', retries=0);
.shell ./command forget; ./command fault cut 1
SELECT count(*) FROM Once WHERE PartitionKey = 'a' AND RowKey < '01';
.shell ./command | wc -l; ./command forget
SELECT count(*) FROM Once WHERE PartitionKey = 'a' AND RowKey < '01';
