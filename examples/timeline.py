#!/usr/bin/python3
"""A timeline in Python: writes posts, and shows the posts of a user in pages, the newest first.

    timeline.py STORE post USER TEXT ...      one post for each text
    timeline.py STORE page USER [TOKEN]       ten posts, and the token of the next page

timeline.c says how it works. PTABLE names the extension; without it, it is ./ptable.
"""

import os
import sqlite3
import sys

PAGE = 10
PATIENCE = 60  # seconds


def open_store(store):
    """Each process has its own main database, in memory; they share only the store."""
    db = sqlite3.connect(":memory:", timeout=PATIENCE, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(os.environ.get("PTABLE", "./ptable"))
    quoted = "'" + store.replace("'", "''") + "'"
    db.execute(f"CREATE VIRTUAL TABLE Post USING ptable(Number Int32, Text String, store={quoted})")
    db.execute(f"CREATE VIRTUAL TABLE Profile USING ptable(Posts Int32, store={quoted})")
    return db


def try_to_post(db, user, text):
    """Writes the post and the new count, if the profile is still as it was read."""
    posts, etag = db.execute(
        "SELECT Posts, ETag FROM Profile WHERE PartitionKey = ? AND RowKey = 'profile'", (user,)
    ).fetchone() or (0, None)
    number = posts + 1
    db.execute("BEGIN")
    db.execute(
        "INSERT OR ROLLBACK INTO Post(PartitionKey, RowKey, Number, Text)"
        " VALUES(?1, pt_inverted_ticks() || '_' || pt_pad(?2, 6), ?2, ?3)",
        (user, number, text),
    )
    db.execute(
        "INSERT OR ROLLBACK INTO Profile(PartitionKey, RowKey, Posts, WriteMode, IfMatch)"
        " VALUES(?1, 'profile', ?2, iif(?3 IS NULL, 'insert', 'merge'), ?3)",
        (user, number, etag),
    )
    db.execute("COMMIT")
    return number


def came_too_late(error):
    """True if someone else has posted since the profile was read."""
    return str(error).endswith(("(UpdateConditionNotSatisfied)", "(EntityAlreadyExists)"))


def post(db, user, text):
    while True:
        try:
            return try_to_post(db, user, text)
        except sqlite3.IntegrityError as error:
            if not came_too_late(error):
                raise


def page(db, user, token):
    """The posts after the token, the RowKey of the last post, as (number, text, RowKey)."""
    return db.execute(
        "SELECT Number, Text, RowKey FROM Post WHERE PartitionKey = ? AND RowKey > ?"
        " ORDER BY RowKey LIMIT ?",
        (user, token, PAGE),
    ).fetchall()


def main(arguments):
    match arguments:
        case [store, "post", user, _, *_]:
            db = open_store(store)
            for text in arguments[3:]:
                print(post(db, user, text))
        case [store, "page", user, *rest] if len(rest) <= 1:
            rows = page(open_store(store), user, rest[0] if rest else "")
            for number, text, _ in rows:
                print(number, text)
            if len(rows) == PAGE:
                print("next:", rows[-1][2])
        case _:
            sys.exit("usage: timeline.py STORE post USER TEXT ... | page USER [TOKEN]")


main(sys.argv[1:])
