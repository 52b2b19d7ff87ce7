// Random $filter expressions. Each is a pair: `filter` for the service, and `sent`, what the
// emulator
// is given: the same, or an expression that means on the emulator what the filter means on the
// service, where the emulator has it wrong (differences.mjs, "filter-...").
import { KEYS, TYPE_OF, VALUES, anyValue } from "./values.mjs";

const MIRRORED = { eq: "eq", ne: "ne", lt: "gt", le: "ge", gt: "lt", ge: "le" };
const OPERATORS = Object.keys(MIRRORED);
const HOLDS = {
  eq: (order) => order === 0,
  ne: (order) => order !== 0,
  lt: (order) => order < 0,
  le: (order) => order <= 0,
  gt: (order) => order > 0,
  ge: (order) => order >= 0,
};
const NOTHING = "(PartitionKey lt '')";

// Doubles whose literals the emulator reads, and which a text of digits and a point can express.
const PLAIN_DOUBLES = VALUES.Double.filter(
  (value) =>
    typeof value === "number" &&
    (value === 0 || (Math.abs(value) < 1e15 && Math.abs(value) > 1e-6)),
);

const quoted = (text) => `'${text.replaceAll("'", "''")}'`;
const decimal = (value) => (Number.isInteger(value) ? value.toFixed(1) : String(value));
const guid = (text) => `guid'${text}'`;
const hex = (base64) => Buffer.from(base64, "base64").toString("hex");

const LITERAL = {
  String: (random) =>
    quoted(random.of(["", "a", "A", "ab", "b", "it's", "é", "日本", "100%", "zzz"])),
  Int32: (random) => String(anyValue(random, "Int32")),
  Int64: (random) => `${anyValue(random, "Int64")}L`,
  Double: (random) => decimal(random.of(PLAIN_DOUBLES)),
  Boolean: (random) => String(anyValue(random, "Boolean")),
  DateTime: (random) => `datetime'${anyValue(random, "DateTime")}'`,
  Guid: (random) => guid(anyValue(random, "Guid")),
  Binary: (random) => `${random.of(["X", "binary"])}'${hex(anyValue(random, "Binary"))}'`,
};

const EQUALITY_ONLY = ["Boolean", "Guid", "Binary"];

const same = (text) => ({ filter: text, sent: text });

function keyComparison(random, keys) {
  const name = random.of(["PartitionKey", "RowKey"]);
  const key = random.chance(80)
    ? random.of(keys[name])
    : random.of(KEYS.filter((k) => k.length < 20));
  const operator = random.of(OPERATORS);
  return random.chance(15)
    ? same(`${quoted(key)} ${MIRRORED[operator]} ${name}`)
    : same(`${name} ${operator} ${quoted(key)}`);
}

function alikeComparison(random) {
  const name = random.of([...Object.keys(TYPE_OF), "never"]);
  if (name === "b" && random.chance(40)) {
    return same("b");
  }
  const type = TYPE_OF[name] ?? "Int32";
  const operator = random.of(EQUALITY_ONLY.includes(type) ? ["eq", "ne"] : OPERATORS);
  const literal = LITERAL[type](random);
  return random.chance(15)
    ? same(`${literal} ${MIRRORED[operator]} ${name}`)
    : same(`${name} ${operator} ${literal}`);
}

// --- what the emulator has wrong

// Literals of integers on wider properties are widened.
function widened(random) {
  const operator = random.of(OPERATORS);
  const value = random.of([0, 1, -1, 3, 42]);
  return random.of([
    { filter: `l ${operator} ${value}`, sent: `l ${operator} ${value}L` },
    { filter: `d ${operator} ${value}`, sent: `d ${operator} ${value}.0` },
    { filter: `d ${operator} ${value}L`, sent: `d ${operator} ${value}.0` },
  ]);
}

const PRESENT = {
  i: "(i eq 0 or i ne 0)",
  l: "(l eq 0L or l ne 0L)",
  s: "(s eq '' or s ne '')",
  b: "(b eq true or b ne true)",
};

