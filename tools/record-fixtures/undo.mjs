// Sessions with undo requests.
import { Recorder, blob, call } from './recorder.mjs';
import { READ, WRITE, packageOf } from './tools.mjs';

const kept = (text) => {
  const { ref, bytes } = blob(text);
  return { ref, bytes };
};
const digestOf = (text) => blob(text).ref;

export function undoneCalls() {
  const session = new Recorder('undone-calls', { tool_package: packageOf([READ, WRITE]) });
  const edited = [{ path: 'a', before: kept('old a'), after_digest: digestOf('new a'), mode: 0o644 }];
  const moved = [
    { path: 'b', before: kept('b'), after_digest: null, mode: 0o755 },
    { path: 'made/deep/b', before: null, after_digest: digestOf('b'), parents_made: 2 },
  ];
  session
    .runs('change files')
    .observes([call('edit', 'write', { path: 'a' }), call('move', 'write', { path: 'b' }), call('look', 'read')])
    .starts('edit')
    .settles('edit', { changes: edited });
  const { batch_id } = session.batch;
  session.starts('move').settles('move', { changes: moved }).settles('look').settlesBatch();
  const asks = (call_id, changes) => session.takes('UndoRequested', { call_id, batch_id, changes });
  const answers = (call_id, position, rest) =>
    session.takes('UndoSettled', { position, batch_id, call_id, success: true, ...rest });
  // During a generate, two at a time; the answers come in reverse order.
  session.together(() => {
    asks('edit', edited);
    asks('move', moved);
  });
  const first = session.events - 2;
  session.shows('two undos wait', ({ undos }) => undos.length === 2);
  answers('move', first + 1, { message: 'Put back b, made/deep/b.' });
  answers('edit', first, { success: false, code: 'changed_since', message: 'a changed after the call' });
  session
    .shows('none waits', (state) => !('undos' in state))
    .answers('done')
    .ended('completed');
  // A repeated request is another undo; no run is live.
  asks('edit', edited).shows('one undo waits', ({ undos }) => undos[0].position === session.events - 1);
  answers('edit', session.events - 1);
  return session.isNow('idle').shows('none waits', (state) => !('undos' in state));
}
