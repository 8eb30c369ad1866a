// A session about attachments: with which message or result each one goes to the model, and where it is left out.
import { digestText } from '../../dist/schemas/index.js';
import { Recorder, call, say } from './recorder.mjs';
import { ONCE, PERSON, READ, SEND, packageOf } from './tools.mjs';

/** A file as events refer to it; each character stands for one byte. */
const file = (binary, media_type, name) => {
  const bytes = Buffer.from(binary, 'latin1');
  return { ref: digestText(bytes), bytes: bytes.length, media_type, ...(name === undefined ? {} : { name }) };
};

const GIF = file('GIF89a a dot', 'image/gif');
const PDF = file('%PDF-1.7\na plan', 'application/pdf', 'plan.pdf');
const JPEG = file('\xff\xd8\xff a photo', 'image/jpeg', 'photo (1).jpg');
const WEBP = file('RIFF....WEBP', 'image/webp', 'Entwürfe 😀.webp');

/** The text and the number of attachments of each of the last messages. */
const ends =
  (...expected) =>
  ({ transcript }) => {
    const last = transcript.open.slice(-expected.length);
    const found = last.map(({ content, attachments = [] }) => `${content?.text}: ${attachments.length}`);
    return JSON.stringify(found) === JSON.stringify(expected);
  };

export function attachments() {
  const config = { context: { mark: 100 }, share_reads: true };
  // Results of open-world tools are not shared.
  const closed = { ...READ, open_world: false };
  const session = new Recorder('attachments', { tool_package: packageOf([closed, ONCE, PERSON, SEND]), config });
  session
    .runs('compare these', { attachments: [GIF, PDF, GIF] })
    .shows('they go with the input', ends('compare these: 3'));
  session.observes([
    call('shot', 'read', { path: 'a' }),
    call('same', 'read', { path: 'a' }),
    call('bad', 'send', { to: 'b' }),
    call('none', 'once', { n: 1 }),
    call('hand', 'person', { n: 2 }),
  ]);
  // Steers wait with their attachments; one without any between them, and one after them.
  const steers = (text, rest = {}) => session.ofRun('RunSteered', { input: say(text), ...rest });
  steers('first');
  steers('see this', { attachments: [JPEG] });
  steers('and');
  steers('these', { attachments: [WEBP, PDF] });
  steers('last').shows('each list has its steer', ({ run }) => {
    return JSON.stringify(run.steer_attachments.map(({ length }) => length)) === '[0,1,0,2]';
  });
  session.settles('shot', { attachments: [GIF], output: 'a picture' }).calls({ same: 'succeeded' });
  session.shows('the shared read has it, too', () => session.callState('same').attachments.length === 1);
  session.settles('bad', { attachments: [JPEG], output: '{"ok":1}', output_verdict: { valid: false, message: 'no' } });
  session.settles('none', { attachments: [PDF], output: 'half a file', result: { success: false } });
  session.fulfils('hand', { attachments: [JPEG, WEBP] }).settlesBatch();
  session.shows(
    'a failure keeps its file, and a result that does not fit has none',
    ({ transcript }) =>
      JSON.stringify(transcript.open.slice(2, 7).map((entry) => entry.attachments?.length ?? 0)) === '[1,1,0,1,2]',
  );
  session.shows('the steers follow', ends('first: 0', 'see this: 1', 'and: 0', 'these: 2', 'last: 0'));
  // They wait for a run of their own, and behind the end of running calls.
  session.takes('FollowUpQueued', { follow_up: { input: say('next'), attachments: [WEBP] } });
  session.answers('compared').ended('completed').shows('the follow-up has its own', ends('next: 1'));
  session.observes([call('slow', 'once', { n: 3 })]).starts('slow');
  session.ofRun('user.interrupt', { input: say('rather this'), attachments: [GIF, JPEG] }).isNow('interrupting');
  session.shows('they wait', ({ run }) => run.redirect_attachments.length === 2);
  session.settles('slow', { outcome: 'cancelled', result: { success: false }, attachments: [PDF] });
  session.isNow('generating').shows('they go with the new input', ends('rather this: 2'));
  // A page with attachments is sealed, and a summary takes its place.
  session.observes([call('more', 'read', { path: 'b' })], { usage: { input_tokens: 100, output_tokens: 1 } });
  session.settles('more', { attachments: [PDF] }).settlesBatch();
  const { through } = session.state.run.compact;
  session.shows('the page is sealed', ({ transcript }) => transcript.sealed.at(-1) === through);
  session.ofRun('ContextCompacted', {
    turn: session.state.run.turn,
    through,
    summary: say('Two files were compared.'),
  });
  session.answers('done').ended('completed');
  // An interrupt that becomes a cancel drops them.
  session
    .runs('again', { attachments: [WEBP] })
    .observes([call('held', 'once', { n: 4 })])
    .starts('held');
  session.ofRun('user.interrupt', { input: say('or this'), attachments: [GIF] }).ofRun('RunCancelled');
  session.shows('they are dropped', ({ run }) => !('redirect_attachments' in run));
  return session
    .settles('held', { attachments: [GIF] })
    .ended('cancelled')
    .isNow('idle');
}
