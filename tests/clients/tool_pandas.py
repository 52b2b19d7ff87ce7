#!/usr/bin/python3
"""pandas: read_sql, and to_sql that appends to a ptable."""

import sqlite3

import numpy
import pandas

from tool import DATABASE, Witness, check, check_refused, load

connection = sqlite3.connect(DATABASE)
load(connection)
connection.execute(
    "CREATE VIRTUAL TABLE Reading USING ptable(At DateTime, V Double, N Int32, B Boolean, S String, Id Int64)")
witness = Witness("Reading")
frame = pandas.DataFrame({
    "PartitionKey": ["s", "s"], "RowKey": ["1", "2"], "V": [1.5, numpy.nan], "N": [1, 2], "B": [True, False],
    "S": ["é", None], "Id": [2**60 + 1, 3], "At": pandas.to_datetime(["2026-11-21 08:00:01.5", "2026-11-21 08:00:02"])})


def append(given, **options):
    return given.to_sql("Reading", connection, if_exists="append", **options)


check("rows appended", 2, append(frame, index=False))
check("a row with its types, and one with gaps", {
    "s/1": '{"At":"2026-11-21T08:00:01.5000000Z","At@odata.type":"Edm.DateTime","V":1.5,"N":1,"B":true,'
           '"S":"é","Id":1152921504606846977,"Id@odata.type":"Edm.Int64"}',
    "s/2": '{"At":"2026-11-21T08:00:02.0000000Z","At@odata.type":"Edm.DateTime","N":2,"B":false,'
           '"Id":3,"Id@odata.type":"Edm.Int64"}'}, witness.changes())
back = pandas.read_sql("SELECT * FROM Reading", connection, parse_dates=["At"])
check("they come back", [("1", 1.5, 1, 1, "é", 2**60 + 1), ("2", None, 2, 0, None, 3)],
      [(r.RowKey, None if pandas.isna(r.V) else r.V, r.N, r.B, r.S, r.Id) for r in back.itertuples()])
check("with their times", list(frame["At"]), [time.tz_localize(None) for time in back["At"]])
check("with their types", ["object", "object", "float64", "int64"],
      [str(back[name].dtype) for name in ("PartitionKey", "RowKey", "V", "Id")])

append(frame.assign(RowKey=[10, 20]), index=False, method="multi")
append(frame.assign(RowKey=["3", "4"], N=[1.0, numpy.nan]), index=False, chunksize=1)
append(frame.assign(RowKey=["5", "6"]).set_index(["PartitionKey", "RowKey"]))
check("keys that are numbers, numbers with gaps, keys that are the index",
      ["s/10", "s/20", "s/3", "s/4", "s/5", "s/6"], list(witness.changes()))
check_refused("rows that exist", sqlite3.IntegrityError, "EntityAlreadyExists", lambda: append(frame, index=False))
check_refused("rows without keys", sqlite3.IntegrityError, "PropertiesNeedValue",
              lambda: append(frame.drop(columns="RowKey"), index=False))
check_refused("values of another type", sqlite3.IntegrityError, "InvalidValueType",
              lambda: append(frame.assign(RowKey=["7", "8"], V=["x", "y"]), index=False))
check("an append that is refused leaves nothing", {}, witness.changes())
check("parameters", ["20"], list(pandas.read_sql("SELECT RowKey FROM Reading WHERE PartitionKey = ? AND RowKey = ?",
                                                 connection, params=("s", "20"))["RowKey"]))
