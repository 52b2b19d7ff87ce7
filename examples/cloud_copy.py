#!/usr/bin/python3
"""Moves a table to Azure's Table service and back, and checks the copies entity by entity.

    cloud_copy.py STORE TABLE there         to the service, which gets the table if it lacks it
    cloud_copy.py STORE TABLE check         compares both tables
    cloud_copy.py STORE TABLE back [NEW]    from the service to the table NEW of the store

The environment variable PTABLE_ACCOUNT_CLOUD has the account's connection string. PTABLE and
PTABLE_SERVICE name the extensions; without them, they are ./ptable and ./ptable_service.

A copy that was interrupted is given again: OR REPLACE writes what is there already once more.
"""

import itertools
import json
import os
import sqlite3
import sys

ENTITY = "PartitionKey, RowKey, Properties"
IN_ORDER = f"SELECT {ENTITY} FROM %s ORDER BY PartitionKey, RowKey"


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def open_both(store, table, service_table):
    """Here is the store's table, Cloud the service's. Both take any properties."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(os.environ.get("PTABLE", "./ptable"))
    db.load_extension(os.environ.get("PTABLE_SERVICE", "./ptable_service"))
    db.execute("SELECT pt_service_account('cloud')")
    db.execute(
        f"CREATE VIRTUAL TABLE Here USING ptable(store={quoted(store)}, table={quoted(table)},"
        " limits=azure)"
    )
    # Groups of 100 entities, several at once; a scan may need any number of requests.
    db.execute(
        f"CREATE VIRTUAL TABLE Cloud USING pt_service(account=cloud, table={quoted(service_table)},"
        " batch=split, max_requests=1000000000)"
    )
    return db


def create_in_cloud(db, table):
    try:
        db.execute(
            "INSERT INTO pt_service_tables(Account, TableName) VALUES('cloud', ?)", (table,)
        )
    except sqlite3.IntegrityError as error:
        if not str(error).endswith("(TableAlreadyExists)"):
            raise


def requests(db):
    return json.loads(db.execute("SELECT pt_service_requests()").fetchone()[0])["requests"]


def copy(db, source, target):
    """Partitions may be sent in groups: the copy is complete when the statement has ended."""
    db.execute(f"INSERT OR REPLACE INTO {target}({ENTITY}) SELECT {ENTITY} FROM {source}")
    return db.execute("SELECT changes()").fetchone()[0]


def first_difference(db):
    """The keys of the first entity that is not the same in both, and how many were the same."""
    here = db.execute(IN_ORDER % "Here")
    cloud = db.execute(IN_ORDER % "Cloud")
    count = 0
    for one, other in itertools.zip_longest(here, cloud):
        if one is None or other is None or one[:2] != other[:2]:
            return min(row[:2] for row in (one, other) if row is not None), count
        if json.loads(one[2]) != json.loads(other[2]):
            return one[:2], count
        count += 1
    return None, count


def check(db):
    difference, count = first_difference(db)
    if difference is not None:
        sys.exit(f"the same: {count} entities; not the same: {difference}")
    print(f"the same: {count} entities")


def main(arguments):
    match arguments:
        case [store, table, "there"]:
            db = open_both(store, table, table)
            create_in_cloud(db, table)
            print(f"there: {copy(db, 'Here', 'Cloud')} entities, {requests(db)} requests")
        case [store, table, "check"]:
            check(open_both(store, table, table))
        case [store, table, "back", *rest] if len(rest) <= 1:
            db = open_both(store, rest[0] if rest else table, table)
            print(f"back: {copy(db, 'Cloud', 'Here')} entities, {requests(db)} requests")
            check(db)
        case _:
            sys.exit("usage: cloud_copy.py STORE TABLE there | check | back [NEW]")


try:
    main(sys.argv[1:])
except sqlite3.Error as problem:
    sys.exit(f"cloud_copy.py: {problem}")
