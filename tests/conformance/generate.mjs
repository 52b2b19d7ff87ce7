// generate.mjs seed count: random operations, a JSON object each line, the same for the same seed.
// What they meet is only guessed here; what comes of them is for the emulator to say.
//     generate.mjs seed count small     fewer keys, for a corpus of short answers
import { anyFilter, REFUSED_FILTERS } from "./filters.mjs";
import { Random } from "./random.mjs";
import { scenarios } from "./scenarios.mjs";
import {
  BAD_TABLE_NAMES,
  FORBIDDEN_KEYS,
  KEYS,
  KEYS_BEYOND_SURROGATES,
  MALFORMED_ETAGS,
  MALFORMED_VALUES,
  NAMES,
  TOO_LONG_KEYS,
  addProperty,
  anyProperties,
} from "./values.mjs";
import { toLine } from "./wire.mjs";

// As columns, names must differ in more than case.
const SELECTABLE = [...NAMES.filter((name) => name !== "M"), "never"];
const ORDER_TABLE = "KeyOrder";
const WRITES = {
  insert: 24,
  upsertReplace: 14,
  upsertMerge: 14,
  replace: 12,
  merge: 16,
  delete: 14,
};
const LONGEST = "x".repeat(32768);
const CONDITIONAL = ["replace", "merge", "delete"];
const CONDITIONS = { "*": 40, current: 40, stale: 17, malformed: 3 };
const BATCH_FAULTS = {
  insertExisting: 8,
  updateMissing: 8,
  deleteMissing: 6,
  stale: 8,
  malformed: 2,
  twice: 8,
  partition: 5,
  tooMany: 2,
  tooLarge: 1,
  key: 4,
  keyLength: 3,
  property: 4,
  table: 2,
};

class Generator {
  #random;
  #keys;
  #tables = new Set();
  #entities = new Map(); // table -> Set of JSON [pk, rk] that probably exist

