// Fixed operations that every run begins with: the borders of the limits, the order of keys, a
// property through all types, the life of an ETag, what null means. In a table of their own.
import { deviantFilter, REFUSED_FILTERS } from "./filters.mjs";
import {
  BAD_TABLE_NAMES,
  FORBIDDEN_KEYS,
  MALFORMED_ETAGS,
  MALFORMED_VALUES,
  MIXED_VALUES,
  TYPE_OF,
  addProperty,
  anyValue,
} from "./values.mjs";

const TABLE = "Corners";
const MEBIBYTE = 1 << 20;

// In the order of the service.
const ORDERED_KEYS = [
  "",
  " ",
  "!",
  "0",
  "00",
  "10",
  "9",
  "METABOLIFE",
  "METABOLISE",
  "METABOLISED",
  "METABOLISM",
  "METABOLITE",
  "P",
  "_",
  "a",
  "aa",
  "p",
  "~",
  "\u00a0",
  "é",
  "日本",
  "\ud7ff",
  "𐀀",
  "😀",
  "\u{10ffff}",
];

const put = (rk, properties = {}, pk = "limits") => ({ op: "upsertReplace", pk, rk, properties });

function typed(type, value, name = "p") {
  const properties = {};
  addProperty(properties, name, type, value);
  return properties;
}

function* keyOrder() {
  for (const key of [...ORDERED_KEYS].reverse()) {
    yield { op: "insert", pk: key, rk: "", properties: {} };
    yield { op: "insert", pk: "rows", rk: key, properties: {} };
  }
  yield { op: "query" };
  yield { op: "query", top: 7 };
  yield {
    op: "query",
    filter: "PartitionKey eq 'rows' and RowKey ge 'METABOLIS' and RowKey lt 'METABOLIT'",
    top: 2,
  };
  yield { op: "query", filter: "RowKey eq ''" };
  yield {
    op: "query",
    filter: "PartitionKey eq 'rows' and RowKey eq '9' or PartitionKey eq 'é' and RowKey eq ''",
  };
}

function* limits() {
  for (const key of ["k".repeat(512), "é".repeat(512), "😀".repeat(256)]) {
    yield put(key, {}, key);
    yield put(`${key}x`, {}, "limits");
    yield { op: "get", pk: key, rk: key };
  }
  yield put("string", { s: "x".repeat(32768) });
  yield put("string", { s: "x".repeat(32769) });
  yield put("string", { s: "é".repeat(30000) });
  yield put("binary", typed("Binary", `${"A".repeat(4 * 21845)}AA==`));
  yield put("binary", typed("Binary", `${"A".repeat(4 * 21845)}AAA=`));
  for (const count of [252, 253]) {
    yield put("count", Object.fromEntries(Array.from({ length: count }, (_, n) => [`n${n}`, n])));
  }
  for (const name of ["N".repeat(255), "N".repeat(256), "_", "é", "a1", "1a", "a-b"]) {
    yield put("name", { [name]: 1 });
  }
  for (const time of [
    "1601-01-01T00:00:00Z",
    "1600-12-31T23:59:59.9999999Z",
    "9999-12-31T23:59:59.9999999Z",
  ]) {
    yield put("time", typed("DateTime", time));
  }
  for (const more of [0, 1]) {
    yield put("size", bigProperties(MEBIBYTE + 2 * more, "limits".length + "size".length));
  }
}

// Strings that make an entity with so many units of keys as large as given, by the service's
// formula.
function bigProperties(size, keyUnits) {
  const properties = {};
  let left = size - 4 - 2 * keyUnits;
  for (let n = 10; left > 0; n++) {
    const overhead = 8 + 2 * 3 + 4;
    const units = Math.min(32768, (left - overhead) / 2);
    properties[`s${n}`] = "x".repeat(units);
    left -= overhead + 2 * units;
  }
  return properties;
}

function* malformed() {
  for (const value of MALFORMED_VALUES) {
    const [name, type, text] = value;
    yield put("malformed", typed(type, text, name));
  }
  for (const key of FORBIDDEN_KEYS) {
    yield put(key);
    yield { op: "get", pk: "limits", rk: key };
  }
  for (const ifMatch of MALFORMED_ETAGS) {
    yield { op: "merge", pk: "limits", rk: "string", properties: {}, ifMatch };
  }
}

function* types() {
  yield { op: "insert", pk: "types", rk: "1", properties: { stays: 1 } };
  for (const [type, values] of Object.entries(MIXED_VALUES)) {
    for (const value of values) {
      yield {
        op: "merge",
        pk: "types",
        rk: "1",
        properties: typed(type, value),
        ifMatch: "current",
      };
      yield { op: "get", pk: "types", rk: "1" };
    }
  }
}

