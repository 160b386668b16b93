// The viewer's own reader on a trace: node read_perfetto.mjs VIEWER TRACE QUERY...
//
// VIEWER is a folder of https://ui.perfetto.dev: `engine_bundle.js` runs `trace_processor.wasm` there, which imports a file and answers queries in SQL
// (https://perfetto.dev/docs/analysis/sql-tables). Prints a JSON line for each query: its rows as objects.
//
// The bundle expects a web worker of a browser, which is made up for it here. It takes and sends protobuf messages `TraceProcessorRpc`
// (protos/perfetto/trace_processor/trace_processor.proto of Perfetto), of which this file writes and reads the few that it needs.
import { readFileSync } from 'node:fs';

const [viewer, trace, ...queries] = process.argv.slice(2);

// Bytes of a protobuf message, from the front.
class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  get rest() {
    return this.bytes.length - this.at;
  }
  varint() {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.bytes[this.at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asIntN(64, value);
    }
  }
  take(length) {
    return this.bytes.subarray(this.at, (this.at += length));
  }
}
// Values of all fields of this number: bytes, or a BigInt.
function all(bytes, wanted) {
  const found = [];
  for (const reader = new Reader(bytes); reader.rest > 0; ) {
    const key = Number(reader.varint());
    const kind = key & 7;
    if (![0, 1, 2].includes(kind)) throw new Error(`a field of wire type ${kind}`);
    const value = kind === 0 ? reader.varint() : reader.take(kind === 1 ? 8 : Number(reader.varint()));
    if (key >> 3 === wanted) found.push(value);
  }
  return found;
}
const text = (bytes) => new TextDecoder().decode(bytes);
function packed(bytes) {
  const found = [];
  for (const reader = new Reader(bytes); reader.rest > 0; ) found.push(reader.varint());
  return found;
}
const number = (value) => {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  return [...bytes, value];
};
const field = (at, value) => {
  if (typeof value === 'number') return Buffer.from([...number(at * 8), ...number(value)]);
  return Buffer.concat([Buffer.from([...number(at * 8 + 2), ...number(value.length)]), value]);
};

// The bundle within its worker; resolves to a function that sends a message and returns those that come back.
async function engine() {
  const worker = { location: { href: 'https://localhost/' } };
  class Request {
    open(method, name) {
      this.name = name;
    }
    send() {
      this.response = readFileSync(`${viewer}/${this.name}`);
    }
  }
  class Module {
    // The bundle tries a module with a memory of 64 bits alone, to see if there are any: those of 32 bits do.
    constructor(code) {
      if (code[8] === 5 && code[11] === 4) throw new Error('no memory of 64 bits');
      return new WebAssembly.Module(code);
    }
  }
  const source = readFileSync(`${viewer}/engine_bundle.js`, 'utf8');
  const { Instance, Memory, RuntimeError, Table } = WebAssembly;
  const given = {
    self: worker,
    WorkerGlobalScope: class {},
    process: undefined,
    XMLHttpRequest: Request,
    console: { ...console, log: console.error },
    WebAssembly: { Instance, Memory, Module, RuntimeError, Table },
  };
  new Function(...Object.keys(given), source)(...Object.values(given));
  const replies = [];
  const port = { postMessage: (bytes) => replies.push(bytes) };
  worker.onmessage({ data: port });
  // Promises of the bundle come first.
  await new Promise(setImmediate);
  let sequence = 0;
  return (method, ...given) => {
    const message = Buffer.concat([field(1, sequence++), field(2, method), ...given]);
    port.onmessage({ data: Uint8Array.from(field(1, message)) });
    // Replies are a stream, whatever the pieces in which they come.
    return all(Buffer.concat(replies.splice(0)), 1);
  };
}

const APPEND = 1;
const FINALIZE = 2;
const QUERY = 3;
const failed = (message) => {
  process.stderr.write(`${message}\n`);
  process.exit(1);
};
// By itself Node.js shows the line of a mistake, and the bundle is one line.
process.on('uncaughtException', (error) => failed(error.stack));

const send = await engine();
for (const reply of send(APPEND, field(101, readFileSync(trace)))) {
  for (const result of all(reply, 201)) for (const error of all(result, 2)) failed(`not imported: ${text(error)}`);
}
send(FINALIZE);
for (const query of queries) {
  const names = [];
  const cells = [];
  for (const reply of send(QUERY, field(103, field(1, Buffer.from(query))))) {
    for (const error of all(reply, 5)) failed(text(error));
    for (const result of all(reply, 203)) {
      for (const error of all(result, 2)) failed(`${query}: ${text(error)}`);
      names.push(...all(result, 1).map(text));
      for (const batch of all(result, 3)) {
        const kinds = all(batch, 1).flatMap((bytes) => [...bytes]);
        const integers = all(batch, 2).flatMap(packed);
        const doubles = all(batch, 3).flatMap((bytes) => [...new Float64Array(Uint8Array.from(bytes).buffer)]);
        const strings = all(batch, 5).flatMap((bytes) => text(bytes).split('\0'));
        const next = { 1: () => null, 2: () => Number(integers.shift()), 3: () => doubles.shift(), 4: () => strings.shift() };
        cells.push(...kinds.map((kind) => next[kind]()));
      }
    }
  }
  const rows = [];
  while (cells.length) rows.push(Object.fromEntries(names.map((name) => [name, cells.shift()])));
  console.log(JSON.stringify(rows));
}
process.exit(0);
