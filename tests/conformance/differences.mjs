// Where the emulator is known to answer otherwise than the Table service, or the service otherwise
// than SQL can: by name, with the reason. The corpus then holds the service's answer and the name.
//
// PARTS: of writes, alone or in a batch, that the emulator refuses. `standIn`: it would not refuse
// the operation itself, so another one is sent in its place.
// WHOLE: of any operation with its outcome, and the tables that there are. The first that
// changes the
// outcome is the one that counts.
import { annotation } from "./values.mjs";
import { REFUSED_FILTERS } from "./filters.mjs";

const FORBIDDEN = /[/\\#?\u0000-\u001f\u007f-\u009f]/;
const keysOf = ({ pk, rk }) => [pk, rk].filter((key) => key !== undefined);
const hasForbidden = (part) => keysOf(part).some((key) => FORBIDDEN.test(key));
const hasTooLong = (part) => keysOf(part).some((key) => key.length > 512);
const names = ({ properties }) =>
  Object.keys(properties ?? {}).filter((name) => !name.includes("@odata.type"));
const hasTyped = ({ properties }, type, wrong) =>
  names({ properties }).some(
    (name) => properties[annotation(name)] === `Edm.${type}` && wrong(properties[name]),
  );

const isInt64 = (text) => /^-?\d+$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text);

const isRealTime = (text) => {
  const [, month, day] = text.split(/[-T]/).map(Number);
  const time = new Date(text);
  return (
    !Number.isNaN(time.valueOf()) && time.getUTCDate() === day && time.getUTCMonth() + 1 === month
  );
};

// By the formula of the service's documentation.
function entitySize({ pk, rk, properties }) {
  const fixed = { "Edm.Int64": 8, "Edm.Double": 8, "Edm.DateTime": 8, "Edm.Guid": 16 };
  const size = (name) => {
    const [value, type] = [properties[name], properties[annotation(name)]];
    if (type === "Edm.Binary") return 4 + (value.length * 3) / 4;
    if (typeof value === "string" && type === undefined) return 4 + 2 * value.length;
    return fixed[type] ?? { boolean: 1, number: 4 }[typeof value];
  };
  return names({ properties })
    .filter((name) => properties[name] !== null)
    .reduce((sum, name) => sum + 8 + 2 * name.length + size(name), 4 + 2 * (pk.length + rk.length));
}

const refusal = (code) => ({ status: 400, code });

export const PARTS = [
  {
    name: "key-characters",
    reason:
      "a forbidden character in a key is OutOfRangeInput in the service's bodies; the emulator " +
      "says InvalidInput, 404 for a delete, and 500 for / in an address",
    applies: hasForbidden,
    standIn: true,
    answer: () => refusal("OutOfRangeInput"),
  },
  {
    name: "key-length",
    reason: "a key of more than 512 units is PropertyValueTooLarge; the emulator says InvalidInput",
    applies: (part) => hasTooLong(part) && part.op !== "delete",
    answer: () => refusal("PropertyValueTooLarge"),
  },
  {
    name: "etag-form",
    reason: "a malformed If-Match is InvalidInput; the emulator says InvalidOperation",
    applies: ({ ifMatch }) => ![undefined, "*", "current", "stale"].includes(ifMatch),
    answer: () => refusal("InvalidInput"),
  },
  {
    name: "property-name-length",
    reason: "the emulator does not check the length of property names",
    applies: (part) => names(part).some((name) => name.length > 255),
    standIn: true,
    answer: () => refusal("PropertyNameTooLong"),
  },
  {
    name: "property-name-form",
    reason: "the emulator does not check the characters of property names",
    applies: (part) => names(part).some((name) => !/^[\p{L}_][\p{L}\p{Nd}_]*$/u.test(name)),
    standIn: true,
    answer: () => refusal("PropertyNameInvalid"),
  },
  {
    name: "property-count",
    reason: "the emulator does not count properties",
    applies: (part) => names(part).length > 252,
    standIn: true,
    answer: () => refusal("TooManyProperties"),
  },
  {
    name: "value-form",
    reason:
      "the emulator does not read the texts of Int64, Guid and DateTime values, nor the digits " +
      "of Int32",
    applies: (part) =>
      hasTyped(part, "Int64", (value) => !isInt64(value)) ||
      hasTyped(
        part,
        "Int32",
        (value) => value !== Math.trunc(value) || Math.abs(value) > 0x80000000,
      ) ||
      hasTyped(part, "Guid", (value) => !/^[0-9a-f-]{36}$/i.test(value)) ||
      hasTyped(part, "DateTime", (value) => !isRealTime(value)),
    standIn: true,
    answer: () => refusal("InvalidValueType"),
  },
  {
    name: "time-before-1601",
    reason: "the emulator does not check the range of DateTime",
    applies: (part) => hasTyped(part, "DateTime", (value) => value < "1601"),
    standIn: true,
    answer: () => refusal("OutOfRangeInput"),
  },
  {
    name: "entity-size",
    reason: "the emulator measures entities by their JSON, and inserted ones not at all",
    applies: (part) => part.properties !== undefined && entitySize(part) > 1 << 20,
    standIn: true,
    answer: () => refusal("EntityTooLarge"),
  },
];

