#!/usr/bin/python3
"""SQLAlchemy: tables by reflection, and entities as objects."""

from sqlalchemy import Column, MetaData, String, Table, create_engine, event, inspect, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, declarative_base

from tool import DATABASE, Witness, check, check_refused, load

engine = create_engine(f"sqlite:///{DATABASE}", future=True)
witness = Witness()


@event.listens_for(engine, "connect")
def load_into(connection, _):
    load(connection)


reflected = Table("Employee", MetaData(), autoload_with=engine)
check("the tables", ["Employee"], inspect(engine).get_table_names())
check("reflected columns", [("PartitionKey", "TEXT", False), ("RowKey", "TEXT", False), ("FirstName", "TEXT", True),
                            ("LastName", "TEXT", True), ("Age", "INTEGER", True)],
      [(column.name, str(column.type), column.nullable) for column in reflected.columns])
with engine.begin() as connection:
    given = [{"PartitionKey": "A", "RowKey": key, "Age": 5} for key in ("1", "2")]
    connection.execute(reflected.insert(), given)
    check("rows that an update changes", 1, connection.execute(
        reflected.update().where(reflected.c.PartitionKey == "A", reflected.c.RowKey == "2").values(Age=6)).rowcount)
check("a reflected table writes", {"A/1": '{"Age":5}', "A/2": '{"Age":6}'}, witness.changes())

# The two keys are the primary key of the objects; reflection gives the rest.
Base = declarative_base()


class Employee(Base):
    __table__ = Table("Employee", Base.metadata, Column("PartitionKey", String, primary_key=True),
                      Column("RowKey", String, primary_key=True), autoload_with=engine)


with Session(engine) as session:
    jun = session.get(Employee, ("Sales", "000223"))
    jun.Age = 35
    session.commit()
    check("a changed object is one row",
          {"Sales/000223": '{"FirstName":"Jun","LastName":"Jones","Age":35}'}, witness.changes())
    jun.RowKey = "9"
    session.commit()
    check("a changed key moves the row", {"Sales/000223": None, "Sales/9":
          '{"FirstName":"Jun","LastName":"Jones","Age":35}'}, witness.changes())
    session.delete(jun)
    session.add_all([Employee(PartitionKey="O", RowKey=key, Age=1) for key in ("1", "2")])
    session.commit()
    check("added and deleted objects",
          {"O/1": '{"Age":1}', "O/2": '{"Age":1}', "Sales/9": None}, witness.changes())
    session.merge(Employee(PartitionKey="O", RowKey="1", FirstName="Ann"))
    session.commit()
    check("merge", {"O/1": '{"FirstName":"Ann","Age":1}'}, witness.changes())
    check("select", [("1", "Ann"), ("2", None)],
          [tuple(row) for row in session.execute(select(Employee.RowKey, Employee.FirstName)
                                                 .where(Employee.PartitionKey == "O").order_by(Employee.RowKey))])
    session.expunge_all()
    session.add(Employee(PartitionKey="O", RowKey="1"))
    check_refused("an object that exists", IntegrityError, "EntityAlreadyExists", session.commit)
    session.rollback()
    with session.begin_nested() as savepoint:
        session.add(Employee(PartitionKey="O", RowKey="3"))
        session.flush()
        savepoint.rollback()
    session.commit()
    check("a savepoint that is rolled back", {}, witness.changes())
