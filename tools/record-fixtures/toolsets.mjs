// Sessions with tools from outside their package.
import { defineTool } from '../../dist/schemas/index.js';
import { toolsFind } from '../../dist/src/toolsets/tools-find.js';
import { Recorder, blob, call, say } from './recorder.mjs';
import { ASKS, ONCE, READ, packageOf } from './tools.mjs';

/** A tool of a toolset: `said` is what its source says of it besides its description. */
const outside = (tool_id, description, said = {}, rest = {}) => ({
  definition: say(JSON.stringify({ description, name: tool_id.split('.').at(-1), ...said })),
  spec: defineTool({
    tool_id,
    tool_name: tool_id.replaceAll('.', '__'),
    description,
    input_schema: { type: 'object' },
    executor: { kind: 'mcp', server: 'hub', tool: tool_id.split('.').at(-1) },
    mode: 'external',
    ownership: 'mcp',
    parallelism_hint: { parallel_safe: true },
    ...rest,
  }),
});

const HUB = { toolset: 'mcp.hub', owner: 'config-1' };
const ISSUES = outside('mcp.hub.create_issue', 'Opens an issue.');
const COMMENTS = outside('mcp.hub.comment', 'Writes below an issue.', { annotations: { readOnlyHint: true } });
const MERGES = outside('mcp.hub.merge', 'Merges a branch.');
const long = `Publishes a release.\n${'It has many options. '.repeat(250)}`;
const RELEASES = {
  ...outside('mcp.hub.release', long),
  definition: blob(JSON.stringify({ description: long, name: 'release', notes: 'x'.repeat(5_000) })),
};
const NOTES = outside('skill.notes', 'Keeps notes.', { files: 2 });

export function toolsetReplaced() {
  const session = new Recorder('toolset-replaced', {
    tool_package: packageOf([READ, ASKS, toolsFind()], [ONCE]),
    config: { offer_max: 4 },
  });
  const hub = (tools, rest = {}) => session.takes('ToolsetSet', { ...HUB, tools, ...rest });
  // Trusted first: approved at once. The tool that finds others comes with the first tool that is not offered.
  hub([ISSUES, COMMENTS], { trust: 'first' }).offers('read', 'asks', 'mcp__hub__comment', 'mcp__hub__create_issue');
  session.takes('ToolsetSet', { toolset: 'skill', owner: 'engine', tools: [NOTES], trust: 'first' });
  session
    .offers('read', 'asks', 'tools_find', 'mcp__hub__comment', 'mcp__hub__create_issue', 'skill__notes')
    .runs('open an issue');
  const offered = () => session.state.run.offer.ordered_tools.map(({ tool_name }) => tool_name).join(' ');
  session.shows('the offer is cut', () => offered() === 'read asks tools_find mcp__hub__comment');
  session
    .observes([
      call('early', 'mcp__hub__create_issue', { title: 'x' }),
      call('find', 'tools_find', { query: 'keep notes' }),
      call('nothing', 'tools_find', { query: 'weather' }),
      ...Array.from({ length: 15 }, (_, at) => call(`again-${at}`, 'tools_find', { query: 'issue', limit: at + 1 })),
    ])
    .refused('tool_not_offered')
    .settlesBatch();
  session.shows('what was found is offered', () => offered() === 'read asks tools_find mcp__hub__create_issue');
  // A tool goes while a call of it waits, another one comes back as it was; neither touches the other toolset.
  session.observes([call('made', 'mcp__hub__create_issue', { title: 'x' }), call('gone', 'read', { path: 'a' })]);
  hub([COMMENTS]).calls({ made: 'rejected', gone: 'queued' }).finishesBatch();
  hub([COMMENTS, ISSUES]).shows('it is still approved', ({ toolsets, effective_tools }) =>
    ['mcp.hub.create_issue', 'skill.notes'].every(
      (id) =>
        toolsets['mcp.hub'].tools[id] === toolsets['mcp.hub'].pins[id] &&
        effective_tools.ordered_tools.some(({ tool_id }) => tool_id === id),
    ),
  );
  session
    .observes([call('made', 'mcp__hub__create_issue', { title: 'y' })])
    .finishesBatch()
    .answers('done');
  // The registry of the package is replaced beside the toolsets; a new definition is in a blob.
  session.takes('ToolRegistrySet', { registry: [READ, ASKS, ONCE, toolsFind()] });
  session.takes('ToolRegistrySet', { registry: [READ, ASKS, toolsFind()] });
  hub([COMMENTS, ISSUES, RELEASES]).takes('ToolsetApproved', {
    toolset: 'mcp.hub',
    tools: { 'mcp.hub.release': RELEASES.definition.ref },
    by: 'ann',
  });
  session.runs('release it').observes([call('find', 'tools_find', { query: 'Publishes', limit: 2 })]);
  session
    .settlesBatch()
    .observes([call('out', 'mcp__hub__release')])
    .finishesBatch()
    .answers('done');
  return session
    .takes('ToolsetRemoved', { toolset: 'mcp.hub', by: 'ann' })
    .offers('read', 'asks', 'skill__notes')
    .takes('ToolsetRemoved', { toolset: 'skill' })
    .shows('nothing is left', (state) => !('toolsets' in state));
}