export const OTHER_PARTITION = {
  name: "batch-partitions",
  reason: "the emulator takes batches over several partitions",
  standIn: true,
  answer: () => refusal("CommandsInBatchActOnDifferentPartitions"),
};

// Whether the order of UTF-16, the emulator's, differs from that of UTF-8 among these keys.
function isOrderedOtherwise(entities) {
  const all = entities.map(({ PartitionKey, RowKey }) => PartitionKey + RowKey).join("");
  return /[\ud800-\udbff]/.test(all) && /[\ue000-\uffff]/.test(all);
}

const utf8 = ({ PartitionKey, RowKey }) => Buffer.from(`${PartitionKey}\u0000${RowKey}`);

export const WHOLE = [
  {
    name: "missing-table",
    reason:
      "where the table is missing and the operation is malformed, too, a ptable says the first: " +
      "SQLite begins a transaction, which looks for the table, before it hands over the row",
    change: ({ op, table }, { status }, tables) =>
      !op.endsWith("Table") && status !== 404 && !tables.has(table.toLowerCase())
        ? { status: 404, code: "TableNotFound", ...(op === "batch" ? { index: 0 } : {}) }
        : undefined,
  },
  {
    name: "key-order",
    reason:
      "keys are ordered by their UTF-8 bytes, as SQLite compares text, not by UTF-16 units: " +
      "U+E000 to U+FFFF stand before the characters beyond U+FFFF",
    change: (operation, outcome) =>
      operation.op === "query" && isOrderedOtherwise(outcome.entities ?? [])
        ? {
            ...outcome,
            entities: [...outcome.entities].sort((one, other) =>
              Buffer.compare(utf8(one), utf8(other)),
            ),
          }
        : undefined,
  },
  {
    name: "get-of-impossible-key",
    reason:
      "SELECT judges no keys: an entity with a forbidden key is not there; the emulator answers " +
      "500 for / in an address",
    change: (operation, outcome) =>
      operation.op === "get" && outcome.status === 500 && hasForbidden(operation)
        ? { status: 404, code: "ResourceNotFound" }
        : undefined,
  },
  {
    name: "table-name",
    reason: "the emulator gives no code for bad table names",
    change: (operation, outcome) => {
      if (operation.op !== "createTable" || outcome.status !== 400) {
        return undefined;
      }
      const fits = operation.table.length >= 3 && operation.table.length <= 63;
      return refusal(fits ? "InvalidResourceName" : "OutOfRangeInput");
    },
  },
  {
    name: "batch-count",
    reason: "the operation that is one too many is refused, with its index; the emulator says 0",
    change: (operation, outcome) =>
      operation.op === "batch" && operation.operations.length > 100 && outcome.status === 400
        ? { ...outcome, index: 100 }
        : undefined,
  },
  {
    name: "batch-size",
    reason:
      "the operation with which the batch grows beyond 4 MiB is refused; the service answers " +
      "without an index",
    change: (operation, outcome) =>
      operation.op === "batch" && outcome.status === 413
        ? { ...outcome, index: undefined }
        : undefined,
  },
  {
    name: "filter-refusals",
    reason: "the emulator evaluates some filters that the service refuses, and gives other codes",
    change: ({ table, filter }, outcome, tables) => {
      const [, status, code] = REFUSED_FILTERS.find(([text]) => text === filter) ?? [];
      return status && tables.has(table.toLowerCase()) ? { status, code } : undefined;
    },
  },
];

// Given to the emulator in another form that means there what the filter means on the service.
export const FILTER_MEANING = {
  name: "filter-meaning",
  reason:
    "the emulator compares values of different types as JavaScript does, Guids and binaries by " +
    "their base64, and does not read 5D, 15e-1, upper-case Guids, `not not`",
};

// Never generated, as the emulator spoils what would be compared, or the service has not been
// asked:
//   - bodies beyond 64 KiB with other than ASCII characters (characters are torn apart)
//   - keys with ', or RowKey=' in batches (misread); raw U+2028 in batches (500)
//   - -0.0 (becomes 0.0), Doubles beyond the range, integers beyond Int32 without annotation
//   - times without Z or with an offset, DateTime literals that differ by less than a millisecond
//   - filters on empty Binary values (equal to nothing), `eq null` as a condition, filters on
// properties whose type changes (500)
//   - $top beyond 1000 (clamped), $top=0, batches of nothing or with a GET
//   - entity addresses that differ in case from the table's name (404)
