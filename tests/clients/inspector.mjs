// Plays scripts with the inspector's command line, one run a step; it can ask nobody. Scripts and results are those of driver.py, one a line.

import { spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const inspector = fileURLToPath(new URL('node_modules/.bin/mcp-inspector', import.meta.url));

const wanted = {
  list_tools: () => ['--method', 'tools/list', '--strict'],
  list_prompts: () => ['--method', 'prompts/list'],
  list_resources: () => ['--method', 'resources/list'],
  read_resource: (step) => ['--method', 'resources/read', '--uri', step.uri],
  call: (step) => ['--method', 'tools/call', '--tool-name', step.name, '--tool-args-json', JSON.stringify(step.arguments)],
};

function play(script, step) {
  const options = ['--cli', '--protocol-era', script.mode, ...wanted[step.op](step), '--format', 'json', '-q'];
  // The server gets what is named here and little else.
  const environment = Object.entries(script.env).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  const child = [...environment, '--', script.command, ...script.args];
  const server = script.transport === 'stdio' ? child : ['--server-url', script.url, '--transport', script.transport];
  const run = spawnSync(process.execPath, [inspector, ...options, ...server], {
    env: { ...script.env, MCP_CATALOG_PATH: `${script.env.HOME}/catalog.json` },
    encoding: 'utf8',
    timeout: 60_000,
  });
  process.stderr.write(run.stderr);
  const result = read(run.stdout).result;
  const error = read(run.stderr).error;
  if (run.status === 0 || result?.isError) return { ok: result };
  return { failed: run.status, error: { code: null, name: error?.code, message: error?.message ?? run.stderr } };
}

/** The line that is JSON, when there is one. */
function read(text) {
  for (const line of text.split('\n').filter((line) => line.startsWith('{'))) {
    try {
      return JSON.parse(line);
    } catch {
      continue;
    }
  }
  return {};
}

for await (const line of createInterface({ input: process.stdin })) {
  const script = JSON.parse(line);
  const steps = script.steps.map((step) => play(script, step));
  process.stdout.write(JSON.stringify({ protocol: null, questions: [], progress: [], steps }) + '\n');
}
