-- Both libraries in one connection, either first, and each loaded again.
.load ./ptable_service
.load ./ptable
.load ./ptable_service
.load ./ptable
SELECT length(pt_service_account('hr')) > 0;
CREATE VIRTUAL TABLE Employee USING pt_service(FirstName, account=hr);
CREATE VIRTUAL TABLE temp.Here USING ptable(FirstName);
INSERT INTO Here(PartitionKey, RowKey, FirstName)
  SELECT PartitionKey, RowKey, FirstName FROM Employee WHERE PartitionKey = 'Sales';
SELECT RowKey, Here.FirstName FROM Here JOIN Employee USING (PartitionKey, RowKey) ORDER BY 1;
SELECT count(*), count(DISTINCT name) FROM pragma_module_list WHERE name IN ('ptable', 'pt_service');
SELECT name, count(*) FROM pragma_function_list WHERE name IN ('pt_inverted_ticks', 'pt_entity_key') GROUP BY 1, narg;
.open :memory:
.load ./ptable
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
CREATE VIRTUAL TABLE Employee USING pt_service(FirstName, account=hr);
CREATE VIRTUAL TABLE temp.Here USING ptable(FirstName);
INSERT INTO Here(PartitionKey, RowKey, FirstName)
  SELECT PartitionKey, RowKey, FirstName FROM Employee WHERE PartitionKey = 'Sales';
SELECT RowKey, Here.FirstName FROM Here JOIN Employee USING (PartitionKey, RowKey) ORDER BY 1;
SELECT count(*), count(DISTINCT name) FROM pragma_module_list WHERE name IN ('ptable', 'pt_service');
