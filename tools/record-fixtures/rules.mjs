// A session with the texts of the rules that no other recorded session holds.
import assert from 'node:assert/strict';
import { CONSENT_PRESETS } from '../../dist/src/toolsets/consent-presets.js';
import { hostTools } from '../../dist/src/toolsets/host-tools.js';
import { permissionTools } from '../../dist/src/toolsets/permission-tools.js';
import { Recorder, call, say } from './recorder.mjs';
import { HOSTED, SEND, packageOf, tool } from './tools.mjs';

/** Commands with a read-only alternative, one for each text about it. */
const COMMANDS = {
  file: ['cat', 'a.md'],
  bytes: ['head', '-c', '9', 'a.md'],
  head: ['head', '-n', '3', 'a.md'],
  lines: ['sed', '-n', '2,5p', 'a.md'],
  size: ['wc', '-c', 'a.md'],
  folder: ['ls', 'src'],
  find: ['find', 'src', '-type', 'f', '-name', '*.ts'],
  search: ['grep', 'word', 'a.md'],
  grep: ['grep', '-rn', 'word', 'src'],
  rg: ['rg', 'word', 'src'],
  none: ['git', 'status'],
};

const RECORDED = new Set([
  'permissions.check',
  'host.exec',
  'host.fs.read_file',
  'host.fs.stat',
  'host.fs.list_dir',
  'host.fs.glob',
  'host.fs.grep',
]);

const ERASE = tool('erase', { mode: 'destructive' });

export function ruleTexts() {
  const known = [...hostTools(), ...permissionTools()].filter(({ tool_id }) => RECORDED.has(tool_id));
  const spare = tool('spare');
  const consent = { ...CONSENT_PRESETS.default, modes: { ...CONSENT_PRESETS.default.modes, destructive: 'deny' } };
  const session = new Recorder('rule-texts', {
    tool_package: packageOf([...known, SEND, HOSTED, ERASE], [spare]),
    consent,
  });
  const answerOf = (id) => JSON.parse(session.callState(id).output.text);
  session.takes('HostSessionUpdated', { host_session: { host_session_status: 'ready', workspace: '/ws' } });
  const checks = Object.entries(COMMANDS).map(([id, argv]) =>
    call(id, 'permissions_check', { tool_name: 'shell', arguments: { argv } }),
  );
  session.runs('what may I read').observes([...checks, call('denied', 'permissions_check', { tool_name: 'erase' })]);
  for (const id of Object.keys(COMMANDS)) assert.equal(answerOf(id).read_only_alternative === null, id === 'none', id);
  assert.equal(answerOf('denied').decision, 'deny');
  session
    .settlesBatch()
    .observes([
      call('misfit', 'send', {}, { arguments_verdict: { valid: false } }),
      call('sent', 'send'),
      call('sent-too', 'send'),
    ]);
  session.refused('tool_invalid_args');
  session
    .confirms('sent', 'allow')
    .confirms('sent-too', 'allow')
    .settles('sent', { output_verdict: { valid: false } })
    .settles('sent-too', { output_verdict: { valid: false, message: 'must be an object' } })
    .settlesBatch()
    .answers('some of it')
    .ended('completed');
  session
    .takes('HostSessionUpdated', { host_session: { host_session_status: 'closed' } })
    .runs('on the host', { run_overrides: { host_session_open: true } })
    .takes('HostSessionUpdated', { host_session: { host_session_status: 'error' } })
    .ended('failed', 'host_session_failed');
  const { model, provider } = session.state.config;
  followedBy(session, {}, ['SessionConfigured', { config: { model: ' ' } }]).ended('failed', 'model_missing');
  session.takes('SessionConfigured', { config: { model } });
  followedBy(session, {}, ['SessionConfigured', { config: { provider: '' } }]).ended('failed', 'provider_missing');
  session.takes('SessionConfigured', { config: { provider } });
  const registry = Object.values(session.state.tool_registry).filter(({ tool_id }) => tool_id !== spare.tool_id);
  const tools = { enable: [spare.tool_id], disable: [], force: [] };
  return followedBy(session, { tools }, ['ToolRegistrySet', { registry }]).ended('failed', 'tool_unknown');
}

/** A run during which a follow-up run is queued that cannot start after a further fact. */
const followedBy = (session, request, fact) =>
  session
    .runs('once more')
    .takes('FollowUpQueued', { follow_up: { input: say('and then'), ...request } })
    .takes(...fact)
    .answers('done');
