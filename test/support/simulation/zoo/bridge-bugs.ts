// Bugs in the bridge: in its functions, its client and its model.
import { isLeft, isRight, right } from 'fp-ts/lib/Either.js';
import { vi } from 'vitest';
import type { Predecessor } from '../../../../bridge/ledger/predecessors.ts';
import { brand } from '../../../../schemas/ids.ts';
import type { EngineClient } from '../../../../src/client/client.ts';
import type { Model, SimulatedBridge } from '../../../../src/testing/index.ts';
import { refoldBridge } from '../refold-bridge.ts';
import { type Bugs, planted } from './planted.ts';

vi.mock(import('../../../../bridge/ledger/predecessors.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    claimLedgers: (disk, options) => {
      const deadly = planted.bug === 'live bridges are taken for dead';
      const claimed = real.claimLedgers(disk, deadly ? { ...options, isAlive: () => false } : options);
      return planted.bug === 'a ledger entry is not reported' ? claimed.then((dead) => dead.map(endless)) : claimed;
    },
  };
});

/** The ledger of a dead bridge without the ends of its calls. */
const endless = (dead: Predecessor): Predecessor => ({
  ...dead,
  entries: dead.entries.map((entry) => ({ ...entry, event: null })),
});

vi.mock(import('../../../../bridge/engine-link/held-leases.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    newHeldLeases: (options) => {
      const leases = real.newHeldLeases(options);
      return planted.bug === 'a bridge continues after a stall' ? { ...leases, isFresh: () => true } : leases;
    },
  };
});

vi.mock(import('../../../../bridge/calls/held-call.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    holdCall: (...given) => {
      const call = real.holdCall(...given);
      if (planted.bug === 'calls do not wait') call?.waitsFor.clear();
      return call;
    },
  };
});

vi.mock(import('../../../../bridge/calls/call-reporter.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    newCallReporter: (options) => {
      const reporter = real.newCallReporter(options);
      return {
        ...reporter,
        settle: async (call, event) => {
          const answer = await reporter.settle(call, event);
          const kept = planted.bug === 'a call to be retried is kept as settled';
          if (kept && isRight(answer)) options.schedule.settled(call);
          return answer;
        },
      };
    },
  };
});

vi.mock(import('../../../../bridge/engine-link/outbox.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    newOutbox: (options) => {
      const outbox = real.newOutbox(options);
      return {
        ...outbox,
        report: (session, event, effect) =>
          planted.bug === 'a start is not recorded' && event.kind === 'ToolCallStarted'
            ? Promise.resolve(right(undefined))
            : outbox.report(session, event, effect),
      };
    },
  };
});

vi.mock(import('../../../../bridge/executors/bounded-run.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    runBounded: async (run, limits) => {
      const again = planted.bug === 'a tool that threw is run again';
      const end = await real.runBounded(again ? (time) => run(time).catch(() => run(time)) : run, limits);
      if (planted.bug !== 'a cancelled call succeeds' || end.outcome !== 'cancelled') return end;
      return { ...end, outcome: 'succeeded', report: { success: true, text: 'done' } };
    },
  };
});

vi.mock(import('../../../../bridge/executors/executors.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    contextOf: (stop, { previewed, resume, ...rest }) => {
      const begins = planted.bug === 'an attempt begins anew what another one left' || resume === undefined;
      const limits = begins ? rest : { ...rest, resume };
      const blind = planted.bug === 'files are not compared with the preview' || previewed === undefined;
      return real.contextOf(stop, blind ? limits : { ...limits, previewed });
    },
  };
});

vi.mock(import('../../../../bridge/calls/call-answers.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    newCallAnswers: () => {
      const answers = real.newCallAnswers();
      let first: ReturnType<typeof answers.next> | null = null;
      const next: typeof answers.next = (signal) => {
        first ??= answers.next(signal);
        return first;
      };
      return planted.bug === 'an answer is taken for the next one' ? { ...answers, next } : answers;
    },
  };
});

vi.mock(import('../../../../bridge/calls/plan-check.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    newPlanCheck: (readBlob) => {
      const check = real.newPlanCheck(readBlob);
      return planted.bug === 'the plan is not checked'
        ? { ...check, check: async (call) => right(call.arguments ?? {}) }
        : check;
    },
  };
});

vi.mock(import('../../../../bridge/ledger/recover.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    recover: (options) => {
      if (planted.bug !== 'a call is released before its end is reported') return real.recover(options);
      const { client, ledger } = options;
      const early = ledger.predecessors.map(({ owner }) => client.release({ owner, leases: [], all: true })());
      return Promise.all(early).then(() => real.recover(options));
    },
  };
});

