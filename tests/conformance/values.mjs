// Keys, names and values that operations are made of.
//
// A property has one type for its name, so that filters on it compare like with like; only those of
// MIXED change their type. Properties are written as the service's JSON has them: Int64 as string,
// types in "Name@odata.type".

export const KEYS = [
  "",
  " ",
  "!",
  "0",
  "00",
  "1",
  "10",
  "2",
  "9",
  "A",
  "a",
  "aa",
  "B",
  "b",
  "c",
  "P",
  "p",
  "_",
  "~",
  "empid_000123",
  "empid_000123_2012",
  "empid_000124",
  "Sales",
  "sales",
  "Marketing",
  "o'c",
  "''",
  "'",
  '"',
  "a b",
  " lead",
  "trail ",
  "100%",
  "%41",
  "%2F",
  "a+b",
  "a&b",
  "a=b",
  "(x)",
  "a,b",
  "a;b",
  "$x",
  "[]",
  "{}",
  "<>",
  "|",
  "^",
  "`",
  "a.b",
  "..",
  "-1",
  "@",
  "*",
  "é",
  "e\u0301",
  "\u00a0",
  "日本",
  "日本語",
  "Ω",
  "İ",
  "ß",
  "😀",
  "😀😀",
  "𐀀",
  "\u200d",
  "\ud7ff",
  "k".repeat(512),
  "k".repeat(511),
  "é".repeat(512),
  "😀".repeat(256),
  "日".repeat(300),
];

// In UTF-16 before the others, in UTF-8 after them; unfiltered queries only.
export const KEYS_BEYOND_SURROGATES = [
  "\ue000",
  "\ufb01",
  "\ufffd",
  "\uffff",
  "\ud7ff",
  "😀",
  "\u{10ffff}",
  "z",
];

export const FORBIDDEN_KEYS = [
  "a/b",
  "/",
  "a\\b",
  "a#b",
  "a?b",
  "\u0001",
  "a\u001f",
  "\u007f",
  "a\u0085b",
  "\u009f",
  "tab\t",
  "line\n",
];

export const TOO_LONG_KEYS = ["k".repeat(513), "é".repeat(513), "😀".repeat(257)];

export const BAD_TABLE_NAMES = ["ab", "1abc", "a-b", "tables", "x".repeat(64), "größe"];

export const MALFORMED_VALUES = [
  ["l", "Int64", "abc"],
  ["l", "Int64", ""],
  ["l", "Int64", "9223372036854775808"],
  ["g", "Guid", "abc"],
  ["t", "DateTime", "2026-02-30T00:00:00Z"],
  ["t", "DateTime", "abc"],
  ["t", "DateTime", "10000-01-01T00:00:00Z"],
];

export const MALFORMED_ETAGS = ["abc", '"0x8D"', "W/abc"];

const LONG_NAME = "N".repeat(255);

export const MIXED = ["m", "M", "_u", "größe", LONG_NAME];

export const TYPE_OF = {
  s: "String",
  s2: "String",
  i: "Int32",
  l: "Int64",
  d: "Double",
  b: "Boolean",
  t: "DateTime",
  g: "Guid",
  x: "Binary",
};

export const NAMES = [...Object.keys(TYPE_OF), ...MIXED];

export const VALUES = {
  String: [
    "",
    " ",
    "a",
    "A",
    "ab",
    "b",
    "it's",
    "''",
    '"quoted"',
    "100%",
    "é",
    "e\u0301",
    "日本",
    "😀",
    "true",
    "null",
    "NaN",
    "123",
    "2026-11-21T08:00:00Z",
    "{}",
    "\\",
    "a\u0000b",
    "\u0000",
    "\u0001\u001f",
    "line\nbreak\r\n\ttab",
    "\u007f\u0080",
    "/slash",
    "trailing ",
  ],
  Int32: [0, 1, -1, 2, 3, 7, 10, 42, 100, -100, 2147483647, -2147483648],
  Int64: [
    "0",
    "1",
    "-1",
    "3",
    "42",
    "-42",
    "2147483647",
    "2147483648",
    "-2147483649",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
  ],
  Double: [
    0,
    1,
    -1,
    5,
    0.5,
    -0.5,
    1.5,
    2.25,
    3.125,
    0.1,
    1 / 3,
    1e21,
    1e-7,
    123456789.125,
    3e9,
    5e-324,
    2.2250738585072014e-308,
    1.7976931348623157e308,
    -1.7976931348623157e308,
    "NaN",
    "Infinity",
    "-Infinity",
  ],
  Boolean: [true, false],
  DateTime: [
    "1601-01-01T00:00:00Z",
    "1969-12-31T23:59:59.9999999Z",
    "1970-01-01T00:00:00Z",
    "2000-02-29T12:30:00Z",
    "2026-11-21T08:43:22.5484454Z",
    "2026-11-21T08:43:22.5490001Z",
    "2026-11-21T08:43:23.1Z",
    "9999-12-31T23:59:59.9999999Z",
  ],
  Guid: [
    "00000000-0000-0000-0000-000000000000",
    "c9da6455-213d-42c9-9a79-3e9149a57833",
    "0f0e0d0c-0b0a-0908-0706-050403020100",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
  ],
  Binary: ["AA==", "AAE=", "/w==", "aGVsbG8=", "AAECAwQFBgcICQoLDA0ODw==", "/////w=="],
};

// Of properties of any type; an empty Binary is never equal to anything in the emulator's filters.
export const MIXED_VALUES = { ...VALUES, Binary: ["", ...VALUES.Binary] };

const LARGE = {
  String: ["x".repeat(32768), "x".repeat(5000), "é".repeat(9000), "😀".repeat(4000)],
  Binary: [`${"A".repeat(4 * 21845)}AA==`], // 65,536 bytes
};

const ANNOTATED = ["Int64", "Double", "DateTime", "Guid", "Binary"];

export function annotation(name) {
  return `${name}@odata.type`;
}

// Adds a property in the service's JSON. A Double that is no whole number needs no annotation.
export function addProperty(properties, name, type, value) {
  const plain = type === "Double" && typeof value === "number" && !Number.isInteger(value);
  properties[name] = value;
  if (ANNOTATED.includes(type) && !plain) {
    properties[annotation(name)] = `Edm.${type}`;
  }
}

export function anyValue(random, type) {
  return random.of(VALUES[type]);
}

// One of them may be large, but not x: filters.mjs knows the values that it has.
export function anyProperties(random, { most = 6, largePercent = 1, nullPercent = 2 } = {}) {
  const properties = {};
  let largeLeft = random.chance(largePercent) ? 1 : 0;
  for (const name of random.some(NAMES, random.between(0, most))) {
    const type = TYPE_OF[name] ?? random.of(Object.keys(VALUES));
    const values = name in TYPE_OF ? VALUES : MIXED_VALUES;
    const large = largeLeft > 0 && LARGE[type] !== undefined && name !== "x";
    addProperty(properties, name, type, random.of(large ? LARGE[type] : values[type]));
    largeLeft -= Number(large);
  }
  if (random.chance(nullPercent)) {
    const name = random.of(NAMES);
    delete properties[annotation(name)];
    properties[name] = null;
  }
  return properties;
}
