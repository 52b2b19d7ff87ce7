"""ptable: partitioned tables for SQLite, like those of Azure Table storage.

    import sqlite3, ptable_sqlite

    connection = sqlite3.connect("demo.db")
    connection.enable_load_extension(True)
    ptable_sqlite.load(connection)
    connection.execute("CREATE VIRTUAL TABLE Employee USING ptable(Name String, Age Int32)")
"""

import os

__all__ = ["load", "loadable_path"]
__version__ = "@VERSION@"


def loadable_path():
    """The path of the extension, as load_extension() and `sqlite-utils --load-extension` take it."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "ptable")


def load(connection):
    """Loads the extension into a connection of sqlite3 or APSW that may load extensions."""
    if hasattr(connection, "load_extension"):
        connection.load_extension(loadable_path())
    elif hasattr(connection, "loadextension"):
        connection.loadextension(loadable_path())
    else:
        raise NotImplementedError(
            "ptable_sqlite: this Python's SQLite cannot load extensions; use Debian's python3, or the package apsw"
        )
