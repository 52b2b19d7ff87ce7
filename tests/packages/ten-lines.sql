CREATE VIRTUAL TABLE Employee USING ptable(FirstName String, LastName String, Age Int32, index(Age));
INSERT INTO Employee(PartitionKey, RowKey, FirstName, LastName, Age)
  VALUES ('Sales', '000223', 'Jun', 'Jones', 34), ('Sales', '000312', 'Ken', 'Kwok', 23);
INSERT INTO Employee(PartitionKey, RowKey, Properties) VALUES ('IT', '1', '{"FirstName":"Ann","Badge":7}');
SELECT RowKey, LastName FROM Employee WHERE PartitionKey = 'Sales' AND pt_starts_with(RowKey, '0003');
SELECT RowKey, Properties FROM Employee WHERE Age BETWEEN 30 AND 40;
UPDATE Employee SET Age = 51 WHERE PartitionKey = 'IT';
SELECT PartitionKey, avg(Age) FROM Employee GROUP BY PartitionKey;
CREATE VIRTUAL TABLE Job USING pt_queue();
INSERT INTO Job(Body) VALUES ('congratulate Ann');
SELECT Body FROM pt_queue_get('Job');
SELECT TableName, Entities FROM pt_tables;
