// Events whose lists are as long as their shapes allow, and that cost the fold, the planner or the digests most.
import {
  BODY_BYTES_MAX,
  BODY_VALUES_MAX,
  CALLS_PER_BATCH_MAX,
  EVENTS_PER_COMMIT_MAX,
  GRANTS_MAX,
  TOOLS_MAX,
} from '../../../schemas/limits.ts';
import type { ToolSpec } from '../../../schemas/tool-spec.ts';
import { CONSENT_PRESETS } from '../../../src/toolsets/consent-presets.ts';
import { tool } from '../tools.ts';
import { packageOf } from '../engine/world.ts';
import {
  type HostileCase,
  type HostileRequest,
  type Target,
  eventsOf,
  get,
  observed,
  post,
  submitOf,
  upTo,
} from './request.ts';

const BYTES = BODY_BYTES_MAX - 2_000;
const MOST = { bytes: BYTES, marks: BODY_VALUES_MAX - 100 };
const ZERO = `sha256:${'0'.repeat(64)}`;

const many = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, at) => make(at));

const longId = (index: number, chars = 128): string => `${'i'.repeat(chars - 6)}${String(index).padStart(6, '0')}`;

const toEvent = (name: string, event: (target: Target) => object): HostileCase => ({
  name: `event: ${name}`,
  requests: async (target) => [submitOf(await target.generating(), event(target))],
});

const ofCalls = (name: string, tools: readonly ToolSpec[], call: (index: number) => object): HostileCase => ({
  name: `calls: ${name}`,
  requests: async ({ generating }) => [
    submitOf(await generating(tools), observed(upTo(CALLS_PER_BATCH_MAX, MOST, call))),
  ],
});

const claiming = (form: 'path' | 'patch' | 'text', access: 'read' | 'write', name = 't'): ToolSpec =>
  tool(name, { parallelism_hint: { parallel_safe: true, claims: [{ space: 'fs', argument: 'x', form, access }] } });

const call = (index: number, rest: object = {}): object => ({
  call_id: `c${index}`,
  tool_name: 't',
  arguments: {},
  ...rest,
});
const callOn = (index: number, x: string, tool_name = 't'): object => call(index, { tool_name, arguments: { x } });

const FREE = tool('t', { parallelism_hint: { parallel_safe: true } });
const READS = claiming('path', 'read', 'r');

const patchOf = (files: number, at: number): string =>
  many(files, (index) => `*** Update File: d${at}/f${index}`).join('\n');