export function toolsetQuarantined() {
  const session = new Recorder('toolset-quarantined', { tool_package: packageOf([READ, ASKS]) });
  const hub = (tools, rest = {}) => session.takes('ToolsetSet', { ...HUB, tools, ...rest });
  const approves = (...ids) => {
    const { tools } = session.state.toolsets['mcp.hub'];
    const approved = Object.fromEntries(ids.map((id) => [id, tools[id]]));
    return session.takes('ToolsetApproved', { toolset: 'mcp.hub', tools: approved, by: 'ann' });
  };
  const reasons = (id) =>
    session.state.effective_tools.verdicts.find(({ tool_id }) => tool_id === id).reasons.join(' ');
  // Nothing is approved: neither enable nor force brings it in.
  hub([ISSUES, COMMENTS]).offers('read', 'asks');
  session.takes('ToolOverridesSet', { scope: 'session', enable: ['mcp.hub.comment'], force: ['mcp.hub.create_issue'] });
  session.offers('read', 'asks').runs('open an issue');
  session
    .observes([call('early', 'mcp__hub__create_issue')])
    .refused('tool_unavailable')
    .settlesBatch();
  // Some of it is, and what is added later is not.
  approves('mcp.hub.create_issue').offers('read', 'asks', 'mcp__hub__create_issue');
  hub([ISSUES, COMMENTS, MERGES], { trust: 'first' }).offers('read', 'asks', 'mcp__hub__create_issue');
  session.shows('what came later waits', () => reasons('mcp.hub.merge') === 'definition_changed');
  approves('mcp.hub.comment', 'mcp.hub.merge');
  const all = ['read', 'asks', 'mcp__hub__comment', 'mcp__hub__create_issue', 'mcp__hub__merge'];
  session
    .offers(...all)
    .observes([])
    .isNow('idle')
    .runs('merge');
  // A definition changes in a word that no spec shows, while one call of it waits for a person, one is allowed, one runs.
  session.takes('ConsentPolicySet', {
    policy: {
      ...session.state.consent.policy,
      tools: { 'mcp.hub.comment': 'always_ask', 'mcp.hub.create_issue': 'always_ask' },
    },
  });
  session
    .observes([
      call('waits', 'mcp__hub__comment'),
      call('allowed', 'mcp__hub__create_issue'),
      call('granted', 'mcp__hub__create_issue', { title: 'x' }),
      call('runs', 'mcp__hub__merge'),
    ])
    .confirms('allowed', 'allow', { grant: {}, by: 'ann' })
    .starts('runs');
  const other = [ISSUES, COMMENTS, MERGES].map(({ definition, spec }) => ({
    definition: say(definition.text.replace('{', '{"also":"x",')),
    spec,
  }));
  hub(other).calls({ waits: 'rejected', allowed: 'rejected', granted: 'rejected', runs: 'running' });
  session.offers('read', 'asks').settles('runs').settlesBatch();
  session
    .observes([call('later', 'mcp__hub__create_issue')])
    .refused('tool_unavailable')
    .settlesBatch();
  // Approved as it is now: the grant is in force again. A tool that is disabled stays out.
  approves('mcp.hub.comment', 'mcp.hub.create_issue', 'mcp.hub.merge');
  session.takes('ToolOverridesSet', { scope: 'run', disable: ['mcp.hub.merge'] });
  session
    .offers(...all.slice(0, 4))
    .observes([call('now', 'mcp__hub__create_issue'), call('off', 'mcp__hub__merge')])
    .refused('tool_not_offered', 'tool_disabled')
    .settlesBatch();
  session
    .observes([call('now', 'mcp__hub__create_issue')])
    .calls({ now: 'queued' })
    .finishesBatch();
  // The definitions that were approved come back: they are no longer the approved ones.
  return hub([ISSUES, COMMENTS, MERGES]).offers('read', 'asks').answers('done');
}
