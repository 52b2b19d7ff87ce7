#!/usr/bin/python3
"""A client of run.sh in Python with APSW, which keeps a cache of statements."""

import os
import sys
import threading

import apsw

TYPES = {str: "text", int: "integer", float: "real", bytes: "blob", type(None): "null"}
state = {}


def connect(path, milliseconds):
    db = apsw.Connection(path)
    db.setbusytimeout(int(milliseconds))
    db.enableloadextension(True)
    db.loadextension(os.environ["PTABLE"])
    return db


def shown(value):
    text = value.hex() if isinstance(value, bytes) else value
    return TYPES[type(value)] if value is None else f"{TYPES[type(value)]}:{text}"


def query(sql):
    return ";".join("|".join(map(shown, row)) for row in state["db"].cursor().execute(sql))


def insert(table):
    rows = [("p", "1", "it's \"ünï\" €𝄞", 2**63 - 1, 0.1, b"\x00\xff'", None),
            ("p", "2", "", -(2**63), -2.5, b"\x00", None)]
    with state["db"]:
        state["db"].cursor().executemany(f"INSERT INTO {table} VALUES(?,?,?,?,?,?,?)", rows)


def repeat(db, name, count):
    cursor = db.cursor()
    for i in range(int(count)):
        cursor.execute("BEGIN IMMEDIATE")
        cursor.execute("INSERT INTO Item(PartitionKey, RowKey) VALUES(?, ?)", (name, str(i)))
        cursor.execute("UPDATE Counter SET N = N + 1; COMMIT")


def repeat_in_thread(failures, path, name, count):
    try:
        repeat(connect(path, 60000), name, count)
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
    state["abandoned"] = state["db"].cursor().execute(sql)
    return shown(next(state["abandoned"])[0])


def close():
    state["db"].close(True)


def leave():
    print("ok", flush=True)
    sys.exit(0)


def opened(path, milliseconds):
    state["db"] = connect(path, milliseconds)


COMMANDS = {"insert": insert, "abandon": abandon, "close": close, "forget": state.clear,
            "leave": leave, "query": query, "run": query}


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
    except apsw.Error as error:
        print("error", error.result, str(error).split(": ", 1)[-1], flush=True)
