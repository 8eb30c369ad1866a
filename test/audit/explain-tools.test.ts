// The explanation of a tool: why it is in or out, as text, and since which event.
import { describe, expect, test } from 'vitest';
import { ToolReason } from '../../schemas/index.ts';
import { type ToolExplanation, newToolHistory } from '../../src/core/index.ts';
import { type Session, session } from '../support/session.ts';
import { profileOf, testPackage, tool } from '../support/tools.ts';
import { foldedIn, recordsOf } from './records.ts';

function explained(story: Session): readonly ToolExplanation[] {
  const history = newToolHistory();
  for (const folded of foldedIn(recordsOf(story, [story.events.length]))) history.add(folded);
  return history.explain(story.state);
}

const toolOf = (story: Session, name: string): ToolExplanation | undefined =>
  explained(story).find(({ tool_name }) => tool_name === name);

describe('a tool', () => {
  test('that was in or out from the start names no event', () => {
    expect(toolOf(session().runRequested(), 'read')).toMatchObject({
      effective: true,
      since: null,
      reasons: [{ code: 'in_profile', speaks_for: true, text: 'the profile "all" lists it' }],
    });
    expect(toolOf(session(), 'spare')).toMatchObject({ effective: false, since: null });
  });

  test('names the event that last changed its reasons, and no later one', () => {
    const story = session()
      .hostReady()
      .takes('ToolOverridesSet', { scope: 'session', disable: ['read'] })
      .takes('ToolProfileSelected', { profile_id: 'all' });
    expect(toolOf(story, 'hosted')).toMatchObject({
      effective: true,
      since: { position: 0, kind: 'HostSessionUpdated' },
    });
    expect(toolOf(story, 'read')).toMatchObject({
      effective: false,
      since: { position: 1, kind: 'ToolOverridesSet' },
      reasons: [{ speaks_for: true }, { code: 'disabled_by_session', speaks_for: false }],
    });
  });

  test('names the capability that its host lacks', () => {
    const rules = ['host_session_ready', 'capability:gpu', 'capability:net'];
    const needy = tool('needy', { availability_rules: rules });
    const tool_package = { ...testPackage(), registry: [needy], profiles: [profileOf('all', [needy])] };
    const story = session({ tool_package });
    expect(toolOf(story, 'needy')?.reasons.map(({ text }) => text)).toEqual([
      'the profile "all" lists it',
      'it needs a ready host session, and there is none',
      'the host lacks gpu, net',
    ]);
    const closed = story.host({ host_session_status: 'closed', capabilities: ['net'] });
    expect(toolOf(closed, 'needy')?.reasons.map(({ text }) => text)).toEqual([
      'the profile "all" lists it',
      'it needs a ready host session, and the host session is closed',
      'the host lacks gpu',
    ]);
  });
});

test('every reason has a text, and every tool that is out has a reason against it', () => {
  const codes = (ToolReason.jsonSchema as { readonly enum: readonly string[] }).enum;
  const disabled = { enable: ['spare'], force: ['spare'], disable: ['write'] };
  const stories = [
    session(),
    session().hostReady(),
    session().takes('ToolOverridesSet', { scope: 'session', ...disabled }),
    session().runRequested({}, { tools: disabled }),
  ];
  const rows = stories.flatMap((story) => explained(story));
  for (const { effective, reasons } of rows) {
    expect(reasons.every(({ code, text }) => codes.includes(code) && text.length > 10)).toBe(true);
    expect(reasons.every(({ speaks_for }) => speaks_for)).toBe(effective);
  }
});
