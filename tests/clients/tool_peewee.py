#!/usr/bin/python3
"""peewee: models with a composite key, models that are generated, and the data set."""

from peewee import CompositeKey, IntegerField, IntegrityError, Model, SqliteDatabase, TextField
from playhouse.dataset import DataSet
from playhouse.reflection import generate_models

from tool import DATABASE, PTABLE, Witness, check, check_refused

database = SqliteDatabase(DATABASE)
database.load_extension(PTABLE)
witness = Witness()


class Employee(Model):
    PartitionKey = TextField()
    RowKey = TextField()
    FirstName = TextField(null=True)
    Age = IntegerField(null=True)

    class Meta:
        database = database
        table_name = "Employee"
        primary_key = CompositeKey("PartitionKey", "RowKey")


jun = Employee.get_by_id(("Sales", "000223"))
jun.FirstName = "Jane"
check("rows that save changes", 1, jun.save())
check("save changes one row",
      {"Sales/000223": '{"FirstName":"Jane","LastName":"Jones","Age":34}'}, witness.changes())
check("rows that delete_instance deletes", 1, jun.delete_instance())
check("delete_instance deletes one row", {"Sales/000223": None}, witness.changes())
Employee.create(PartitionKey="W", RowKey="1", Age=1)
Employee.insert_many([{"PartitionKey": "W", "RowKey": key, "Age": 2} for key in ("2", "3")]).execute()
check("create and insert_many", {"W/1": '{"Age":1}', "W/2": '{"Age":2}', "W/3": '{"Age":2}'}, witness.changes())
Employee.replace(PartitionKey="W", RowKey="3", Age=4).execute()
Employee.insert(PartitionKey="W", RowKey="2", Age=5).on_conflict_ignore().execute()
check("replace and ignore", {"W/3": '{"Age":4}'}, witness.changes())
check("get_or_create of what exists", False, Employee.get_or_create(PartitionKey="W", RowKey="3")[1])
check_refused("create of what exists", IntegrityError, "EntityAlreadyExists",
              lambda: Employee.create(PartitionKey="W", RowKey="1"))
with database.atomic():
    with database.atomic() as savepoint:
        Employee.create(PartitionKey="W", RowKey="4")
        savepoint.rollback()
    Employee.create(PartitionKey="W", RowKey="5")
check("a nested transaction that is rolled back", {"W/5": "{}"}, witness.changes())

generated = generate_models(database)["Employee"]
check("a generated model", ["partition_key", "row_key", "first_name", "last_name", "age"],
      generated._meta.sorted_field_names)
check("it reads", [(46,)], list(generated.select(generated.age).where(generated.age > 40).tuples()))
database.close()

rows = DataSet(database)["Employee"]
rows.insert(PartitionKey="D", RowKey="1", Age=1)
rows.update(PartitionKey="D", Age=2, columns=["PartitionKey"])
check("a data set writes", {"D/1": '{"Age":2}'}, witness.changes())