const callCases: readonly HostileCase[] = [
  ofCalls('as many as fit', [FREE], (at) => call(at)),
  ofCalls('with ids of 128 characters', [FREE], (at) => ({ ...call(at), call_id: longId(at) })),
  ofCalls('that all wait for the one before', [tool('t')], (at) => call(at)),
  ofCalls('that write one file', [claiming('path', 'write')], (at) => callOn(at, 'a')),
  ofCalls('that write deep paths', [claiming('path', 'write')], (at) => callOn(at, `${'a/'.repeat(400)}${at}`)),
  ofCalls('that write folders of one another', [claiming('path', 'write')], (at) =>
    callOn(at, 'a/'.repeat(at % 200) + 'a'),
  ),
  ofCalls('that read many files and write their folder', [claiming('path', 'write'), READS], (at) =>
    callOn(at, at % 40 === 39 ? 'a' : `a/${at}`, at % 40 === 39 ? 't' : 'r'),
  ),
  ofCalls('whose waits are most', [claiming('path', 'write'), READS], (at) =>
    callOn(at, at < 320 || at % 2 === 0 ? `a/${at}` : 'a', at < 320 ? 'r' : 't'),
  ),
  ofCalls('with waits for long ids', [claiming('path', 'write'), READS], (at) => ({
    ...callOn(at, at % 300 === 299 ? 'a' : `a/${at}`, at % 300 === 299 ? 't' : 'r'),
    call_id: longId(at),
  })),
  ofCalls('with patches of 256 files', [claiming('patch', 'write')], (at) => callOn(at, patchOf(128, at))),
  ofCalls('with patches of one file named again', [claiming('patch', 'write')], (at) =>
    callOn(at, patchOf(1, 0).repeat(2)),
  ),
  ofCalls('with text claims', [claiming('text', 'write')], (at) => callOn(at, '%/'.repeat(120) + String(at))),
  ofCalls('of unknown tools', [FREE], (at) => call(at, { tool_name: `u${at}${'x'.repeat(64)}` })),
  ofCalls('of tools with names of 256 characters', [FREE], (at) => call(at, { tool_name: longId(at, 256) })),
  ofCalls('with one id', [FREE], () => call(0)),
  ofCalls('that are all the same', [FREE], (at) => call(at)),
  ofCalls('with text for arguments', [FREE], (at) => ({
    call_id: `c${at}`,
    tool_name: 't',
    arguments_text: '{"a":[[[[1]]]]}',
  })),
  ofCalls('with arguments that are no JSON', [FREE], (at) => ({
    call_id: `c${at}`,
    tool_name: 't',
    arguments_text: '{'.repeat(200),
  })),
  ofCalls('with one large text of values', [FREE], () => ({
    call_id: 'c',
    tool_name: 't',
    arguments_text: `{"x":[${'0,'.repeat(BYTES / 2 - 2_000)}0]}`,
  })),
  ofCalls('with one large text of objects', [FREE], () => ({
    call_id: 'c',
    tool_name: 't',
    arguments_text: `{"x":[${'{},'.repeat(BYTES / 3 - 2_000)}0]}`,
  })),
  ofCalls('with arguments that become blobs', [FREE], (at) => call(at, { arguments: { x: 'y'.repeat(5_000 + at) } })),
  ofCalls('with claims of their own', [FREE], (at) =>
    call(at, { claims: many(256, (of) => ({ key: `fs/${at}/${of}`, access: 'write' })) }),
  ),
  ofCalls('of tools that a person fulfils', [tool('t', { ownership: 'custom', executor: { kind: 'custom' } })], (at) =>
    call(at),
  ),
  ofCalls('of a tool of no profile', [], (at) => call(at)),
];

const spec = (at: number, rest: Partial<ToolSpec> = {}): ToolSpec => tool(`t${at}`, rest);
const manyTools = (rest: (at: number) => Partial<ToolSpec> = () => ({})): readonly ToolSpec[] =>
  upTo(TOOLS_MAX, { bytes: BYTES - 60_000, marks: BODY_VALUES_MAX - 4_000 }, (at) => spec(at, rest(at)));

const bigSchema = (count: number): object => ({
  properties: Object.fromEntries(many(count, (at) => [`p${at}`, { type: 'string', pattern: '^a*$' }])),
});

const packages: Readonly<Record<string, () => readonly ToolSpec[]>> = {
  'of as many tools as allowed': () => manyTools(),
  'of tools with large schemas': () => manyTools(() => ({ input_schema: bigSchema(20) as never })),
  'of one tool with a schema of a whole body': () => [spec(0, { input_schema: bigSchema(9_000) as never })],
  'of tools with long descriptions': () => manyTools(() => ({ description: 'd'.repeat(1_000) })),
  'of tools with 64 effects': () => manyTools(() => ({ effects: many(64, (at) => `e${at}`) })),
  'of tools with 64 availability rules': () =>
    manyTools(() => ({ availability_rules: many(64, (at) => `capability:c${at}`) as never })),
  'of tools with deep schemas': () =>
    manyTools(() => ({ input_schema: JSON.parse(`${'{"not":'.repeat(50)}{}${'}'.repeat(50)}`) as never })),
};

const profiled = (tools: readonly ToolSpec[], profiles: number): object => ({
  registry: tools,
  profiles: many(profiles, (at) => ({ profile_id: `p${at}`, tool_ids: tools.map(({ tool_id }) => tool_id) })),
  provider_profiles: [{ provider_contains: '', profile_id: 'p0' }],
});