  constructor(seed, small) {
    this.#random = new Random(seed);
    this.#keys = {
      PartitionKey: this.#random.some(KEYS, small ? 3 : 7),
      RowKey: this.#random.some(KEYS, small ? 6 : 24),
    };
  }

  *operations(count) {
    let done = 0;
    for (const operation of this.#prologue()) {
      yield operation;
      done++;
    }
    for (; done < count - 2; done++) {
      yield this.#any();
    }
    yield { op: "query", table: "Main" };
    yield { op: "query", table: "Second" };
  }

  *#prologue() {
    yield* scenarios(this.#random);
    for (const table of ["Main", "Second", ORDER_TABLE]) {
      yield this.#createTable(table);
    }
    for (const pk of KEYS_BEYOND_SURROGATES) {
      yield {
        op: "upsertReplace",
        table: ORDER_TABLE,
        pk,
        rk: this.#random.of(KEYS_BEYOND_SURROGATES),
        properties: {},
      };
    }
  }

  #any() {
    const table = this.#random.weighted({ Main: 80, Second: 18, Never: 2 });
    switch (
      this.#random.weighted({
        write: 60,
        faulty: 5,
        get: 11,
        query: 12,
        batch: 10,
        order: 0.5,
        table: 1.5,
      })
    ) {
      case "write":
        return this.#write(table);
      case "faulty":
        return this.#faultyWrite(table);
      case "get":
        return this.#get(table);
      case "query":
        return this.#query(table);
      case "batch":
        return this.#random.chance(45) ? this.#goodBatch(table) : this.#faultyBatch(table);
      case "order":
        return {
          op: "query",
          table: ORDER_TABLE,
          ...(this.#random.chance(70) ? { top: this.#random.between(1, 4) } : {}),
        };
      default:
        return this.#tableOperation();
    }
  }

  // --- what probably exists

  #existing(table) {
    if (!this.#entities.has(table)) {
      this.#entities.set(table, new Set());
    }
    return this.#entities.get(table);
  }

  #anyKey() {
    return { pk: this.#random.of(this.#keys.PartitionKey), rk: this.#random.of(this.#keys.RowKey) };
  }

  #existingKey(table) {
    const existing = [...this.#existing(table)];
    if (existing.length === 0) {
      return this.#anyKey();
    }
    const [pk, rk] = JSON.parse(this.#random.of(existing));
    return { pk, rk };
  }

  #note(table, { op, pk, rk }) {
    const key = JSON.stringify([pk, rk]);
    op === "delete" ? this.#existing(table).delete(key) : this.#existing(table).add(key);
  }

  // --- single operations

  #condition() {
    const condition = this.#random.weighted(CONDITIONS);
    return condition === "malformed" ? this.#random.of(MALFORMED_ETAGS) : condition;
  }

  #writeOf(op, key, ifMatch, options) {
    return {
      op,
      ...key,
      ...(op === "delete" ? {} : { properties: anyProperties(this.#random, options) }),
      ...(CONDITIONAL.includes(op) ? { ifMatch } : {}),
    };
  }

  #write(table) {
    const op = this.#random.weighted(WRITES);
    const key =
      CONDITIONAL.includes(op) && this.#random.chance(80)
        ? this.#existingKey(table)
        : this.#anyKey();
    const ifMatch = this.#condition();
    if (!CONDITIONAL.includes(op) || ["*", "current"].includes(ifMatch)) {
      this.#note(table, { op, ...key });
    }
    const { op: _, ...rest } = this.#writeOf(op, key, ifMatch);
    return { op, table, ...rest };
  }

  #badKey(tooLong) {
    const bad = this.#random.of(tooLong ? TOO_LONG_KEYS : FORBIDDEN_KEYS);
    const key = this.#anyKey();
    return this.#random.chance(50) ? { ...key, pk: bad } : { ...key, rk: bad };
  }

  #spoil(properties) {
    const add = (name, type, value) => addProperty(properties, name, type, value);
    const random = this.#random;
    switch (
      random.weighted({
        string: 4,
        binary: 3,
        name: 3,
        nameLength: 1,
        count: 0.5,
        form: 6,
        time: 2,
        size: 0.5,
      })
    ) {
      case "string":
        return add("s", "String", random.of(["x", "é"]).repeat(32769));
      case "binary":
        return add("x", "Binary", `${"A".repeat(4 * 21845)}AAA=`); // 65,537 bytes
      case "name":
        return add(random.of(["a-b", "1a", "a b", "a.b"]), "Int32", 1);
      case "nameLength":
        return add("N".repeat(256), "Int32", 1);
      case "count":
        for (let n = 0; n < 253; n++) add(`n${n}`, "Int32", n);
        return undefined;
      case "form":
        return add(...random.of(MALFORMED_VALUES));
      case "time":
        return add("t", "DateTime", "1600-12-31T23:59:59.9999999Z");
      default:
        for (let n = 0; n < 17; n++) add(`s${n}x`, "String", "x".repeat(32768));
        return undefined;
    }
  }

  #faultyWrite(table) {
    const op = this.#random.weighted(WRITES);
    const fault = this.#random.weighted({ key: 4, keyLength: 2, property: 5 });
    const key = fault === "property" ? this.#anyKey() : this.#badKey(fault === "keyLength");
    const operation = { op, table, ...this.#writeOf(op, key, "*", { largePercent: 0 }), table };
    if (fault === "property" && op !== "delete") {
      this.#spoil(operation.properties);
    }
    return operation;
  }

  #select() {
    return this.#random.chance(30)
      ? { select: this.#random.some(SELECTABLE, this.#random.between(1, 4)) }
      : {};
  }

  #get(table) {
    const key = this.#random.chance(75)
      ? this.#existingKey(table)
      : this.#random.chance(90)
        ? this.#anyKey()
        : this.#badKey(false);
    return { op: "get", table, ...key, ...this.#select() };
  }

  #query(table) {
    const operation = { op: "query", table };
    if (this.#random.chance(5)) {
      return { ...operation, filter: this.#random.of(REFUSED_FILTERS)[0] };
    }
    if (this.#random.chance(85)) {
      const { filter, sent } = anyFilter(this.#random, this.#keys);
      Object.assign(operation, { filter }, sent === filter ? {} : { sent });
    }
    Object.assign(operation, this.#select());
    if (this.#random.chance(25)) {
      operation.top = this.#random.of([1, 2, 3, 5, 10, 100]);
    }
    return operation;
  }

  // --- entity group transactions

  #validParts(table, count) {
    const pk = this.#random.of(this.#keys.PartitionKey);
    const parts = this.#random.some(this.#keys.RowKey, count).map((rk) => {
      const exists = this.#existing(table).has(JSON.stringify([pk, rk]));
      const op = exists
        ? this.#random.of(["upsertReplace", "upsertMerge", "replace", "merge", "delete"])
        : this.#random.of(["insert", "insert", "upsertReplace", "upsertMerge"]);
      return this.#writeOf(op, { pk, rk }, this.#random.of(["*", "current"]), {
        largePercent: 0,
        most: 4,
      });
    });
    while (parts.length < count) {
      parts.push(
        this.#writeOf("upsertMerge", { pk, rk: `more${parts.length}` }, "", {
          largePercent: 0,
          most: 2,
        }),
      );
    }
    return parts;
  }

  #goodBatch(table) {
    const count = this.#random.chance(2) ? 100 : this.#random.between(1, 8);
    const operations = this.#validParts(table, count);
    if (count < 100) {
      operations.forEach((part) => this.#note(table, part));
      return { op: "batch", table, operations };
    }
    return { op: "batch", table: "Second", operations };
  }

  #keyWhere(parts, exists, table) {
    const { pk } = parts[0];
    const used = parts.map(({ rk }) => rk);
    const rks = this.#keys.RowKey.filter(
      (rk) => !used.includes(rk) && this.#existing(table).has(JSON.stringify([pk, rk])) === exists,
    );
    return { pk, rk: rks.length > 0 ? this.#random.of(rks) : "more0" };
  }

  #faultyPart(fault, parts, table) {
    const plain = { largePercent: 0, most: 2 };
    const missing = () => this.#keyWhere(parts, false, table);
    const existing = () => this.#keyWhere(parts, true, table);
    const update = () => this.#random.of(["replace", "merge"]);
    switch (fault) {
      case "insertExisting":
        return this.#writeOf("insert", existing(), "", plain);
      case "updateMissing":
        return this.#writeOf(update(), missing(), this.#random.of(["*", "current"]), plain);
      case "deleteMissing":
        return this.#writeOf("delete", missing(), "*");
      case "stale":
        return this.#writeOf(this.#random.of([update(), "delete"]), existing(), "stale", plain);
      case "malformed":
        return this.#writeOf(update(), existing(), this.#random.of(MALFORMED_ETAGS), plain);
      case "twice":
        return this.#writeOf("upsertMerge", { pk: parts[0].pk, rk: parts[0].rk }, "", plain);
      case "partition":
        return this.#writeOf("upsertMerge", { pk: "other", rk: "x" }, "", plain);
      case "key":
        return this.#writeOf(
          "upsertMerge",
          { pk: parts[0].pk, rk: this.#random.of(FORBIDDEN_KEYS) },
          "",
          plain,
        );
      case "keyLength":
        return this.#writeOf(
          "upsertMerge",
          { pk: parts[0].pk, rk: this.#random.of(TOO_LONG_KEYS) },
          "",
          plain,
        );
      default: {
        const part = this.#writeOf("upsertMerge", missing(), "", plain);
        this.#spoil(part.properties);
        return part;
      }
    }
  }

  #faultyBatch(table) {
    const fault = this.#random.weighted(BATCH_FAULTS);
    switch (fault) {
      case "tooMany":
        return { op: "batch", table, operations: this.#upserts(101, {}) };
      case "tooLarge":
        return { op: "batch", table, operations: this.#upserts(70, { s: LONGEST, s2: LONGEST }) };
      case "table":
        return {
          op: "batch",
          table: "Never",
          operations: this.#validParts("Never", this.#random.between(1, 4)),
        };
      default: {
        const operations = this.#validParts(table, this.#random.between(1, 7));
        const place = this.#random.between(1, operations.length);
        operations.splice(place, 0, this.#faultyPart(fault, operations, table));
        return { op: "batch", table, operations };
      }
    }
  }

  #upserts(count, properties) {
    const pk = this.#random.of(this.#keys.PartitionKey);
    return Array.from({ length: count }, (_, n) => ({
      op: "upsertMerge",
      pk,
      rk: `many${n}`,
      properties,
    }));
  }

  // --- tables

  #createTable(table) {
    this.#tables.add(table);
    return { op: "createTable", table };
  }

  #tableOperation() {
    switch (this.#random.weighted({ bad: 20, exists: 20, missing: 10, clear: 50 })) {
      case "bad":
        return { op: "createTable", table: this.#random.of(BAD_TABLE_NAMES) };
      case "exists":
        return {
          op: "createTable",
          table: this.#random.of([
            "Main",
            "main",
            "MAIN",
            ...(this.#tables.has("Second") ? ["second"] : []),
          ]),
        };
      case "missing":
        return { op: "deleteTable", table: "Never" };
      default:
        return this.#dropOrMakeSecond();
    }
  }

  #dropOrMakeSecond() {
    if (!this.#tables.delete("Second")) {
      return this.#createTable("Second");
    }
    this.#entities.delete("Second");
    return { op: "deleteTable", table: this.#random.of(["Second", "SECOND"]) };
  }
}

const [seed, count, size] = process.argv.slice(2);
for (const operation of new Generator(Number(seed), size === "small").operations(Number(count))) {
  process.stdout.write(`${toLine(operation)}\n`);
}
