#!/usr/bin/python3
"""sqlite-utils: it takes rowid for the primary key, and names rows by it.

An insert with pk= looks for the row that sqlite3_last_insert_rowid() names. No INSERT into a ptable
changes that number, so beside ordinary tables insert without pk=, or upsert.
"""

import json
import os
import sqlite3
import subprocess

from sqlite_utils import Database
from sqlite_utils.db import NotFoundError

from tool import DATABASE, PTABLE, Witness, check, check_refused, load

KEYS = ("PartitionKey", "RowKey")
connection = sqlite3.connect(DATABASE)
load(connection)
database = Database(connection)
employee = database["Employee"]
witness = Witness()

check("a row's primary key is its rowid", ["rowid"], employee.pks)
check("the primary keys", ["Marketing/000150", "Sales/000223", "Sales/000312"],
      [key for key, _ in employee.pks_and_rows_where()])
check("get", "Ken", employee.get("Sales/000312")["FirstName"])
check_refused("get what does not exist", NotFoundError, "", lambda: employee.get("Sales/1"))
employee.update("Sales/000223", {"Age": 35})
check("update changes one row",
      {"Sales/000223": '{"FirstName":"Jun","LastName":"Jones","Age":35}'}, witness.changes())
employee.delete("Sales/000223")
check("delete deletes one row", {"Sales/000223": None}, witness.changes())

database["Ordinary"].insert({"a": 1})
employee.insert({"PartitionKey": "Sales", "RowKey": "1", "Age": 3})
check("insert beside an ordinary table", {"Sales/1": '{"Age":3}'}, witness.changes())
employee.insert_all([{"PartitionKey": "Sales", "RowKey": key, "Age": 4} for key in ("1", "2")], ignore=True)
check("insert_all with ignore", {"Sales/2": '{"Age":4}'}, witness.changes())
employee.upsert({"PartitionKey": "Sales", "RowKey": "2", "FirstName": "Zoe"}, pk=KEYS)
check("upsert keeps other properties", {"Sales/2": '{"FirstName":"Zoe","Age":4}'}, witness.changes())
check_refused("insert of what exists", sqlite3.IntegrityError, "EntityAlreadyExists",
              lambda: employee.insert({"PartitionKey": "Sales", "RowKey": "2"}))
connection.rollback()
check("rows_where", ["2"], [row["RowKey"] for row in employee.rows_where("FirstName = ?", ["Zoe"])])
connection.close()


def command(*arguments, given=None):
    done = subprocess.run(["sqlite-utils", *arguments, "--load-extension", PTABLE], input=given, check=True,
                          capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    return json.loads(done.stdout) if done.stdout else None


check("the command rows", 4, len(command("rows", DATABASE, "Employee")))
command("insert", DATABASE, "Employee", "-", given='[{"PartitionKey": "é", "RowKey": "1", "Age": 5}]')
check("the command insert", {"%C3%A9/1": '{"Age":5}'}, witness.changes())
check("the command query", [{"Age": 5}],
      command("query", DATABASE, "SELECT Age FROM Employee WHERE PartitionKey = :p", "-p", "p", "é"))
