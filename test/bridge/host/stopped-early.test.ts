// A command that is stopped while the workspace is searched for git directories, before it has started.
import { describe, expect, test } from 'vitest';
import { makeHost } from '../../support/host/workspace.ts';

const probe = await makeHost();
const hasBwrap = probe.sandbox === 'bwrap';
if (!hasBwrap) process.stderr.write(`commands stopped before they start are NOT tested here: ${probe.sandboxNote}\n`);
await probe.end();

describe.runIf(hasBwrap)('a command that has not started', () => {
  // More directories than one turn of the event loop searches.
  const files = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`d${index}/f`, '']));

  test.each(['term', 'kill', 'close'])('never runs when its session gets the signal %s', async (signal) => {
    const host = await makeHost(files);
    const early = host.call('host.exec', { argv: ['touch', 'early'] });
    expect(await host.call('host.session.signal', { signal })).toMatchObject({ data: { ended: 1 } });
    expect(await early).toMatchObject({ success: false, code: 'cancelled' });
    await host.call('host.session.open', {});
    expect(await host.call('host.exec', { argv: ['ls'] })).toMatchObject({ success: true });
    expect(host.workspace.list()).not.toContain('early');
    await host.end();
  });

  test('runs when it is another session that is stopped', async () => {
    const host = await makeHost(files);
    const running = host.call('host.exec', { argv: ['touch', 'ran'] });
    expect(await host.call('host.session.signal', { signal: 'kill' }, { sessionId: 's-2' })).toMatchObject({
      data: { ended: 0 },
    });
    expect(await running).toMatchObject({ success: true });
    expect(host.workspace.list()).toContain('ran');
    await host.end();
  });

  test('never runs when its host closes', async () => {
    const host = await makeHost(files);
    const early = host.call('host.exec', { argv: ['touch', 'early'] });
    await host.close();
    expect(await early).toMatchObject({ success: false, code: 'cancelled' });
    expect(host.workspace.list()).not.toContain('early');
    await host.end();
  });
});
