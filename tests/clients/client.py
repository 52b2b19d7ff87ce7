#!/usr/bin/python3
"""A client of run.sh in Python, with its own sqlite3 module: client.py [implicit]

With `implicit` the module begins transactions by itself, as it does unless it is told not to.
"""

import os
import sqlite3
import sys
import threading

IMPLICIT = sys.argv[1:] == ["implicit"]
TYPES = {str: "text", int: "integer", float: "real", bytes: "blob", type(None): "null"}
state = {}


def connect(path, milliseconds):
    """The statements of a thread that has ended are finalized by another."""
    db = sqlite3.connect(path, timeout=int(milliseconds) / 1000, check_same_thread=False)
    if not IMPLICIT:
        db.isolation_level = None
    db.enable_load_extension(True)
    db.load_extension(os.environ["PTABLE"])
    watch(db)
    return db


def watch(db):
    """The module frees what is called here before it closes the connection."""
    db.set_trace_callback(len)
    db.set_progress_handler(lambda: 0, 1)
    db.set_authorizer(lambda *what: sqlite3.SQLITE_OK)


def shown(value):
    text = value.hex() if isinstance(value, bytes) else value
    return TYPES[type(value)] if value is None else f"{TYPES[type(value)]}:{text}"


def query(sql):
    """A transaction that the module has begun is held, and with it the store, also by a statement
    that fails: it must be ended in any case, as `with` does."""
    db = state["db"]
    if not IMPLICIT or db.in_transaction or sql == "BEGIN":
        return ";".join("|".join(map(shown, row)) for row in db.execute(sql))
    with db:
        return ";".join("|".join(map(shown, row)) for row in db.execute(sql))


def insert(table):
    db = state["db"]
    rows = [("p", "1", "it's \"ünï\" €𝄞", 2**63 - 1, 0.1, b"\x00\xff'", None),
            ("p", "2", "", -(2**63), -2.5, b"\x00", None)]
    if IMPLICIT:
        with db:
            db.executemany(f"INSERT INTO {table} VALUES(?,?,?,?,?,?,?)", rows)
    else:
        db.execute("BEGIN")
        db.executemany(f"INSERT INTO {table} VALUES(?,?,?,?,?,?,?)", rows)
        db.execute("COMMIT")


def repeat(db, name, count):
    for i in range(int(count)):
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO Item(PartitionKey, RowKey) VALUES(?, ?)", (name, str(i)))
        db.execute("UPDATE Counter SET N = N + 1")
        db.commit()


def repeat_in_thread(failures, path, name, count):
    try:
        db = connect(path, 60000)
        repeat(db, name, count)
        state[name] = db  # left to whoever collects it
    except Exception as error:  # pylint: disable=broad-except
        failures.append(error)


def threads(path, number, count):
    failures = []
    started = [threading.Thread(target=repeat_in_thread, args=(failures, path, f"thread-{i}", count))
               for i in range(int(number))]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    if failures:
        raise failures[0]


def abandon(sql):
    state["abandoned"] = state["db"].execute(sql)
    return shown(state["abandoned"].fetchone()[0])


def close():
    state["db"].close()


def forget():
    state.clear()


def leave():
    print("ok", flush=True)
    sys.exit(0)


def opened(path, milliseconds):
    state["db"] = connect(path, milliseconds)


COMMANDS = {"insert": insert, "abandon": abandon, "close": close, "forget": forget, "leave": leave,
            "query": query, "run": query}


def perform(line):
    command, _, rest = line.partition(" ")
    match command:
        case "open":
            return opened(*rest.rsplit(" ", 1))
        case "repeat":
            return repeat(state["db"], *rest.split(" "))
        case "threads":
            return threads(*rest.rsplit(" ", 2))
        case _:
            return COMMANDS[command](*([rest] if rest else []))


for request in sys.stdin:
    try:
        print("ok", perform(request.rstrip("\n")) or "", flush=True)
    except sqlite3.Error as error:
        print("error", error.sqlite_errorcode & 0xFF, error, flush=True)