vi.mock(import('../../../../bridge/executors/undo-call.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    undoCall: (effect, options) => {
      const restore = () => ({ success: true, text: 'put back' });
      const idle = planted.bug === 'an undo is reported but not done';
      return real.undoCall(effect, idle ? { ...options, restore } : options);
    },
  };
});

vi.mock(import('../../../../bridge/generate/transcript.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    renderTranscript: ({ summary, ...transcript }, blobs) => {
      const shown = planted.bug === 'a model does not read the summary' || summary === undefined;
      return real.renderTranscript(shown ? transcript : { ...transcript, summary }, blobs);
    },
  };
});

/** refold's bridge with a faulty model. */
const withModel =
  (change: (model: Model) => Model['generate']): SimulatedBridge =>
  (world) =>
    refoldBridge({ ...world, model: { generate: change(world.model) } });

/** refold's bridge with a faulty client. */
const withClient =
  (change: (client: EngineClient) => Partial<EngineClient>): SimulatedBridge =>
  (world) =>
    refoldBridge({ ...world, client: { ...world.client, ...change(world.client) } });

let renamed = 0;

export const BRIDGE_BUGS: Bugs = {
  'calls do not wait': { seed: 30, breaks: 'no conflicting calls overlap' },
  'a start is not recorded': { seed: 1, breaks: 'durable first' },
  'a tool that threw is run again': { seed: 22, breaks: 'runs at most once' },
  'a call to be retried is kept as settled': { seed: 8, breaks: 'every run ends' },
  'sent again under another id': {
    seed: 145,
    breaks: 'live bridges keep their calls',
    bridge: withClient((client) => ({
      submit: (session, request) => async () => {
        renamed += 1;
        const events = request.events.map((event) => ({
          ...event,
          event_id: brand<'EventId'>(`x-${renamed}-${event.kind}`),
        }));
        return await client.submit(session, { ...request, events })();
      },
    })),
  },
  'results in another order': {
    seed: 2,
    breaks: 'pairing',
    bridge: withModel((model) => (request, signal) => {
      const results = request.messages.filter(({ role }) => role === 'tool').toReversed();
      const messages = request.messages.map((message) =>
        message.role === 'tool' ? (results.shift() ?? message) : message,
      );
      return model.generate({ ...request, messages }, signal);
    }),
  },
  'a model does not read the summary': { seed: 26, breaks: 'the window is whole' },
  'a layout is not sent back': {
    seed: 10,
    breaks: 'the window is whole',
    bridge: withModel((model) => (request, ...rest) => {
      const messages = request.messages.map((message) => {
        if (message.role !== 'assistant') return message;
        const { layout: _left, ...said } = message;
        return said;
      });
      return model.generate({ ...request, messages }, ...rest);
    }),
  },
  'what was written so far is the answer': {
    seed: 35,
    breaks: 'deltas leave no trace',
    bridge: withModel((model) => async (request, signal, onDelta) => {
      let written = '';
      const reply = await model.generate(request, signal, (delta) => {
        written += delta.text;
        onDelta?.(delta);
      });
      return written === '' ? reply : { ...reply, content: written };
    }),
  },
  'an attempt begins anew what another one left': { seed: 1, breaks: 'runs at most once' },
  'an answer is taken for the next one': { seed: 318, breaks: 'answers are delivered once' },
  'files are not compared with the preview': { seed: 24, breaks: 'approvals bound' },
  'the plan is not checked': { seed: 12, breaks: 'only the plan runs' },
  'a report is not sent again': {
    seed: 120,
    breaks: 'durable first',
    bridge: withClient((client) => ({
      submit: (session, request) => async () => {
        const answer = await client.submit(session, request)();
        const lost = isLeft(answer) && answer.left.code === 'closing';
        return lost ? (right({ events: [] }) as unknown as typeof answer) : answer;
      },
    })),
  },
  'a cancelled call succeeds': { seed: 66, breaks: 'honest reports' },
  'live bridges are taken for dead': { seed: 73, breaks: 'live bridges keep their calls' },
  'a ledger entry is not reported': { seed: 368, breaks: 'nothing is lost' },
  'a call is released before its end is reported': { seed: 73, breaks: 'nothing is lost' },
  'an undo is reported but not done': { seed: 55, breaks: 'honest reports' },
};
