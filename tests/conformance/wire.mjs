// The service's JSON, read without losing what JavaScript's numbers lose, and the corpus's lines.

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const NUMBER_MARK = "\u0000number:";

// Numbers become {number: "5.0"}.
export function parseExact(text) {
  const marked = text.replace(TOKEN, (token) =>
    token[0] === '"' ? token : JSON.stringify(NUMBER_MARK + token),
  );
  return JSON.parse(marked, (_, value) =>
    typeof value === "string" && value.startsWith(NUMBER_MARK)
      ? { number: value.slice(NUMBER_MARK.length) }
      : value,
  );
}

// Time to 7 digits, as the service answers; the emulator gives back what it got.
function canonicalTime(text) {
  const [, time, digits = ""] = /^(.*?)(?:\.(\d+))?Z$/.exec(text);
  return `${time}.${digits.padEnd(7, "0")}Z`;
}

function canonicalProperty(value, type) {
  if (value.number !== undefined) {
    const isDouble = type === "Edm.Double" || /[.eE]/.test(value.number);
    return isDouble ? [Number(value.number), "Edm.Double"] : [Number(value.number), type];
  }
  switch (type) {
    case "Edm.DateTime":
      return [canonicalTime(value), type];
    case "Edm.Guid":
      return [value.toLowerCase(), type];
    default:
      return [value, type];
  }
}

// An entity as the corpus has it: keys, then properties by name, each type that is not plain from
// the JSON annotated.
export function canonicalEntity(exact) {
  const entity = { PartitionKey: exact.PartitionKey, RowKey: exact.RowKey };
  const names = Object.keys(exact).filter(
    (name) => !name.includes("odata.") && !["PartitionKey", "RowKey", "Timestamp"].includes(name),
  );
  for (const name of names.sort()) {
    const [value, type] = canonicalProperty(exact[name], exact[`${name}@odata.type`]);
    entity[name] = value;
    if (type !== undefined) {
      entity[`${name}@odata.type`] = type;
    }
  }
  return entity;
}

// One line of the corpus. A run of 32 or more of one character is written {{c*n}}.
export function toLine(object) {
  return JSON.stringify(object).replace(
    /([^\\"{}])\1{31,}/gu,
    (run, character) => `{{${character}*${run.length / character.length}}}`,
  );
}

export function fromLine(line) {
  return JSON.parse(
    line.replace(/\{\{(.)\*(\d+)\}\}/gu, (_, character, count) => character.repeat(Number(count))),
  );
}
