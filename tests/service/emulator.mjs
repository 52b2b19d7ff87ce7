// The emulator's table service with the interface of the server in this folder: prints its port, and
// ends when standard input is closed.
import { withService } from "./service.mjs";

await withService(async (endpoint) => {
  console.log(new URL(endpoint).port);
  for await (const _ of process.stdin) {
    // commands are for the server
  }
});
process.exit(0);
