// What every API of models must do over the wire. Each dialect joins with a sample of its own forms.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiProviderOptions, apiProvider } from '../../../bridge/providers/api/api-provider.ts';
import type { GenerateReply, ReplyDelta } from '../../../bridge/providers/provider.ts';
import { REPLY_BYTES_MAX } from '../../../schemas/limits.ts';
import type { ModelServerName } from '../../../src/files/model-servers.ts';
import { chatRequestOf } from '../../support/bridge/chat-server.ts';
import { type ModelServer, type WireAnswer, openModelServer } from '../../support/providers/model-server.ts';

/** A turn of a model: text in the pieces in which it streams, then calls. */
export interface SampleTurn {
  readonly pieces: readonly string[];
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: object }[];
}

/** The forms of an API. */
export interface ApiSample {
  readonly api: ModelServerName;
  readonly contentType: string;
  /** The frames of a stream, one or more for each piece. The last `endFrames` of them hold the end marker. */
  readonly frames: (turn: SampleTurn) => readonly (Uint8Array | string)[];
  readonly endFrames: number;
  readonly plain: (turn: SampleTurn) => string;
  /** The body of an error. */
  readonly error: (message: string) => string;
  /** A frame that says in the middle of a stream that the server is overloaded. */
  readonly overloaded: Uint8Array | string;
  /** Bytes that are no frame. */
  readonly badFrame: Uint8Array | string;
  /** How the API says that a conversation is too long. */
  readonly tooLong: string;
  /** The lower-case header with the key, and its value. */
  readonly keyHeader: readonly [string, string];
}

const KEY = 'contract-key-of-32-characters-xx';
const SILENCE_MS = 12_345;
const TURN: SampleTurn = {
  pieces: ['Hé', 'llo ', '🙂'],
  calls: [{ id: 'call_1', name: 'read', arguments: { path: 'ä' } }],
};

/** The timer of the server's silence fires when the test says so; nothing else waits. */
function newClock() {
  const timers = new Set<() => void>();
  return {
    now: () => Date.parse('2026-01-01T00:00:00Z'),
    after(_ms: number, fn: () => void) {
      timers.add(fn);
      return () => timers.delete(fn);
    },
    fire: () => timers.forEach((fn) => fn()),
  };
}

export function describeContract(name: string, sample: ApiSample): void {
  describe(`${name} over the wire`, () => {
    contractOf(sample);
  });
}

