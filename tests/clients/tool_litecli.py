#!/usr/bin/python3
"""litecli, as somebody types into its terminal."""

import os
import pty
import select
import time

from tool import DATABASE, PTABLE, Witness, check

PROMPT = "ready> "
witness = Witness()
child, terminal = pty.fork()
if child == 0:
    os.environ.update(TERM="dumb", HOME=os.path.dirname(DATABASE), LC_ALL="C.UTF-8", PAGER="cat")
    os.execvp("litecli", ["litecli", "--prompt", PROMPT, DATABASE])


def until_prompt(seconds=30):
    """What litecli prints until it asks for the next statement."""
    text, end = "", time.monotonic() + seconds
    while not text.endswith(PROMPT) and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            text += os.read(terminal, 65536).decode()
    return text


def typed(statement):
    os.write(terminal, statement.encode() + b"\r")
    return until_prompt()


until_prompt()
typed(f".load {PTABLE}")
answer = typed("SELECT RowKey, FirstName FROM Employee WHERE PartitionKey = 'Sales';")
check("SELECT", (True, True, False), tuple(name in answer for name in ("Jun", "Ken", "Don")))
check("what UPDATE says", True, "1 row affected" in
      typed("UPDATE Employee SET FirstName = 'Jane' WHERE PartitionKey = 'Sales' AND RowKey = '000223';"))
check("UPDATE changes one row",
      {"Sales/000223": '{"FirstName":"Jane","LastName":"Jones","Age":34}'}, witness.changes())
typed("INSERT INTO Employee(PartitionKey, RowKey, Age) VALUES('Sales', 1, 19);")
check("INSERT", {"Sales/1": '{"Age":19}'}, witness.changes())
check("an error is shown", True, "(EntityAlreadyExists)" in
      typed("INSERT INTO Employee(PartitionKey, RowKey) VALUES('Sales', 1);"))
check(".tables", True, "Employee" in typed(".tables"))
os.write(terminal, b"exit\r")
os.waitpid(child, 0)
