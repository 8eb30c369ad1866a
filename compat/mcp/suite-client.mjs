// The client that the conformance suite starts: the MCP part of a bridge, with a configuration file, as a bridge process has it. It
// does what the sessions and the people of a bridge do: lists the tools, calls them, answers questions, signs in. The suite passes
// the URL of its server as the last argument, the scenario in MCP_CONFORMANCE_SCENARIO, its secrets in MCP_CONFORMANCE_CONTEXT.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../dist/bridge/index.js';
import { openKeeper } from '../../dist/bridge/host/exec/keeper.js';
import { openMcp } from '../../dist/bridge/mcp/mcp-executor.js';
import { openLogins } from '../../dist/bridge/mcp/oauth/login-store.js';
import { signIn } from '../../dist/bridge/mcp/oauth/sign-in.js';
import { parseConfig } from '../../dist/src/toolsets/mcp-config.js';

const SERVER = 'suite';
/** A person who is asked to sign in again and again gives up. */
const LOGINS_MAX = 3;
const READY_MS_MAX = 15_000;

const url = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const directory = mkdtempSync(join(tmpdir(), 'refold-mcp-client-'));
const configFile = join(directory, 'mcp.json');
const oauth = oauthOf(scenario, context);
const mcpServers = { [SERVER]: { url, trust: 'first', ...(oauth === null ? {} : { oauth }) } };
writeFileSync(configFile, JSON.stringify({ mcpServers }));
const logins = openLogins(join(directory, 'mcp-logins'));
const lines = [];
let logged = () => undefined;
let loginsLeft = LOGINS_MAX;

async function runScenario() {
  const mcp = await openMcp({
    configFile,
    owner: 'suite',
    logins,
    variables: {},
    hidden: [],
    clock: systemClock,
    random: Math.random,
    log(line) {
      process.stderr.write(`${JSON.stringify(line)}\n`);
      lines.push(line);
      logged();
    },
  });
  try {
    await ready();
    const [{ tools } = { tools: [] }] = mcp.toolsets.toolsets();
    for (const tool of tools) for (const args of argumentsFor(tool, context, tools)) await callAs(mcp, tool, args);
  } finally {
    await mcp.close();
  }
}

/** Until the server has listed its tools; a person signs in when it wants that. */
async function ready() {
  const endsAt = Date.now() + READY_MS_MAX;
  for (let read = 0; Date.now() < endsAt;) {
    const line = lines[read];
    read += line === undefined ? 0 : 1;
    if (line?.event === 'mcp_server_ready') return;
    if (line?.event === 'mcp_server_unavailable' && line.why.includes('refold mcp login')) await login();
    if (line === undefined)
      await new Promise((resolve) => {
        logged = resolve;
        setTimeout(resolve, 1_000);
      });
  }
  throw new Error('the server was never ready');
}

async function login() {
  loginsLeft -= 1;
  if (loginsLeft < 0) throw new Error('it asks for one login after the other');
  const { servers } = parseConfig(readFileSync(configFile, 'utf8')).right;
  const settings = servers[0].transport;
  const keeper = openKeeper();
  try {
    await signIn(
      { settings, login: logins.of(SERVER, settings.url), scope: null },
      {
        keeper,
        clock: systemClock,
        signal: new AbortController().signal,
        onAddress: (address) => void browse(address),
      },
    );
  } finally {
    keeper.close();
  }
}

/** A browser in which the person allows everything: it follows each redirect, at last to the page of the login. */
async function browse(address) {
  const answer = await fetch(address);
  process.stderr.write(`${new URL(address).origin}: ${answer.status} ${await answer.text()}\n`);
}

async function callAs(mcp, { spec }, args) {
  let resume;
  for (let attempt = 0; attempt < 8; attempt += 1) {
    const answer = await mcp.executor.run({ tool_id: spec.tool_id, session_id: 's', call_id: 'c' }, args, {
      signal: AbortSignal.timeout(25_000),
      timeoutMs: 25_000,
      outputBytesMax: 30_000,
      putBlob: () => Promise.resolve(`sha256:${'0'.repeat(64)}`),
      ask: (question) => Promise.resolve(accepted(question)),
      ...(resume === undefined ? {} : { resume }),
    });
    process.stderr.write(`${spec.tool_id}: ${JSON.stringify(answer).slice(0, 400)}\n`);
    if ('ask' in answer) resume = { state: answer.state, answer: accepted(answer.ask) };
    else if (answer.code === 'sign_in_required') await login();
    else return;
  }
}

/** A person accepts, and leaves what has a default as it is. */
const accepted = ({ schema }) => ({ action: 'accept', content: schema === undefined ? {} : valueFor(schema) });

/** The calls of one tool: those that the scenario names, else one with a value for each required argument. */
const argumentsFor = ({ spec, definition }, { toolCalls = [] }, tools) => {
  const { name } = JSON.parse(definition);
  // The suite looks at what became of a schema between the listing and the model.
  if (name === 'json_schema_echo') return tools.slice(0, 1).map((first) => ({ schema: first.spec.input_schema }));
  const named = toolCalls.filter((call) => call.name === name).map((call) => call.arguments ?? {});
  return named.length > 0 ? named : [valueFor(spec.input_schema)];
};

function valueFor(schema) {
  if (schema.default !== undefined) return schema.default;
  if (schema.enum !== undefined) return schema.enum[0];
  switch (schema.type) {
    case 'object': {
      const { properties = {} } = schema;
      return Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, valueFor(inner)]));
    }
    case 'number':
    case 'integer':
      return schema.minimum ?? 1;
    case 'boolean':
      return true;
    case 'array':
      return [];
    default:
      return 'text';
  }
}

/** The configuration that an operator writes for what the suite gives; null where a person signs in, or nothing is needed. */
function oauthOf(name, given) {
  const client = { client_id: given.client_id, client_secret: given.client_secret };
  switch (name) {
    case 'auth/basic-cimd':
      return { client_metadata_url: 'https://conformance-test.local/client-metadata.json' };
    case 'auth/pre-registration':
      return { ...client, redirect_port: 3_917, issuer: given.issuer };
    case 'auth/client-credentials-basic':
      return client;
    case 'auth/client-credentials-jwt':
      return { client_id: given.client_id, private_key: given.private_key_pem, algorithm: given.signing_algorithm };
    case 'auth/wif-jwt-bearer':
      return { client_id: given.client_id, assertion: given.valid_jwt };
    case 'auth/enterprise-managed-authorization': {
      const idp = { idp_token_url: given.idp_token_endpoint, idp_client_id: given.idp_client_id };
      return { ...client, ...idp, id_token: given.idp_id_token };
    }
    case 'auth/dpop':
    case 'auth/dpop-nonce':
      return { dpop: true };
    default:
      return null;
  }
}

try {
  await runScenario();
} finally {
  rmSync(directory, { recursive: true, force: true });
}
process.exit();
