// The SDK's libraries expect the global `crypto`, which Node has from version 19 on. To be imported
// before them.
import { webcrypto } from "node:crypto";

globalThis.crypto ??= webcrypto;
