#!/usr/bin/python3
"""DB Browser for SQLite, on a screen of its own: edits a cell, deletes a record and adds one.

DB Browser names rows by "_rowid_", a quoted name, which SQLite takes for a text if a table has no such
column. Then an edited cell would change every row or none.

DB Browser does not understand CREATE VIRTUAL TABLE if columns have types. It then shows no fields to
add a record with; so records are added to a table whose columns have no types.

Places are in pixels of a window of 1280 x 900. ImageMagick, if it is installed, writes a picture of each
table into the folder $DB_BROWSER_PICTURES, if that is set: if a check fails, look there first.
"""

import os
import signal
import sqlite3
import subprocess
import tempfile
import time

from tool import DATABASE, PTABLE, Witness, check, load

FIRST_CELL, INSERT_RECORD, DELETE_RECORD = (75, 202), (450, 115), (486, 115)
FIRST_FIELD, FIELD_HEIGHT, SAVE = (600, 235), 19, (731, 637)
WINDOW, DIALOG = "DB Browser for SQLite", "Add New Record"
WAIT = 90

home = tempfile.mkdtemp(dir=os.path.dirname(DATABASE))
os.environ.update(HOME=home, XDG_CONFIG_HOME=home, XDG_RUNTIME_DIR=home, LC_ALL="C.UTF-8", QT_FONT_DPI="96",
                  QT_SCALE_FACTOR="1", QT_STYLE_OVERRIDE="fusion", QT_QPA_PLATFORM="xcb")
os.makedirs(f"{home}/sqlitebrowser")
with open(f"{home}/sqlitebrowser/sqlitebrowser.conf", "w", encoding="utf-8") as settings:
    settings.write(f"[General]\nlanguage=en_US\n[checkversion]\nenabled=false\n[extensions]\nlist={PTABLE}\n")


def start_screen():
    reader, writer = os.pipe()
    process = subprocess.Popen(["Xvfb", "-displayfd", str(writer), "-screen", "0", "1280x900x24", "-dpi", "96"],
                               pass_fds=[writer], stderr=subprocess.DEVNULL)
    os.close(writer)
    with os.fdopen(reader) as number:
        os.environ["DISPLAY"] = f":{number.readline().strip()}"
    return process


def xdotool(*arguments):
    done = subprocess.run(["xdotool", *map(str, arguments)], capture_output=True, text=True, check=False)
    time.sleep(0.3)
    return done.stdout.split()


def focus(name, seconds=WAIT):
    """Waits for the window; None if it does not come."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = xdotool("search", "--onlyvisible", "--name", name)
        if found:
            xdotool("windowfocus", found[0])
            return found[0]
    return None


def idle(process):
    """Waits until the program has had next to nothing to do for a second."""
    def ticks():
        with open(f"/proc/{process.pid}/stat", encoding="utf-8") as stat:
            return sum(map(int, stat.read().rpartition(")")[2].split()[11:13]))

    end, quiet, before = time.monotonic() + WAIT, 0, ticks()
    while quiet < 2 and time.monotonic() < end:
        time.sleep(0.5)
        now = ticks()
        quiet, before = (quiet + 1 if now - before < 3 else 0), now


def dismiss_questions(window):
    """On a busy machine DB Browser asks whether to abort the reading of rows. Escape means no."""
    for other in xdotool("search", "--onlyvisible", "--name", ""):
        if other != window:
            xdotool("windowfocus", other, "key", "Escape")
    xdotool("windowfocus", window)


def browse(table):
    process = subprocess.Popen(["sqlitebrowser", "-t", table, DATABASE], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    window = focus(WINDOW)
    check(f"DB Browser opens {table}", True, window is not None)
    idle(process)
    xdotool("windowsize", "--sync", window, 1280, 900)
    idle(process)
    dismiss_questions(window)
    return process, window


def click(place, times=1):
    xdotool("mousemove", *place, "click", "--repeat", times, "--delay", 80, 1)


def choose_cell(row, column):
    click(FIRST_CELL)
    xdotool("key", "ctrl+Home", *["Down"] * row, *["Right"] * column)


def enter(text):
    xdotool("type", "--delay", 40, text)
    xdotool("key", "Return")


def write_changes(window):
    xdotool("windowfocus", window, "key", "ctrl+s")


def written(window, witness, action):
    """What the action writes. If DB Browser has missed it, it is done again."""
    changes = {}
    for _ in range(4):
        action()
        write_changes(window)
        changes = witness.await_changes(8)
        if changes:
            break
        dismiss_questions(window)
    return changes


def edit(row, column, text):
    choose_cell(row, column)
    enter(text)


def delete(row):
    choose_cell(row, 0)
    click(DELETE_RECORD)


def edit_and_delete(window):
    witness = Witness()
    edit(1, 2, "Jane")
    check("nothing is written before Write Changes", {}, witness.changes())
    check("one cell is edited, and one row changes",
          {"Sales/000223": '{"FirstName":"Jane","LastName":"Jones","Age":34}'},
          written(window, witness, lambda: edit(1, 2, "Jane")))
    check("a number is edited", {"Sales/000223": '{"FirstName":"Jane","LastName":"Jones","Age":35}'},
          written(window, witness, lambda: edit(1, 4, "35")))
    check("a record is deleted, and no other", {"Sales/000312": None}, written(window, witness, lambda: delete(2)))


def add_record(window):
    witness = Witness("Plain")
    form = None
    for _ in range(3):
        click(INSERT_RECORD)
        form = focus(DIALOG, WAIT / 6)
        if form is not None:
            break
        dismiss_questions(window)
    check("there is a form for a new record", True, form is not None)
    for number, value in enumerate(["Sales", "000401", "Ann", "51"]):
        click((FIRST_FIELD[0], FIRST_FIELD[1] + FIELD_HEIGHT * number), times=2)
        enter(value)
    click(SAVE)
    write_changes(window)
    check("a record is added", {"Sales/000401": '{"FirstName":"Ann","Age":51}'}, witness.await_changes())


def take_picture(table):
    if "DB_BROWSER_PICTURES" in os.environ:
        subprocess.run(["import", "-window", "root", f"{os.environ['DB_BROWSER_PICTURES']}/{table}.png"], check=False)


def end(process):
    process.send_signal(signal.SIGTERM)
    process.wait(WAIT)


connection = sqlite3.connect(DATABASE)
load(connection)
connection.execute("CREATE VIRTUAL TABLE Plain USING ptable(FirstName, Age)")
connection.close()
screen = start_screen()
try:
    for shown, use in (("Employee", edit_and_delete), ("Plain", add_record)):
        browser, main_window = browse(shown)
        try:
            use(main_window)
            take_picture(shown)
        finally:
            end(browser)
finally:
    end(screen)
