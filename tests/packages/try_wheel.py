"""try_wheel.py sqlite3|apsw FILE: runs the SQL of the file on a database in memory, with the extension from
the package, and prints the rows as the sqlite3 shell does. Then it prints the folders from which the process
has loaded the extension and LMDB."""

import os
import re
import sys

import ptable_sqlite

binding, script = sys.argv[1:]
if binding == "sqlite3":
    import sqlite3

    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.enable_load_extension(True)
else:
    import apsw

    connection = apsw.Connection(":memory:")
    connection.enableloadextension(True)
ptable_sqlite.load(connection)
for statement in open(script).read().split(";\n"):
    for row in connection.cursor().execute(statement):
        print("|".join("" if value is None else str(value) for value in row))

maps = open("/proc/self/maps").read()
for name in ("ptable.so", "liblmdb.so.0"):
    folders = {os.path.dirname(path) for path in re.findall(rf"/\S*/{re.escape(name)}\S*", maps)}
    print(name, folders == {os.path.dirname(ptable_sqlite.__file__)})