const packageCases: readonly HostileCase[] = [
  ...Object.entries(packages).flatMap(([name, tools]): readonly HostileCase[] => [
    {
      name: `package: a session ${name}`,
      requests: async () => [post('/v1/sessions', { tool_package: packageOf(tools()) })],
    },
    toEvent(`a registry ${name}`, () => ({ kind: 'ToolRegistrySet', registry: tools() })),
    {
      name: `package: the state of a session ${name}`,
      requests: async ({ generating }) => {
        const session = await generating(tools());
        return [get(`/v1/sessions/${session}`), get(`/v1/sessions/${session}/records`), post('/v1/leases', LEASE)];
      },
    },
    {
      name: `package: many small events in a session ${name}`,
      requests: async ({ generating }) => {
        const session = await generating(tools());
        const all = tools().map(({ tool_id }) => tool_id);
        return [submitOf(session, ...many(64, (at) => overridesOf(all.slice(at % 7), all.slice(at % 5))))];
      },
    },
    {
      name: `package: calls of every tool of a session ${name}`,
      requests: async ({ generating }) => {
        const all = tools();
        const session = await generating(all);
        return [
          submitOf(
            session,
            observed(upTo(CALLS_PER_BATCH_MAX, MOST, (at) => call(at, { tool_name: all[at % all.length]?.tool_name }))),
          ),
        ];
      },
    },
  ]),
  {
    name: 'package: 64 profiles of many tools',
    requests: async () => [post('/v1/sessions', { tool_package: profiled(manyTools().slice(0, 500), 64) })],
  },
  {
    name: 'package: 64 packages at once',
    requests: async () =>
      many(64, (at) => post('/v1/sessions', { tool_package: packageOf([spec(at), spec(at + 100)]) })),
  },
  toEvent('a policy for 1,024 tools', () => ({
    kind: 'ConsentPolicySet',
    policy: {
      ...CONSENT_PRESETS.allow_all,
      tools: Object.fromEntries(many(TOOLS_MAX, (at) => [longId(at, 120), 'deny'])),
    },
  })),
];

const LEASE = {
  owner: 'o',
  kinds: ['llm.generate', 'tool.call', 'tool.cancel', 'batch.settle', 'host_session.open', 'call.undo', 'call.preview'],
  tools: many(TOOLS_MAX, (at) => `${'a'.repeat(120)}${at}*`),
  max: 256,
  wait_ms: 0,
};

const overridesOf = (enable: readonly string[], disable: readonly string[]): object => ({
  kind: 'ToolOverridesSet',
  scope: 'session',
  enable,
  disable,
});

const RESULT = {
  batch_id: 'batch-1',
  call_id: 'a',
  plan_hash: ZERO,
  attempt: 1,
  result: { success: true },
  output: { text: '' },
};

