// Performs operations on the emulator's table service and tells their outcomes: through
// @azure/data-tables, and with requests of its own what that cannot express: nulls, conditional
// deletes in batches, every page of a query.
import "./webcrypto.mjs";
import {
  createDefaultHttpClient,
  createHttpHeaders,
  createPipelineRequest,
} from "@azure/core-rest-pipeline";
import { AzureNamedKeyCredential, TableClient, TableServiceClient } from "@azure/data-tables";
import { annotation } from "./values.mjs";
import { canonicalEntity, parseExact } from "./wire.mjs";

const ACCOUNT = "devstoreaccount1";
const KEY =
  "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const OTHER_ETAG = "W/\"datetime'2001-01-01T00%3A00%3A00.0000000Z'\"";
const PAGE_HEADERS = ["PartitionKey", "RowKey"];

const quoted = (key) => encodeURIComponent(key.replaceAll("'", "''")).replaceAll("'", "%27");
const keyPath = ({ table, pk, rk }) =>
  `${table}(PartitionKey='${quoted(pk)}',RowKey='${quoted(rk)}')`;

const METHODS = {
  insert: "POST",
  upsertReplace: "PUT",
  replace: "PUT",
  upsertMerge: "PATCH",
  merge: "PATCH",
  delete: "DELETE",
};

const UPDATES = {
  replace: ["update", "Replace"],
  merge: ["update", "Merge"],
  upsertReplace: ["upsert", "Replace"],
  upsertMerge: ["upsert", "Merge"],
};

const hasNull = ({ properties }) => Object.values(properties ?? {}).includes(null);

// The entity as the SDK takes it.
function sdkEntity({ pk, rk, properties }) {
  const entity = { partitionKey: pk, rowKey: rk };
  for (const [name, value] of Object.entries(properties)) {
    const type = properties[annotation(name)];
    if (!name.includes("@odata.type")) {
      entity[name] = type === undefined ? value : { value, type: type.replace("Edm.", "") };
    }
  }
  return entity;
}

function errorOf(body) {
  try {
    const error = JSON.parse(body)["odata.error"];
    const index = /^(\d+):/.exec(error.message.value);
    return { code: error.code, index: index ? Number(index[1]) : 0 };
  } catch {
    return { code: "", index: 0 };
  }
}

function failure({ status, bodyAsText }) {
  return { status, code: errorOf(bodyAsText ?? "").code };
}

export class Client {
  #endpoint;
  #options;
  #credential = new AzureNamedKeyCredential(ACCOUNT, KEY);
  #http = createDefaultHttpClient();
  #service;
  #clients = new Map();
  #response; // the last one
  #etags = new Map(); // of each key, those it has had, the last one last

  constructor(endpoint) {
    this.#endpoint = `${endpoint}/${ACCOUNT}`;
    this.#options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
    this.#service = this.#watched(
      new TableServiceClient(this.#endpoint, this.#credential, this.#options),
    );
  }

  #watched(client) {
    client.pipeline.addPolicy(
      {
        name: "watch",
        sendRequest: async (request, next) => (this.#response = await next(request)),
      },
      { phase: "Sign" },
    ); // beyond what turns answers into errors
    return client;
  }

  #tableClient(table) {
    if (!this.#clients.has(table)) {
      const client = new TableClient(this.#endpoint, table, this.#credential, this.#options);
      this.#clients.set(table, this.#watched(client));
    }
    return this.#clients.get(table);
  }

