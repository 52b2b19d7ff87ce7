// record.mjs <operations >corpus: performs operations, a JSON object each line, on the emulator's
// table service, and writes them with what is to be expected of a ptable.
import { createInterface } from "node:readline";
import { Client } from "./client.mjs";
import { FILTER_MEANING, OTHER_PARTITION, PARTS, WHOLE } from "./differences.mjs";
import { withService } from "./service.mjs";
import { fromLine, toLine } from "./wire.mjs";

const READS = ["get", "query", "createTable", "deleteTable"];

const ruleOf = (part) => PARTS.find((rule) => rule.applies(part));

// What the emulator refuses, as nothing else of an operation is wrong.
const refused = ({ op, pk, rk, ...rest }) => ({
  ...rest,
  op: "insert",
  pk: pk === undefined ? pk : "",
  rk: "#",
  properties: {},
});

// Single write: what is sent, and how to read the answer.
async function write(client, operation) {
  const rule = ruleOf(operation);
  const outcome = await client.perform(rule?.standIn ? refused(operation) : operation);
  return rule !== undefined && outcome.status === 400
    ? { outcome: rule.answer(operation, outcome), difference: rule.name }
    : { outcome };
}

async function batch(client, operation) {
  const parts = operation.operations;
  const rules = parts.map((part) => (part.pk !== parts[0].pk ? OTHER_PARTITION : ruleOf(part)));
  const sent = parts.map((part, n) =>
    rules[n]?.standIn ? { ...refused(part), pk: parts[0].pk } : part,
  );
  const outcome = await client.perform({ ...operation, operations: sent });
  const rule = rules[outcome.index];
  return rule !== undefined && outcome.status === 400
    ? {
        outcome: { ...rule.answer(parts[outcome.index], outcome), index: outcome.index },
        difference: rule.name,
      }
    : { outcome };
}

async function perform(client, { sent, ...operation }) {
  if (operation.op === "batch") {
    return batch(client, operation);
  }
  if (!READS.includes(operation.op)) {
    return write(client, operation);
  }
  const outcome = await client.perform(
    sent === undefined ? operation : { ...operation, filter: sent },
  );
  return sent === undefined ? { outcome } : { outcome, difference: FILTER_MEANING.name };
}

// Keeps the set of tables, in small letters, that there are.
function noteTable(tables, { op, table }, { status }) {
  if (status === 204 && op === "createTable") {
    tables.add(table.toLowerCase());
  } else if (status === 204 && op === "deleteTable") {
    tables.delete(table.toLowerCase());
  }
}

async function record(client, tables, operation) {
  const { outcome, difference } = await perform(client, operation);
  noteTable(tables, operation, outcome);
  for (const rule of WHOLE) {
    const changed = rule.change(operation, outcome, tables);
    if (changed !== undefined) {
      return { expect: changed, difference: rule.name };
    }
  }
  return { expect: outcome, difference };
}

await withService(async (endpoint) => {
  const client = new Client(endpoint);
  const tables = new Set();
  for await (const line of createInterface({ input: process.stdin })) {
    const operation = fromLine(line);
    const result = await record(client, tables, operation);
    if (result.expect.status >= 500 && result.expect.status !== 501) {
      throw new Error(`the emulator failed, which no difference explains: ${line}`);
    }
    process.stdout.write(`${toLine({ ...operation, ...result })}\n`);
  }
});