// Other types do not compare: the property acts as less than the literal.
function acrossTypes(random) {
  const [name, literal] = random.of([
    ["i", "3L"],
    ["i", "1.5"],
    ["i", "'3'"],
    ["i", "true"],
    ["l", "1.5"],
    ["l", "'3'"],
    ["s", "123"],
    ["s", "true"],
    ["s", guid(VALUES.Guid[0])],
    ["b", "1"],
    ["b", "'true'"],
  ]);
  const operator = random.of(OPERATORS);
  return {
    filter: `${name} ${operator} ${literal}`,
    sent: HOLDS[operator](-1) ? PRESENT[name] : NOTHING,
  };
}

// The order of Guids and binaries, as an `or` of the values that there are.
function ordered(random) {
  const operator = random.of(OPERATORS);
  const [name, type, literal, order] = random.of([
    ["g", "Guid", guid, (text) => text],
    ["x", "Binary", (base64) => `X'${hex(base64)}'`, hex],
  ]);
  const bound = anyValue(random, type);
  const fitting = VALUES[type].filter((value) => {
    const [one, other] = [order(value), order(bound)];
    return HOLDS[operator](one < other ? -1 : Number(one > other));
  });
  const sent = fitting.map((value) => `${name} eq ${literal(value)}`).join(" or ");
  return { filter: `${name} ${operator} ${literal(bound)}`, sent: `(${sent || NOTHING})` };
}

function spellings(random) {
  const operator = random.of(OPERATORS);
  const upper = guid(VALUES.Guid[1].toUpperCase());
  return random.of([
    { filter: `d ${operator} 5D`, sent: `d ${operator} 5.0` },
    { filter: `d ${operator} 15e-1`, sent: `d ${operator} 1.5` },
    { filter: `g eq ${upper}`, sent: `g eq ${upper.toLowerCase()}` },
    { filter: "not not b", sent: "b" },
    { filter: `not not (i ${operator} 3)`, sent: `(i ${operator} 3)` },
  ]);
}

// -----------------------------------------------------------------------------------------------

// One that the emulator has wrong.
export function deviantFilter(random) {
  return random.of([widened, acrossTypes, ordered, spellings])(random);
}

const KINDS = { key: 30, alike: 55, deviant: 15 };

function comparison(random, keys) {
  switch (random.weighted(KINDS)) {
    case "key":
      return keyComparison(random, keys);
    case "deviant":
      return deviantFilter(random);
    default:
      return alikeComparison(random);
  }
}

const both = (one, wrap) => ({ filter: wrap(one.filter), sent: wrap(one.sent) });

function tree(random, keys, depth) {
  if (depth === 0 || random.chance(30)) {
    return comparison(random, keys);
  }
  if (random.chance(20)) {
    return both(tree(random, keys, depth - 1), (text) => `not (${text})`);
  }
  const operator = random.of(["and", "or"]);
  const [one, other] = [tree(random, keys, depth - 1), tree(random, keys, depth - 1)];
  const joined = {
    filter: `${one.filter} ${operator} ${other.filter}`,
    sent: `${one.sent} ${operator} ${other.sent}`,
  };
  return random.chance(50) ? both(joined, (text) => `(${text})`) : joined;
}

// `keys` = {PartitionKey: [...], RowKey: [...]}: those that the tables use.
export function anyFilter(random, keys) {
  return tree(random, keys, random.between(0, 3));
}

// Refused, with the status and code of the service.
export const REFUSED_FILTERS = [
  ["startswith(s,'a')", 501, "NotImplemented"],
  ["substringof('a',s)", 501, "NotImplemented"],
  ["tolower(s) eq 'a'", 501, "NotImplemented"],
  ["i eq i", 501, "NotImplemented"],
  ["1 eq 2", 501, "NotImplemented"],
  ["i eq null", 400, "InvalidInput"],
  ["i eq", 400, "InvalidInput"],
  ["i = 3", 400, "InvalidInput"],
  ["(i eq 3", 400, "InvalidInput"],
  ["i eq 3)", 400, "InvalidInput"],
  ["and", 400, "InvalidInput"],
  ["s eq 'a", 400, "InvalidInput"],
  ["i eq 3 i eq 4", 400, "InvalidInput"],
];