function* conditions() {
  const key = { pk: "conditions", rk: "1" };
  for (const op of ["merge", "replace", "delete"]) {
    for (const ifMatch of ["*", "current", "stale", "abc"]) {
      yield { op, ...key, ...(op === "delete" ? {} : { properties: {} }), ifMatch };
    }
    yield { op: "insert", ...key, properties: { a: 1 } };
    yield { op: "insert", ...key, properties: { a: 2 } };
    yield { op: "merge", ...key, properties: { a: 1 }, ifMatch: "current" };
    yield { op: "merge", ...key, properties: { b: 1 }, ifMatch: "stale" };
    yield { op: "merge", ...key, properties: {}, ifMatch: "current" };
    yield { op: "replace", ...key, properties: { c: 1 }, ifMatch: "stale" };
    yield { op: "delete", ...key, ifMatch: "stale" };
    yield { op: "get", ...key };
    yield { op: "delete", ...key, ifMatch: "current" };
    yield { op: "upsertMerge", ...key, properties: { d: 1 } };
    yield { op: "replace", ...key, properties: { d: 2 }, ifMatch: "stale" };
    yield { op: "delete", ...key, ifMatch: "*" };
  }
}

function* nulls() {
  const key = { pk: "nulls", rk: "1" };
  yield { op: "insert", ...key, properties: { i: 1, b: null } };
  yield { op: "get", ...key };
  yield { op: "merge", ...key, properties: { i: null, c: 3 }, ifMatch: "*" };
  yield { op: "get", ...key, select: ["i", "never"] };
  yield { op: "replace", ...key, properties: { i: null, d: 4 }, ifMatch: "*" };
  yield { op: "get", ...key };
  yield { op: "query", filter: "not (i ne 1) and PartitionKey eq 'nulls'" };
  yield { op: "query", filter: "i ne 1 and PartitionKey eq 'nulls'" };
}

function* batches() {
  const merge = (rk, ifMatch) => ({ op: "merge", pk: "batch", rk, properties: {}, ifMatch });
  const insert = (rk) => ({ op: "insert", pk: "batch", rk, properties: {} });
  const numbered = (count) => Array.from({ length: count }, (_, n) => insert(`n${n}`));
  yield { op: "batch", operations: numbered(101) };
  yield { op: "batch", operations: numbered(100) };
  yield { op: "batch", operations: [insert("a"), insert("b"), insert("n99")] };
  yield { op: "batch", operations: [insert("a"), insert("a")] };
  yield { op: "batch", operations: [insert("a"), { ...insert("b"), pk: "other" }] };
  yield {
    op: "batch",
    operations: [insert("a"), { op: "delete", pk: "batch", rk: "b", ifMatch: "*" }],
  };
  yield { op: "batch", operations: [insert("a"), merge("b", "*")] };
  yield { op: "batch", operations: [insert("a"), merge("n1", "stale"), insert("b")] };
  yield { op: "batch", operations: [insert("a"), insert("b"), merge("n1", "abc")] };
  yield { op: "batch", operations: [insert("a"), insert("b"), insert("a/b")] };
  yield { op: "batch", operations: [insert("a"), insert("k".repeat(513))] };
  yield { op: "batch", operations: [insert("a"), { ...insert("b"), properties: { "1a": 1 } }] };
  yield { op: "query", filter: "PartitionKey eq 'batch'", select: ["never"] };
}

// One entity with every property, one with none: what each comparison says of them.
function* filters(random) {
  const properties = {};
  for (const [name, type] of Object.entries(TYPE_OF)) {
    addProperty(properties, name, type, anyValue(random, type));
  }
  yield {
    op: "upsertReplace",
    pk: "filters",
    rk: "full",
    properties: { ...properties, i: 3, b: true },
  };
  yield { op: "upsertReplace", pk: "filters", rk: "empty", properties: {} };
  for (const operator of ["eq", "ne", "lt", "le", "gt", "ge"]) {
    for (const comparison of [`i ${operator} 3`, `3 ${operator} i`, `not (i ${operator} 3)`]) {
      yield { op: "query", filter: `${comparison} and PartitionKey eq 'filters'` };
    }
  }
  for (const filter of ["b", "not b", "b eq true", "true and b", "false or b"]) {
    yield { op: "query", filter: `(${filter}) and PartitionKey eq 'filters'` };
  }
  for (const [filter] of REFUSED_FILTERS) {
    yield { op: "query", filter };
  }
  for (let n = 0; n < 100; n++) {
    const { filter, sent } = deviantFilter(random);
    const inPartition = (text) => `${text} and PartitionKey eq 'filters'`;
    yield {
      op: "query",
      select: ["never"],
      filter: inPartition(filter),
      sent: inPartition(sent.replace(/^(.* or .*)$/, "($1)")),
    };
  }
}

export function* scenarios(random) {
  for (const table of [TABLE, TABLE.toUpperCase(), ...BAD_TABLE_NAMES]) {
    yield { op: "createTable", table };
  }
  for (const part of [keyOrder, limits, malformed, types, conditions, nulls, batches, filters]) {
    for (const { op, ...rest } of part(random)) {
      yield { op, table: TABLE, ...rest };
    }
  }
  yield { op: "deleteTable", table: TABLE.toLowerCase() };
}
