-- The order of keys, unusual keys, and LIMIT.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
CREATE VIRTUAL TABLE Keys USING pt_service(n Int32, account=hr);
SELECT n FROM Keys WHERE PartitionKey = '' ORDER BY RowKey;
SELECT n FROM Keys WHERE PartitionKey = '' AND RowKey = '';
SELECT n FROM Keys WHERE PartitionKey = 'o''c' AND RowKey = 'a b%&+';
SELECT n FROM Keys WHERE PartitionKey = 'o''c' AND RowKey = '''''';
SELECT n FROM Keys WHERE PartitionKey = 'o''c' AND RowKey > 'a b%&';
-- as bytes of UTF-8, which is not the service's order
SELECT n FROM Keys ORDER BY PartitionKey, RowKey;
SELECT n FROM Keys WHERE PartitionKey = 'u' ORDER BY RowKey;
SELECT n FROM Keys WHERE PartitionKey = 'u' ORDER BY RowKey DESC;
SELECT n FROM Keys ORDER BY EntityKey LIMIT 4 OFFSET 2;
SELECT n FROM Keys WHERE PartitionKey = 'u' AND RowKey > char(0xd7ff) ORDER BY RowKey;
SELECT n FROM Keys WHERE PartitionKey = 'u' AND RowKey >= char(0xe000) AND RowKey < char(0x1f600) ORDER BY RowKey;
SELECT n FROM Keys WHERE PartitionKey = 'u' AND RowKey <= char(0xffff) ORDER BY RowKey;
SELECT n FROM Keys WHERE PartitionKey = 'u' AND RowKey >= char(0x1f600) ORDER BY RowKey;
SELECT n FROM Keys WHERE PartitionKey >= char(0xe000) ORDER BY PartitionKey;
SELECT n FROM Keys WHERE EntityKey > pt_entity_key('u', char(0xe000)) ORDER BY EntityKey;
SELECT max(n), min(RowKey) FROM Keys WHERE PartitionKey = 'u';
EXPLAIN QUERY PLAN SELECT n FROM Keys WHERE PartitionKey = 'u' ORDER BY RowKey;
EXPLAIN QUERY PLAN SELECT n FROM Keys WHERE PartitionKey = 'u' ORDER BY RowKey DESC;