function contractOf(sample: ApiSample): void {
  let server: ModelServer;
  let other: ModelServer;
  beforeAll(async () => {
    [server, other] = await Promise.all([openModelServer(), openModelServer()]);
  });
  afterAll(async () => {
    await Promise.all([server.close(), other.close()]);
  });

  interface Asked {
    readonly options?: Partial<ApiProviderOptions>;
    readonly signal?: AbortSignal;
    readonly onDelta?: (delta: ReplyDelta) => void;
  }

  function ask(answers: readonly WireAnswer[], { options, signal, onDelta }: Asked = {}): Promise<GenerateReply> {
    server.answer(...answers);
    const base = { api: sample.api, baseUrl: server.url, apiKey: KEY, silenceMs: SILENCE_MS, clock: newClock() };
    const provider = apiProvider({ ...base, ...options });
    return provider.generate(chatRequestOf(), signal ?? new AbortController().signal, onDelta);
  }

  const bytesOf = (frames: readonly (Uint8Array | string)[]): Uint8Array =>
    Buffer.concat(frames.map((frame) => Buffer.from(frame)));
  const stream = (frames: readonly (Uint8Array | string)[]): WireAnswer => ({
    headers: { 'content-type': sample.contentType },
    body: bytesOf(frames),
  });
  const plain = (turn: SampleTurn): WireAnswer => ({
    headers: { 'content-type': 'application/json' },
    body: sample.plain(turn),
  });
  const framesOf = (turn: SampleTurn) => sample.frames(turn);
  const begun = () => framesOf(TURN).slice(0, -sample.endFrames);
  const retryable = { name: 'ProviderError', code: 'provider_retryable' };

  describe('an answer', () => {
    test('is the same, streamed or plain, fast or slow, under any content type', async () => {
      const reply = await ask([stream(framesOf(TURN))]);
      expect(reply.content).toBe('Héllo 🙂');
      expect(reply.calls).toHaveLength(1);
      const [call] = reply.calls;
      const written: unknown = call?.arguments ?? JSON.parse(call?.arguments_text ?? 'null');
      expect([call?.name, written]).toEqual(['read', { path: 'ä' }]);
      expect(reply.stop?.reason).toBe('calls');
      expect(reply.usage?.input_tokens).toBeGreaterThan(0);
      const said = ({ content, stop, usage }: GenerateReply) => ({ content, reason: stop?.reason, usage });
      expect(said(await ask([plain(TURN)]))).toEqual(said(reply));
      expect(said(await ask([{ ...stream(framesOf(TURN)), slow: true }]))).toEqual(said(reply));
      expect(said(await ask([{ ...plain(TURN), headers: { 'content-type': 'text/plain' } }]))).toEqual(said(reply));
    });

    test('shows its text as it comes', async () => {
      const deltas: ReplyDelta[] = [];
      await ask([stream(framesOf(TURN))], { onDelta: (delta) => deltas.push(delta) });
      expect(deltas.map(({ text }) => text).join('')).toBe('Héllo 🙂');
      expect(deltas.length).toBeGreaterThan(1);
    });

    test('is asked for without a stream when the server refuses to stream', async () => {
      const refusal = { status: 400, body: sample.error('streaming is not supported') };
      expect((await ask([refusal, plain(TURN)])).content).toBe('Héllo 🙂');
      expect(server.asked).toHaveLength(2);
      expect(server.asked[0]?.path === server.asked[1]?.path && server.asked[0]?.body === server.asked[1]?.body).toBe(
        false,
      );
    });
  });

  describe('a stream', () => {
    test('without its end marker is no turn', async () => {
      for (const cut of [0, 1, begun().length]) {
        await expect(ask([stream(begun().slice(0, cut))])).rejects.toMatchObject(retryable);
      }
    });

    test('that is cut inside a frame is no turn', async () => {
      const whole = bytesOf(begun());
      await expect(ask([{ ...stream([]), body: whole.subarray(0, whole.length - 3) }])).rejects.toMatchObject(
        retryable,
      );
    });

    test('that is reset is no turn, and says that it was cut', async () => {
      await expect(ask([{ ...stream(begun()), reset: true }])).rejects.toMatchObject({
        ...retryable,
        message: expect.stringMatching(/^the connection was lost in the middle of the answer/) as string,
      });
    });

    test('of bad frames is no turn, whatever comes after them', async () => {
      const frames = framesOf(TURN);
      await expect(ask([stream([...frames.slice(0, 1), sample.badFrame, ...frames.slice(1)])])).rejects.toMatchObject(
        retryable,
      );
    });

    test('of bytes that are not UTF-8 is no turn', async () => {
      const whole = Buffer.from(bytesOf(framesOf(TURN)));
      // The second byte of the letter é, which a checksum may see as well.
      whole[whole.indexOf(0xc3) + 1] = 0xff;
      await expect(ask([{ ...stream([]), body: whole }])).rejects.toMatchObject(retryable);
    });

    test('in which the server says that it is overloaded is no turn', async () => {
      await expect(ask([stream([...begun().slice(0, 1), sample.overloaded])])).rejects.toMatchObject(retryable);
    });

    test('that is silent for too long is no turn', async () => {
      const clock = newClock();
      let heard = false;
      const onDelta = (): void => {
        if (!heard) setImmediate(() => clock.fire());
        heard = true;
      };
      const asked = ask([{ ...stream(begun()), silent: true }], { options: { clock }, onDelta });
      await expect(asked).rejects.toMatchObject({
        ...retryable,
        message: `the server sent no data for ${SILENCE_MS} ms`,
      });
    });

    test('above the maximum size is terminal', async () => {
      const first = bytesOf(begun());
      // A byte too many, which must not be decoded: these bytes are no frames.
      const rest = new Uint8Array(REPLY_BYTES_MAX + 1 - first.length);
      const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
        start(controller) {
          controller.enqueue(Uint8Array.from(first));
          controller.enqueue(rest);
          controller.close();
        },
      });
      const transport = () => Promise.resolve(new Response(body));
      await expect(ask([], { options: { transport } })).rejects.toMatchObject({
        code: 'provider_terminal',
        message: `the answer is larger than ${REPLY_BYTES_MAX} bytes`,
      });
    });
  });

  describe('a refusal', () => {
    test.each<[number, Record<string, string>, string, number | null]>([
      [429, { 'retry-after': '7' }, 'provider_retryable', 7_000],
      [429, { 'retry-after-ms': '15.5' }, 'provider_retryable', 16],
      [429, {}, 'provider_retryable', null],
      [500, {}, 'provider_retryable', null],
      [503, { 'retry-after': 'Thu, 01 Jan 2026 00:00:09 GMT' }, 'provider_retryable', 9_000],
      [529, {}, 'provider_retryable', null],
      [401, {}, 'provider_auth', null],
      [403, {}, 'provider_auth', null],
      [400, {}, 'invalid_request', null],
      [404, {}, 'invalid_request', null],
    ])('with status %d and headers %j is %s', async (status, headers, code, retryAfterMs) => {
      const asked = ask([{ status, headers, body: sample.error('no') }]);
      await expect(asked).rejects.toMatchObject({ name: 'ProviderError', code, retryAfterMs });
      expect(server.asked).toHaveLength(1);
    });

    test('because the conversation is too long has a code of its own', async () => {
      const asked = ask([{ status: 400, body: sample.error(sample.tooLong) }]);
      await expect(asked).rejects.toMatchObject({ code: 'context_length' });
    });

    test('in a form that no API has is still read by its status', async () => {
      for (const body of ['<html>busy</html>', '', '[]', 'null', '"no"', '{"error":7}', Buffer.of(0xff, 0xfe)]) {
        await expect(ask([{ status: 503, body }])).rejects.toMatchObject(retryable);
        await expect(ask([{ status: 404, body }])).rejects.toMatchObject({ code: 'invalid_request' });
      }
    });
  });

  test('a body that is no answer is no turn', async () => {
    for (const body of ['', '{}', '[]', 'oops', '{"a":', '<html></html>']) {
      await expect(ask([{ body }])).rejects.toMatchObject({ name: 'ProviderError' });
    }
  });

  test('a redirect is not followed', async () => {
    other.answer(stream(framesOf(TURN)));
    for (const status of [301, 302, 303, 307, 308]) {
      const asked = ask([{ status, headers: { location: `${other.url}/v1` } }]);
      await expect(asked).rejects.toMatchObject({
        code: 'provider_terminal',
        message: expect.stringContaining(new URL(other.url).host) as string,
      });
    }
    expect(other.asked).toEqual([]);
  });

  test('a cancelled request is reported as cancelled', async () => {
    const stop = new AbortController();
    const asked = ask([{ ...stream(begun()), silent: true }], { signal: stop.signal, onDelta: () => stop.abort() });
    await expect(asked).rejects.toMatchObject({ code: 'cancelled' });
    await expect(ask([], { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'cancelled' });
  });

  describe('the key', () => {
    test('is sent in its header only', async () => {
      await ask([stream(framesOf(TURN))]);
      const [asked] = server.asked;
      const [name, value] = sample.keyHeader;
      expect(asked?.headers[name]).toBe(value.replace('KEY', KEY));
      expect(`${asked?.path} ${asked?.body}`).not.toContain(KEY);
    });

    test('is cut out of text and deltas, wherever it is divided', async () => {
      for (const at of [1, 9, KEY.length - 1]) {
        const deltas: string[] = [];
        const turn = { ...TURN, pieces: ['a ', KEY.slice(0, at), KEY.slice(at), ' b'] };
        const reply = await ask([stream(framesOf(turn))], { onDelta: ({ text }) => deltas.push(text) });
        expect(reply.content).toBe('a ‹secret› b');
        expect(deltas.join('')).toBe('a ‹secret› b');
        expect(JSON.stringify(reply)).not.toContain(KEY);
      }
    });

    test('is cut out of calls and of answers in one piece', async () => {
      const turn = { ...TURN, calls: [{ id: 'call_1', name: 'read', arguments: { path: KEY } }] };
      for (const answer of [stream(framesOf(turn)), plain(turn)]) {
        expect(JSON.stringify(await ask([answer]))).not.toContain(KEY);
      }
    });

    test('is cut out of errors', async () => {
      for (const at of [0, 492, 992, 998]) {
        const message = `${'x'.repeat(at)}${KEY}${'y'.repeat(2_000)}`;
        for (const body of [sample.error(message), message]) {
          const fault = await ask([{ status: 400, body }]).then(JSON.stringify, String);
          expect(fault).not.toContain(KEY.slice(0, 8));
          expect(fault.length).toBeLessThan(1_200);
        }
      }
    });
  });
}