const kindCases: readonly HostileCase[] = [
  toEvent('a host with 64 capabilities', () => ({
    kind: 'HostSessionUpdated',
    host_session: { capabilities: many(64, (at) => `c${at}`) },
  })),
  toEvent('three lists of 1,024 unknown tools', () => ({
    kind: 'ToolOverridesSet',
    scope: 'run',
    enable: many(1_024, (at) => longId(at)),
    disable: many(1_024, (at) => longId(at)),
    force: many(1_024, (at) => longId(at)),
  })),
  toEvent('a settlement with large data', () => ({
    kind: 'ToolCallSettled',
    ...RESULT,
    result: { success: true, data: { x: many(30_000, () => 1) } },
  })),
  toEvent('a settlement with 1,024 changes', () => ({
    kind: 'ToolCallSettled',
    ...RESULT,
    changes: upTo(1_024, MOST, (at) => ({
      path: `${'p/'.repeat(300)}${at}`,
      before: { ref: ZERO, bytes: 1 },
      after_digest: ZERO,
    })),
  })),
  toEvent('a result with many unknown fields', () => ({
    kind: 'ToolCallSettled',
    ...RESULT,
    result: { success: true, ...Object.fromEntries(many(15_000, (at) => [`k${at}`, 1])) },
  })),
  toEvent('an input of 4,096 characters', () => ({
    kind: 'FollowUpQueued',
    follow_up: { input: { text: '\u20ac'.repeat(4_096) } },
  })),
  toEvent('an interrupt of another run', () => ({ kind: 'user.interrupt', run_id: `run-${'9'.repeat(28)}` })),
  toEvent('a time in the far future', () => ({ kind: 'TimeReached', due_at_ms: 8_640_000_000_000_000 })),
  toEvent('an approval with other large arguments', () => ({
    kind: 'user.tool_confirmation',
    batch_id: 'batch-1',
    call_id: 'a',
    arguments_digest: ZERO,
    result: 'deny',
    instead: call(1, { arguments: { x: many(15_000, () => [1]) } }),
  })),
  toEvent('an unknown kind with a long name', () => ({ kind: 'x'.repeat(1_000_000) })),
  toEvent('a config with every field at its maximum', () => ({
    kind: 'SessionConfigured',
    config: {
      provider: 'p'.repeat(64),
      model: 'm'.repeat(128),
      instructions: { text: 'i'.repeat(4_096) },
      turns_max: 100_000,
      calls_max: 10_000_000,
      tool_concurrency_max: 256,
    },
  })),
  ...['refused', 'accepted'].map((which): HostileCase => ({
    name: `events: ${EVENTS_PER_COMMIT_MAX} in one submit, ${which}`,
    requests: async ({ generating }) => {
      const last = which === 'refused' ? [{ kind: 'RunPaused', run_id: 'run-9' }] : [];
      const events = many(EVENTS_PER_COMMIT_MAX - 1, (at) => ({
        kind: 'SessionConfigured',
        config: { model: `m${at}` },
      }));
      return [submitOf(await generating(), ...events, ...last)];
    },
  })),
  {
    name: 'events: 256 submits in one request to one session',
    requests: async ({ generating }) => {
      const session_id = await generating();
      const submits = upTo(256, MOST, (at) => ({
        session_id,
        request: {
          events: [{ kind: 'SessionConfigured', config: { instructions: { text: `${at}${'i'.repeat(3_000)}` } } }],
        },
      }));
      return [post('/v1/submits', { submits })];
    },
  },
  {
    name: 'events: 256 submits in one request to as many sessions',
    requests: async ({ generating }) => {
      const sessions = await Promise.all(many(256, () => generating()));
      const submits = sessions.map((session_id) => ({
        session_id,
        request: { events: many(8, () => ({ kind: 'SessionConfigured', config: { model: 'm' } })) },
      }));
      return [post('/v1/submits', { submits })];
    },
  },
  {
    name: 'events: 256 submits of many calls in one request',
    requests: async ({ generating }) => {
      const sessions = await Promise.all(many(256, () => generating([FREE])));
      const submits = upTo(256, MOST, (at) => ({
        session_id: sessions[at],
        request: { events: [observed(many(40, (of) => call(of)))] },
      }));
      return [post('/v1/submits', { submits })];
    },
  },
  {
    name: 'events: 256 submits to no session',
    requests: async () => [
      post('/v1/submits', {
        submits: many(256, (at) => ({
          session_id: `no-${at}`,
          request: { events: [{ kind: 'RunPaused', run_id: 'run-1' }] },
        })),
      }),
    ],
  },
  {
    name: 'events: 256 submits with 256 events each',
    requests: async () => [
      post('/v1/submits', {
        submits: upTo(256, MOST, () => ({
          session_id: 's',
          request: { events: many(100, () => ({ kind: 'RunPaused', run_id: 'run-1' })) },
        })),
      }),
    ],
  },
];

const GRANTED = 'user.tool_confirmation';

/** Every pattern takes long with the value beside it, when it is matched by trying. */
const PATTERNS: Readonly<Record<string, readonly [pattern: string, value: string]>> = {
  'many stars': ['*a'.repeat(500), `${'a'.repeat(4_000)}!`],
  'many double stars': ['**a'.repeat(340), `${'a'.repeat(4_000)}!`],
  'both kinds of stars': ['*a**a'.repeat(200), `${'a'.repeat(4_000)}!`],
  'stars alone': ['*'.repeat(1_023), 'a'.repeat(4_096)],
  'double stars alone': ['** '.repeat(341), ' '.repeat(4_096)],
  'long words': [`${'a'.repeat(500)}*${'a'.repeat(500)}`, 'a'.repeat(4_000)],
};

