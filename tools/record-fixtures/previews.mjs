// A session in which people are shown what calls would do.
import { previewDigest } from '../../dist/schemas/index.js';
import { Recorder, blob, call, say } from './recorder.mjs';
import { ONCE, SHOWS, SHOWS_AGAIN, packageOf } from './tools.mjs';

const kept = (text) => {
  const { ref, bytes } = blob(text);
  return { ref, bytes };
};
const digestOf = (text) => blob(text).ref;

/** What a call would do to one file. */
const seen = (path, before, diff = say(`» ${path} (+1 -1)\n@@ -1,1 +1,1 @@\n-old\n+new`)) => ({
  diff,
  files: [{ path, before: before === null ? null : digestOf(before) }],
});

export function previews() {
  const session = new Recorder('previews', { tool_package: packageOf([SHOWS, SHOWS_AGAIN, ONCE]) });
  const shows = (call_id, preview, rest = {}) => {
    const { batch_id, plan } = session.state.active_tool_batch;
    const { arguments_digest } = plan.planned_calls.find((planned) => planned.call_id === call_id);
    const { attempt } = session.callState(call_id);
    return session.takes('CallPreviewed', { batch_id, call_id, attempt, arguments_digest, preview, ...rest });
  };
  const writes = (path, before, after) => [{ path, before: kept(before), after_digest: digestOf(after), mode: 0o644 }];

  // Four questions; the last one waits for the first, so its preview is not owed yet.
  session
    .runs('change files')
    .observes([
      call('edit', 'shows', { path: 'a' }),
      call('other', 'shows', { path: 'b' }),
      call('silent', 'shows', { path: 'c' }),
      call('unseen', 'shows', { path: 'd' }),
      call('behind', 'shows', { path: 'a', again: true }),
    ]);
  session.owes('call.preview', 'edit', 'other', 'silent', 'unseen');
  const first = seen('a', 'old a');
  shows('edit', first);
  shows('other', seen('b', null, blob(`» b: new file\n${'+line\n'.repeat(1_000)}`)));
  shows('unseen', { code: 'not_found', message: 'not_found: d does not exist; list . to see what exists' });
  session.owes('call.preview', 'silent');
  // The file changed between preview and answer, so the call was not run.
  session.confirms('edit', 'allow', { preview: previewDigest(first), by: 'ann' }).starts('edit');
  session.shows('the call runs only with the file as it was', () => session.callState('edit').previewed.length === 1);
  session.settles('edit', {
    output: 'changed_since_preview: "a" has changed since the preview with which a person allowed this call.',
    outcome: 'failed',
    code: 'changed_since_preview',
    result: { success: false, needsFollowup: true, nextAction: 'Read the file again, and make the call again.' },
  });
  // The answer names no preview, so nothing is compared.
  session.confirms('other', 'allow').settles('other').confirms('unseen', 'deny', { by: 'ann' });
  session.owes('call.preview', 'silent', 'behind');
  const later = seen('a', 'newer a');
  shows('behind', later).confirms('behind', 'allow', { preview: previewDigest(later), by: 'ann' });
  session.settles('behind', { changes: writes('a', 'newer a', 'newest a') });
  session
    .passes()
    .shows('no bridge has said it in time', () => session.callState('silent').preview.code === 'preview_lapsed');
  session.owes('call.preview').confirms('silent', 'deny').settlesBatch();

  // A lost bridge: the next attempt runs with the same files. In another place the question, and its preview, come again.
  const ready = { host_session_status: 'ready', workspace: '/ws', workspace_name: 'ws-1' };
  session.takes('HostSessionUpdated', { host_session: ready });
  session.observes([call('again', 'shows_again', { path: 'a' }), call('moved', 'shows_again', { path: 'b' })]);
  shows('again', first, { place: { workspace: '/ws', workspace_name: 'ws-1' } });
  session
    .confirms('again', 'allow', { preview: previewDigest(first) })
    .starts('again')
    .loses('again');
  session.shows('the next attempt compares too', () => session.callState('again').previewed.length === 1);
  shows('moved', seen('b', 'b'));
  session.takes('HostSessionUpdated', { host_session: { ...ready, workspace_name: 'ws-2' } });
  session.calls({ again: 'waiting', moved: 'waiting' }).owes('call.preview', 'again', 'moved');
  session.confirms('again', 'deny').ofRun('RunPaused').owes('call.preview', 'moved');
  shows('moved', seen('b', 'b here')).ofRun('RunResumed').confirms('moved', 'deny').settlesBatch();
  // An interrupt ends what is owed.
  session.observes([call('left', 'shows', { path: 'a' }), call('free', 'once')]).owes('call.preview', 'left');
  return session.takes('user.interrupt', { run_id: session.state.run.run_id }).isNow('idle').ended('interrupted');
}
