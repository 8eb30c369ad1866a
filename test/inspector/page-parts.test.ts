// The parts of the page that need no browser: the address, the windowed list, and the line to the worker.
import {
  type Arbitrary,
  assert,
  constant,
  constantFrom,
  integer,
  nat,
  oneof,
  option,
  property,
  record,
  string,
  tuple,
} from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Port, Refused, newLink } from '../../inspector/page/link.ts';
import { type Route, fragmentOf, routeOf } from '../../inspector/page/route.ts';
import { HEIGHT_MAX, laidOutHeight, scrollTopOf, shownRows } from '../../inspector/page/windowed.ts';
import type { FromWorker, ToWorker } from '../../inspector/protocol.ts';

const name = string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
const whole = nat({ max: 10_000_000 });
const maybe = option(whole, { nil: null });
const of = name;
const route: Arbitrary<Route> = oneof(
  constantFrom<Route>({ screen: 'sessions' }, { screen: 'waiting' }),
  record({ screen: constant('compare' as const), a: option(name), b: option(name) }),
  record({ screen: constant('session' as const), of, at: maybe }),
  record({ screen: constant('turn' as const), of, run: name, turn: whole }),
  record({
    screen: constant('call' as const),
    of,
    batch: option(name),
    call: name,
    observed: whole,
    index: whole,
  }),
  record({ screen: constant('tools' as const), of, at: maybe, against: maybe }),
  record({ screen: constant('state' as const), of, at: maybe, path: oneof(constant(''), name) }),
  record({ screen: constantFrom('whatif' as const, 'proof' as const), of }),
);

describe('the address', () => {
  test('names every screen in a way that is read back', () => {
    assert(
      property(route, (given) => {
        expect(routeOf(fragmentOf(given))).toEqual(given);
      }),
    );
  });

  test('is a screen for every fragment', () => {
    assert(
      property(string(), (fragment) => {
        expect(routeOf(fragmentOf(routeOf(fragment)))).toEqual(routeOf(fragment));
      }),
    );
  });
});

describe('the windowed list', () => {
  const size = record({
    rows: integer({ min: 1, max: 3_000_000 }),
    rowHeight: integer({ min: 10, max: 60 }),
    viewport: integer({ min: 60, max: 2_000 }),
  }).chain((list) => tuple(constant(list), nat({ max: list.rows - 1 }), nat({ max: 20 })));

  test('shows the row that it is scrolled to, within what is seen', () => {
    assert(
      property(size, ([list, row, spare]) => {
        const scrollTop = scrollTopOf(list, row);
        const { first, count, top } = shownRows(list, scrollTop, spare);
        expect(row).toBeGreaterThanOrEqual(first);
        expect(row).toBeLessThan(first + count);
        const place = top + (row - first) * list.rowHeight - scrollTop;
        expect(place).toBeGreaterThan(-1);
        expect(place).toBeLessThanOrEqual(Math.max(0, list.viewport - list.rowHeight) + 1);
      }),
    );
  });

  test('ends with its last row, however many there are', () => {
    assert(
      property(size, ([list, , spare]) => {
        const end = Math.max(0, laidOutHeight(list) - list.viewport);
        const { first, count, top } = shownRows(list, end, spare);
        expect(first + count).toBe(list.rows);
        // It is seen whole: it ends where the list ends.
        expect(top + count * list.rowHeight).toBeLessThanOrEqual(Math.max(laidOutHeight(list), list.viewport) + 1);
        expect(count).toBeLessThanOrEqual(Math.ceil(list.viewport / list.rowHeight) + 1 + 2 * spare);
      }),
    );
  });

  test('reaches the last of 1,000,000 rows', () => {
    const list = { rows: 1_000_000, rowHeight: 24, viewport: 576 };
    expect(laidOutHeight(list)).toBe(HEIGHT_MAX);
    const scrollTop = scrollTopOf(list, 999_999);
    expect(scrollTop).toBe(HEIGHT_MAX - 576);
    const { first, count } = shownRows(list, scrollTop, 6);
    expect(first + count).toBe(1_000_000);
  });
});

describe('the line to the worker', () => {
  function newPort(): { port: Port; sent: ToWorker[]; tell: (message: FromWorker) => void } {
    const sent: ToWorker[] = [];
    let hear: ((event: { readonly data: FromWorker }) => void) | null = null;
    const port: Port = {
      postMessage: (message) => void sent.push(message),
      addEventListener: (_type, hearer) => void (hear = hearer),
    };
    return { port, sent, tell: (data) => hear?.({ data }) };
  }

  test('gives each answer to its ask, in any order, and refusals as errors', async () => {
    const { port, sent, tell } = newPort();
    const link = newLink(port);
    const first = link.ask('opened', {});
    const second = link.ask('close', { source: 4 });
    const refused = { code: 'cannot', message: 'no', advice: '' } as const;
    tell({ number: 2, refused });
    tell({ number: 1, ask: 'opened', answer: [] });
    await expect(first).resolves.toEqual([]);
    await expect(second).rejects.toEqual(new Refused(refused));
    expect(sent).toEqual([
      { number: 1, ask: 'opened', given: {} },
      { number: 2, ask: 'close', given: { source: 4 } },
    ]);
  });

  test('withdraws an ask that is not wanted any more, once, and tells all who listen of news', () => {
    const { port, sent, tell } = newPort();
    const link = newLink(port);
    const stop = new AbortController();
    void link.ask('opened', {}, stop.signal);
    stop.abort();
    expect(sent.at(-1)).toEqual({ withdraw: 1 });
    const heard: string[] = [];
    const end = link.listen(({ kind }) => heard.push(kind));
    tell({ news: { kind: 'engine', link: 'lost', message: '' } });
    end();
    tell({ news: { kind: 'engine', link: 'up', message: '' } });
    expect(heard).toEqual(['engine']);
  });
});
