-- Tables of several pages.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
CREATE VIRTUAL TABLE Many USING pt_service(n Int32, m Int32, account=hr);
SELECT count(*), sum(n), sum(m), min(RowKey), max(RowKey) FROM Many;
SELECT PartitionKey, count(*), count(DISTINCT RowKey), sum(n * 100 + m) FROM Many GROUP BY PartitionKey;
SELECT count(*) FROM Many WHERE PartitionKey = 'b' AND RowKey >= '03' AND RowKey < '07';
SELECT PartitionKey, RowKey FROM Many ORDER BY PartitionKey, RowKey LIMIT 3 OFFSET 1199;
SELECT PartitionKey, RowKey FROM Many WHERE m = 77 AND n > 9 ORDER BY PartitionKey DESC, RowKey DESC;
SELECT RowKey FROM Many WHERE PartitionKey = 'a' LIMIT 0;
-- in order, each once
SELECT count(*) FROM (SELECT lag(PartitionKey || '/' || RowKey) OVER (ORDER BY PartitionKey, RowKey) AS earlier, PartitionKey || '/' || RowKey AS this FROM Many ORDER BY PartitionKey, RowKey) WHERE earlier >= this;
-- paging by EntityKey
SELECT PartitionKey, RowKey, hex(EntityKey) FROM Many ORDER BY EntityKey LIMIT 2;
SELECT PartitionKey, RowKey FROM Many WHERE EntityKey > x'610030302D31' ORDER BY EntityKey LIMIT 2;
CREATE VIRTUAL TABLE Empty USING pt_service(n Int32, account=hr);
SELECT count(*) FROM Empty;
