"""Shared by the tools of test_tools.sh in Python: checks, and a witness that sees what a tool does.

The database is $DATABASE, made by test_tools.sh. The witness has a connection of its own, so it sees
what is committed.
"""

import os
import sqlite3
import time

DATABASE = os.environ["DATABASE"]
PTABLE = os.environ["PTABLE"]


def check(name, expected, actual):
    if expected == actual:
        print(f"ok - {name}", flush=True)
    else:
        print(f"not ok - {name}\n# expected: {expected!r}\n# actual:   {actual!r}", flush=True)


def check_refused(name, exception, text, function):
    """The function must raise the exception, with the text in its message."""
    try:
        function()
    except exception as error:
        check(name, text, text if text in str(error) else str(error))
    else:
        check(name, f"{exception.__name__}: {text}", "no exception")


def load(connection):
    connection.enable_load_extension(True)
    connection.load_extension(PTABLE)
    connection.enable_load_extension(False)


class Witness:
    """Every write gives an entity a new ETag, so ETags tell which entities a tool has written."""

    def __init__(self, table="Employee"):
        self.table = table
        self.connection = sqlite3.connect(DATABASE, isolation_level=None)
        load(self.connection)
        self.seen = self.look()

    def look(self):
        rows = self.connection.execute(
            f"SELECT rowid, ETag, Properties FROM {self.table} ORDER BY EntityKey")
        return {row[0]: row[1:] for row in rows}

    def changes(self):
        """Since the last call: the properties of each written entity, None for a deleted one."""
        before, self.seen = self.seen, self.look()
        deleted = {key: None for key in before if key not in self.seen}
        written = {key: now[1] for key, now in self.seen.items() if before.get(key) != now}
        return {**written, **deleted}

    def await_changes(self, seconds=10):
        """Waits for the first change, and a moment for others that should not follow."""
        end = time.monotonic() + seconds
        while self.look() == self.seen and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(0.3)
        return self.changes()