  // The response to a call of the SDK, whatever it makes of it.
  async #answer(call) {
    this.#response = undefined;
    try {
      await call();
    } catch (error) {
      if (this.#response === undefined) {
        throw error;
      }
    }
    return this.#response;
  }

  async #send(method, path, headers = {}, body = undefined) {
    const request = createPipelineRequest({
      method,
      body,
      allowInsecureConnection: true,
      url: `${this.#endpoint}/${path}`,
      headers: createHttpHeaders({
        "x-ms-version": "2019-02-02",
        DataServiceVersion: "3.0",
        Accept: "application/json;odata=minimalmetadata",
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      }),
    });
    return this.#service.pipeline.sendRequest(this.#http, request);
  }

  async perform(operation) {
    switch (operation.op) {
      case "createTable":
        return this.#tableOutcome(
          await this.#answer(() => this.#service.createTable(operation.table)),
        );
      case "deleteTable":
        return this.#tableOutcome(
          await this.#answer(() => this.#service.deleteTable(operation.table)),
        );
      case "get":
        return this.#get(operation);
      case "query":
        return operation.top === undefined ? this.#query(operation) : this.#pages(operation);
      case "batch":
        return this.#batch(operation);
      default:
        return this.#write(operation);
    }
  }

  #tableOutcome(response) {
    return response.status < 300 ? { status: 204 } : failure(response);
  }

  // --- entities

  async #write(operation) {
    const etag = this.#condition(operation);
    const response = hasNull(operation)
      ? await this.#send(...this.#rawWrite(operation, etag))
      : await this.#answer(() => this.#sdkWrite(operation, etag));
    if (response.status >= 300) {
      return failure(response);
    }
    this.#remember(operation, response.headers.get("etag"));
    return { status: 204 };
  }

  #sdkWrite(operation, etag) {
    const client = this.#tableClient(operation.table);
    switch (operation.op) {
      case "insert":
        return client.createEntity(sdkEntity(operation));
      case "delete":
        return client.deleteEntity(operation.pk, operation.rk, { etag });
      default: {
        const [kind, mode] = UPDATES[operation.op];
        return kind === "upsert"
          ? client.upsertEntity(sdkEntity(operation), mode)
          : client.updateEntity(sdkEntity(operation), mode, { etag });
      }
    }
  }

  #rawWrite(operation, etag) {
    const path = operation.op === "insert" ? operation.table : keyPath(operation);
    const headers = {
      Prefer: "return-no-content",
      ...(etag === undefined ? {} : { "If-Match": etag }),
    };
    const body =
      operation.op === "delete"
        ? undefined
        : JSON.stringify({
            PartitionKey: operation.pk,
            RowKey: operation.rk,
            ...operation.properties,
          });
    return [METHODS[operation.op], path, headers, body];
  }

  async #get(operation) {
    const queryOptions = operation.select && {
      select: ["PartitionKey", "RowKey", ...operation.select],
    };
    const response = await this.#answer(() =>
      this.#tableClient(operation.table).getEntity(operation.pk, operation.rk, { queryOptions }),
    );
    return response.status < 300
      ? { status: 200, entities: [canonicalEntity(parseExact(response.bodyAsText))] }
      : failure(response);
  }

  // --- conditions

  #etagsOf({ table, pk, rk }) {
    const key = JSON.stringify([table.toLowerCase(), pk, rk]);
    if (!this.#etags.has(key)) {
      this.#etags.set(key, []);
    }
    return this.#etags.get(key);
  }

  #remember(operation, etag) {
    if (etag) {
      this.#etagsOf(operation).push(etag);
    }
  }

  // What If-Match shall be; undefined: nothing.
  #condition(operation) {
    switch (operation.ifMatch) {
      case "current":
        return this.#etagsOf(operation).at(-1) ?? OTHER_ETAG;
      case "stale":
        return this.#etagsOf(operation).at(-2) ?? OTHER_ETAG;
      default:
        return operation.ifMatch;
    }
  }

  // --- queries

  async #query({ table, filter, select }) {
    const queryOptions = { filter, select: select && ["PartitionKey", "RowKey", ...select] };
    const response = await this.#answer(() =>
      this.#tableClient(table).listEntities({ queryOptions }).byPage().next(),
    );
    if (response.status >= 300) {
      return failure(response);
    }
    if (response.headers.get("x-ms-continuation-nextrowkey") !== undefined) {
      throw new Error("a query without top has more than one page");
    }
    return { status: 200, entities: parseExact(response.bodyAsText).value.map(canonicalEntity) };
  }

  async #pages({ table, filter, select, top }) {
    const entities = [];
    let next = "";
    do {
      const options = [`$top=${top}`];
      if (filter !== undefined) options.push(`$filter=${encodeURIComponent(filter)}`);
      if (select)
        options.push(
          `$select=${encodeURIComponent(["PartitionKey", "RowKey", ...select].join(","))}`,
        );
      const response = await this.#send("GET", `${table}()?${options.join("&")}${next}`);
      if (response.status >= 300) {
        return failure(response);
      }
      entities.push(...parseExact(response.bodyAsText).value.map(canonicalEntity));
      next = this.#nextPage(response);
    } while (next !== "");
    return { status: 200, entities };
  }

  // An empty continuation header is a token too: that of the empty key.
  #nextPage({ headers }) {
    const tokens = PAGE_HEADERS.map((name) =>
      headers.get(`x-ms-continuation-next${name.toLowerCase()}`),
    );
    return tokens.every((token) => token === undefined)
      ? ""
      : PAGE_HEADERS.map((name, n) => `&Next${name}=${encodeURIComponent(tokens[n] ?? "")}`).join(
          "",
        );
  }

  // --- entity group transactions

  async #batch(operation) {
    const parts = operation.operations.map((part) => ({ ...part, table: operation.table }));
    const etags = parts.map((part) => this.#condition(part));
    const sdkCannot = parts.some(
      (part) => hasNull(part) || (part.op === "delete" && part.ifMatch !== "*"),
    );
    const response = sdkCannot
      ? await this.#sendBatch(parts, etags)
      : await this.#answer(() => this.#submit(operation.table, parts, etags));
    return this.#batchOutcome(parts, response);
  }

  #submit(table, parts, etags) {
    const actions = parts.map((part, n) => {
      switch (part.op) {
        case "insert":
          return ["create", sdkEntity(part)];
        case "delete":
          return ["delete", { partitionKey: part.pk, rowKey: part.rk }];
        default: {
          const [kind, mode] = UPDATES[part.op];
          return kind === "upsert"
            ? [kind, sdkEntity(part), mode]
            : [kind, sdkEntity(part), mode, { etag: etags[n] }];
        }
      }
    });
    return this.#tableClient(table).submitTransaction(actions);
  }

  #sendBatch(parts, etags) {
    const body = ["--batch_1", "Content-Type: multipart/mixed; boundary=changeset_1", ""];
    parts.forEach((part, n) => {
      const [method, path, headers, content] = this.#rawWrite(part, etags[n]);
      body.push(
        "--changeset_1",
        "Content-Type: application/http",
        "Content-Transfer-Encoding: binary",
        "",
        `${method} ${this.#endpoint}/${path} HTTP/1.1`,
        "Accept: application/json;odata=minimalmetadata",
        "Content-Type: application/json",
        "DataServiceVersion: 3.0",
        ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
        "",
        content ?? "",
      );
    });
    body.push("--changeset_1--", "--batch_1--", "");
    return this.#send(
      "POST",
      "$batch",
      { "Content-Type": "multipart/mixed; boundary=batch_1" },
      body.join("\r\n"),
    );
  }

  #batchOutcome(parts, response) {
    if (response.status >= 300) {
      return failure(response);
    }
    const answers = response.bodyAsText.split("--changesetresponse_").slice(1, -1);
    const failed = answers.find((answer) => !/HTTP\/1\.1 2/.test(answer));
    if (failed !== undefined || answers.length === 0) {
      const status = Number(/HTTP\/1\.1 (\d+)/.exec(failed ?? "")?.[1] ?? 500);
      return { status, ...errorOf(/\{.*\}/s.exec(failed ?? "")?.[0]) };
    }
    answers.forEach((answer, n) =>
      this.#remember(parts[n], /^ETag: (.*?)\r?$/im.exec(answer)?.[1]),
    );
    return { status: 202 };
  }
}
