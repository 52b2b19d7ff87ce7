// bench.mjs endpoint task count: performs a task with @azure/data-tables on a Table service of this
// machine, and prints how many seconds it took. Tasks: get, insert, scan.
import "./webcrypto.mjs";
import { AzureNamedKeyCredential, TableClient } from "@azure/data-tables";

const BATCH = 100;
const PARTITION = 1000; // entities
const [endpoint, task, count] = [process.argv[2], process.argv[3], Number(process.argv[4])];
const credential = new AzureNamedKeyCredential(
  "devstoreaccount1",
  "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
);
const client = new TableClient(endpoint, "Many", credential, { allowInsecureConnection: true });

const partitionKey = (n) => `p${String(Math.floor(n / PARTITION)).padStart(3, "0")}`;
const rowKey = (n) => String(n).padStart(8, "0");
const entity = (n) => ({
  partitionKey: partitionKey(n),
  rowKey: rowKey(n),
  Name: `some text ${n}`,
  Number: n,
  Part: { value: String(n / 3), type: "Double" },
  Note: "another text",
});

const tasks = {
  async get() {
    let sum = 0;
    for (let n = 0; n < count; n++) {
      sum += (await client.getEntity(partitionKey(n), rowKey(n))).Number;
    }
    return sum;
  },
  async insert() {
    for (let n = 0; n < count; n += BATCH) {
      const actions = Array.from({ length: BATCH }, (_, i) => ["create", entity(n + i)]);
      await client.submitTransaction(actions);
    }
  },
  async scan() {
    let found = 0;
    for await (const { Number: number } of client.listEntities()) {
      found += number >= 0 ? 1 : 0;
    }
    if (found !== count) {
      throw new Error(`${found} entities instead of ${count}`);
    }
  },
};

await client.getEntity(partitionKey(0), rowKey(0));
const start = performance.now();
await tasks[task]();
console.log((performance.now() - start) / 1000);
process.exit(0);
