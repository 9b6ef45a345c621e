// Plays scripts against servers with a TypeScript client: `driver.mjs client` (2.x, both eras) or `driver.mjs sdk` (1.x).
// Scripts and results are those of driver.py, one a line.

import { existsSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline';

// Of the script that is being played.
let script, questions, progress, answers;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** What a person of this kind makes of the question. */
function answered(kind, message) {
  const code = /^code: (\S{4})$/m.exec(message);
  const content = { decision: kind === 'session' ? 'session' : kind === 'deny' ? 'deny' : 'once' };
  if (code) content.confirm = kind === 'wrong_code' ? '????' : code[1];
  if (kind === 'decline' || kind === 'cancel') return { action: kind };
  return { action: 'accept', content: kind === 'bare_accept' ? {} : content };
}

async function onQuestion(request) {
  questions.push(request.params);
  const kind = answers.shift() ?? 'decline';
  if (kind === 'slow') await pause(script.slow_s * 1000);
  return answered(kind, request.params.message);
}

/** The way to the server that the script names. */
function open(Stdio, Http, Sse) {
  if (script.transport === 'http') return new Http(new URL(script.url));
  if (script.transport === 'sse') return new Sse(new URL(script.url));
  return new Stdio({ command: script.command, args: script.args, env: script.env, stderr: 'inherit' });
}

async function connect(kind) {
  const capabilities = script.answers ? { elicitation: { form: {} } } : {};
  const name = { name: 'toolgate-tests', version: '1' };
  if (kind === 'client') {
    const { Client, StreamableHTTPClientTransport, SSEClientTransport } = await import('@modelcontextprotocol/client');
    const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
    const transport = open(StdioClientTransport, StreamableHTTPClientTransport, SSEClientTransport);
    const mode = script.mode.startsWith('20') ? { pin: script.mode } : script.mode;
    const client = new Client(name, { capabilities, versionNegotiation: { mode } });
    if (script.answers) client.setRequestHandler('elicitation/create', onQuestion);
    await client.connect(transport);
    const call = (params, options) => client.callTool(params, options);
    return { client, call, protocol: () => client.getNegotiatedProtocolVersion?.() };
  }
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const { SSEClientTransport } = await import('@modelcontextprotocol/sdk/client/sse.js');
  const { ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js');
  const client = new Client(name, { capabilities });
  if (script.answers) client.setRequestHandler(ElicitRequestSchema, onQuestion);
  const transport = open(StdioClientTransport, StreamableHTTPClientTransport, SSEClientTransport);
  let protocol;
  const inform = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => inform?.((protocol = version)) ?? (protocol = version);
  await client.connect(transport);
  return { client, call: (params, options) => client.callTool(params, undefined, options), protocol: () => protocol };
}

/** Takes a running call back once it has left its first sign. */
async function cancelled(call, step) {
  const abort = new AbortController();
  let outcome;
  const ended = call({ name: step.name, arguments: step.arguments }, { signal: abort.signal }).then(
    (ok) => (outcome = { ok }),
    (fault) => (outcome = { fault }),
  );
  const started = Date.now();
  while (!(existsSync(step.cancel_when) && statSync(step.cancel_when).size)) {
    if (outcome?.ok) return outcome;
    if (outcome?.fault) throw outcome.fault;
    if (Date.now() - started > 20_000) return { raised: 'the call left no sign within 20 s' };
    await pause(20);
  }
  abort.abort('taken back');
  await Promise.race([ended, pause(10_000)]);
  return { cancelled: outcome !== undefined && outcome.fault !== undefined };
}

/** Waits until a file has not grown for a second; false when it still grows after ten. */
async function quiet(file) {
  const started = Date.now();
  let size = -1;
  let since = started;
  while (Date.now() - started < 10_000) {
    const now = statSync(file).size;
    if (now !== size) [size, since] = [now, Date.now()];
    else if (Date.now() - since > 1000) return true;
    await pause(50);
  }
  return false;
}

async function play({ client, call }, step) {
  const onprogress = (note) => progress.push([note.progress, note.total ?? null, note.message ?? null]);
  const options = step.progress ? { onprogress } : {};
  switch (step.op) {
    case 'list_tools':
      return { ok: await client.listTools() };
    case 'list_prompts':
      // Past the client's own check of what the server declared: the server's answer is what is tested.
      return { ok: await client.request({ method: 'prompts/list', params: {} }, ...lax) };
    case 'list_resources':
      return { ok: await client.listResources() };
    case 'read_resource':
      return { ok: await client.readResource({ uri: step.uri }) };
    case 'quiet':
      return { ok: await quiet(step.file) };
    case 'call':
      if (step.cancel_when) return cancelled(call, step);
      return { ok: await call({ name: step.name, arguments: step.arguments }, options) };
    default:
      throw new Error(step.op);
  }
}

const kind = process.argv[2];
const lax = kind === 'sdk' ? [(await import('@modelcontextprotocol/sdk/types.js')).ListPromptsResultSchema] : [];

async function run() {
  const connection = await connect(kind);
  const steps = [];
  try {
    for (const step of script.steps) steps.push(await outcome(connection, step));
    return { protocol: connection.protocol(), server: connection.client.getServerVersion(), questions, progress, steps };
  } finally {
    await connection.client.close();
  }
}

async function outcome(connection, step) {
  try {
    return await play(connection, step);
  } catch (fault) {
    // An unknown method is a 404 with the error in its body (2026-07-28); this client gives the body as a text.
    const body = /Error POSTing to endpoint: (\{.*\})$/.exec(fault?.message ?? '');
    if (body) fault = JSON.parse(body[1]).error;
    return typeof fault?.code === 'number' ? { error: { code: fault.code, message: fault.message } } : { raised: String(fault) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  script = JSON.parse(line);
  [questions, progress, answers] = [[], [], [...(script.answers ?? [])]];
  const result = await run().catch((fault) => ({ fault: fault?.stack ?? String(fault) }));
  process.stdout.write(JSON.stringify(result) + '\n');
}
