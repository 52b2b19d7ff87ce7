// The emulator's table service as a child process on a free port of this machine, nothing on disk.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const START_TIMEOUT_MS = 60000;
const END_TIMEOUT_MS = 1000; // from a request without a reply to the end of the emulator that caused it

// On a busy machine a client may pause so long that the emulator closes its connection just when the next
// request comes. The emulator always sets 5 seconds: 3.35 does not read its --tableKeepAliveTimeout.
const PATIENT = `
  import http from "node:http";
  const { createServer } = http;
  const patience = { get: () => 600000, set() {} };
  http.createServer = (...given) =>
    Object.defineProperty(createServer(...given), "keepAliveTimeout", patience);`;

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function program() {
  const manifest = createRequire(import.meta.url).resolve("azurite/package.json");
  return join(dirname(manifest), "dist/src/table/main.js");
}

function untilListening(child) {
  return new Promise((resolve, reject) => {
    let printed = "";
    const timer = setTimeout(
      () => reject(new Error(`the emulator does not start: ${printed}`)),
      START_TIMEOUT_MS,
    );
    const read = (data) => {
      printed += data;
      if (printed.includes("successfully started")) {
        clearTimeout(timer);
        resolve();
      }
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("exit", (code) => reject(new Error(`the emulator ended with ${code}: ${printed}`)));
  });
}

// An emulator that ends leaves requests without a reply, which do not say why.
async function explained(error, child) {
  for (let waited = 0; waited < END_TIMEOUT_MS; waited += 50) {
    if (child.exitCode !== null || child.signalCode !== null) {
      const how = child.signalCode ?? `exit code ${child.exitCode}`;
      return new Error(`the emulator has ended with ${how}`, { cause: error });
    }
    await sleep(50);
  }
  return error;
}

// Runs `work(endpoint)` with the service, which ends with it.
export async function withService(work) {
  const port = await freePort();
  const child = spawn(process.execPath, [
    "--import",
    `data:text/javascript,${encodeURIComponent(PATIENT)}`,
    program(),
    "--tableHost",
    "127.0.0.1",
    "--tablePort",
    String(port),
    "--inMemoryPersistence",
    "--silent",
    "--disableTelemetry",
    "--skipApiVersionCheck",
  ]);
  const stop = () => child.kill();
  process.on("exit", stop);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => process.exit(1));
  }
  try {
    await untilListening(child);
    child.stderr.pipe(process.stderr);
    return await work(`http://127.0.0.1:${port}`);
  } catch (error) {
    throw await explained(error, child);
  } finally {
    process.off("exit", stop);
    stop();
  }
}
