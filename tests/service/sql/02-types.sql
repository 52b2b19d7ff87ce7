-- Every type comes back as it was stored.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
CREATE VIRTUAL TABLE Typed USING pt_service(Text String, Int Int32, Long Int64, Double Double, Fraction Double, NotANumber Double, Yes Boolean, Time DateTime, Id Guid, Bytes Binary, Empty String, account=hr, table=Employee);
.mode line
SELECT hex(Text), Int, Long, Double, typeof(Double) AS d, Fraction, NotANumber, Yes, Time, Id, hex(Bytes), quote(Empty) FROM Typed WHERE PartitionKey = 'Types';
.mode list
SELECT key, value, type FROM Typed, json_each(Properties) WHERE PartitionKey = 'Types' ORDER BY key;
SELECT RowKey FROM Typed WHERE PartitionKey = 'Types' AND Time = '2024-01-02 03:04:05.1234567' AND Long = 9223372036854775807 AND Fraction = 0.1;
-- columns without a type, and of another type than what is stored
CREATE VIRTUAL TABLE Untyped USING pt_service(Age, Long, NotANumber, account=hr, table=Employee);
SELECT PartitionKey, RowKey, typeof(Age), Age, Long, NotANumber FROM Untyped;