/** A policy that asks, `grants` patterns, and as many calls that none of them matches. */
const grantCases: readonly HostileCase[] = Object.entries(PATTERNS).map(([name, [pattern, value]]) => ({
  name: `grants: ${name}`,
  requests: async ({ called, client }) => {
    const asks = tool('t', { permission_policy: 'always_ask', parallelism_hint: { parallel_safe: true } });
    const session = await called(
      [asks],
      many(GRANTS_MAX, (at) => call(at)),
    );
    const approvals = many(GRANTS_MAX - 1, (at) => ({
      kind: GRANTED,
      batch_id: 'batch-1',
      call_id: `c${at}`,
      arguments_digest: EMPTY_DIGEST,
      result: 'allow',
      grant: { argument: 'x', pattern: `${pattern.slice(0, 1_000)}${at}` },
    }));
    await client.submit(session as never, { events: approvals as never })();
    await client.submit(session as never, { events: [{ kind: 'RunCancelled', run_id: 'run-1' }] as never })();
    await client.submit(session as never, { events: [{ kind: 'RunRequested', input: { text: '' } }] as never })();
    return [
      submitOf(session, { ...observed(upTo(CALLS_PER_BATCH_MAX, MOST, (at) => callOn(at, value))), run_id: 'run-2' }),
    ];
  },
}));

/** The digest of `{}`. */
export const EMPTY_DIGEST = 'sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a';

/** A session whose stream and state are large, and requests that read it. */
const readCases: readonly HostileCase[] = ['records', 'events', 'state', 'forks', 'leases'].map((what) => ({
  name: `reads: ${what} of a large session`,
  requests: async ({ client, generating }): Promise<readonly HostileRequest[]> => {
    const session = await generating([FREE]);
    for (let at = 0; at < 16; at += 1) {
      const events = many(64, (of) => ({
        kind: 'SessionConfigured',
        config: { instructions: { text: `${at}-${of}${'i'.repeat(4_000)}` } },
      }));
      await client.submit(session as never, { events: events as never })();
    }
    await client.submit(session as never, {
      events: [observed(upTo(CALLS_PER_BATCH_MAX, MOST, (at) => callOn(at, 'y'.repeat(500))))] as never,
    })();
    if (what === 'records') return [get(`/v1/sessions/${session}/records?limit=1000`)];
    if (what === 'events') return many(8, (at) => ({ ...get(`${eventsOf(session)}?from=${at * 10}`), follows: true }));
    if (what === 'forks') return [post(`/v1/sessions/${session}/forks`, {})];
    if (what === 'leases') return [post('/v1/leases', { ...LEASE, tools: ['*'] })];
    return [get(`/v1/sessions/${session}`)];
  },
}));

/** Requests for leases whose patterns match nothing, while several sessions owe as many calls as a batch has. */
const leaseCases: readonly HostileCase[] = ['as a request', 'with a submit', 'waiting'].map((how) => ({
  name: `leases: ${TOOLS_MAX} patterns over many calls, ${how}`,
  requests: async ({ called }): Promise<readonly HostileRequest[]> => {
    const calls = upTo(CALLS_PER_BATCH_MAX, MOST, (at) => callOn(at, 'y'));
    const sessions: string[] = [];
    for (let at = 0; at < 4; at += 1) sessions.push(await called([FREE], calls));
    const { owner, wait_ms: _none, ...lease } = LEASE;
    const change = { kind: 'SessionConfigured', config: {} };
    const touch = many(4, (at) => post(eventsOf(sessions[at] as string), { events: [change], owner, lease }));
    if (how === 'with a submit') return touch;
    if (how === 'as a request') return many(4, (at) => post('/v1/leases', { ...LEASE, max: 256 - at }));
    return [...many(20, () => post('/v1/leases', { ...LEASE, wait_ms: 500 })), ...touch];
  },
}));

export const eventCases: readonly HostileCase[] = [
  ...callCases,
  ...packageCases,
  ...kindCases,
  ...grantCases,
  ...readCases,
  ...leaseCases,
];
