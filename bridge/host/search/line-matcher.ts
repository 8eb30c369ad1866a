// Finds the lines of texts that match. A literal is looked for in place. A regular expression runs in a thread of
// its own: one that backtracks without end stops that thread, not the bridge.
import { Worker } from 'node:worker_threads';
import { LINE_CHARS_MAX, PATTERN_CHARS_MAX } from '../../../schemas/limits.ts';
import { ToolFault } from '../outcome.ts';

export interface LineHit {
  /** From 1. */
  readonly line: number;
  /** The line without its line end, clipped. */
  readonly text: string;
}

export interface TextHits {
  readonly count: number;
  /** The first hits, at most as many as were asked for. */
  readonly hits: readonly LineHit[];
}

export interface LineMatcher {
  match(texts: readonly string[], hitsMax: number): Promise<readonly TextHits[]>;
  close(): Promise<void>;
}

/** The one literal string that the pattern stands for; null when it is a real expression or ignores case. */
export const literalOf = (pattern: string, ignoreCase: boolean): string | null =>
  !ignoreCase && pattern !== '' && !/[\\^$.*+?()[\]{}|\r\n]/.test(pattern) ? pattern : null;

/** Throws `invalid_regex`. The matcher stops when `signal` aborts, by rejecting what it was asked. */
export function openMatcher(pattern: string, ignoreCase: boolean, signal: AbortSignal): LineMatcher {
  const literal = literalOf(pattern, ignoreCase);
  const expression = compile(pattern, ignoreCase);
  return literal === null ? threadMatcher(expression, signal) : literalMatcher(literal);
}

function compile(pattern: string, ignoreCase: boolean): RegExp {
  if (pattern.length > PATTERN_CHARS_MAX) {
    throw new ToolFault('invalid_regex', `a pattern has at most ${PATTERN_CHARS_MAX} characters`);
  }
  // Written so by habit; the language itself has no such group on the Node versions that are supported.
  const inline = pattern.startsWith('(?i)');
  const source = inline ? pattern.slice('(?i)'.length) : pattern;
  const flags = ignoreCase || inline ? 'i' : '';
  try {
    return new RegExp(source, `${flags}u`);
  } catch {
    // The unicode mode refuses escapes that are harmless and common (`\-`, a lone `{`).
  }
  try {
    return new RegExp(source, flags);
  } catch {
    throw new ToolFault(
      'invalid_regex',
      'the pattern is not a valid regular expression; escape its special characters',
    );
  }
}

function literalMatcher(literal: string): LineMatcher {
  const test = { test: (line: string) => line.includes(literal) };
  const match = (text: string, hitsMax: number): TextHits =>
    text.includes(literal) ? findLines(test, text, hitsMax, LINE_CHARS_MAX) : { count: 0, hits: [] };
  return {
    match: (texts, hitsMax) => Promise.resolve(texts.map((text) => match(text, hitsMax))),
    close: () => Promise.resolve(),
  };
}

function threadMatcher(expression: RegExp, signal: AbortSignal): LineMatcher {
  // The thread's program is text, because a file of its own would be found in one build of this package only.
  const program = `
    const { parentPort, workerData } = require('node:worker_threads');
    const findLines = ${findLines.toString()};
    parentPort.on('message', ({ texts, hitsMax }) => {
      parentPort.postMessage(texts.map((text) => findLines(workerData.expression, text, hitsMax, workerData.lineMax)));
    });`;
  const worker = new Worker(program, {
    eval: true,
    env: {},
    workerData: { expression, lineMax: LINE_CHARS_MAX },
  });
  // An error outside of a question has nobody to go to; the next question then ends with its deadline.
  worker.on('error', () => undefined);
  return {
    match: (texts, hitsMax) => ask(worker, { texts, hitsMax }, signal),
    close: () => worker.terminate().then(() => undefined),
  };
}

function ask(worker: Worker, question: object, signal: AbortSignal): Promise<readonly TextHits[]> {
  return new Promise((answer, refuse) => {
    const onMessage = (found: readonly TextHits[]): void => settle(() => answer(found));
    const onError = (error: Error): void => settle(() => refuse(error));
    const onAbort = (): void => settle(() => refuse(signal.reason as Error));
    const settle = (how: () => void): void => {
      worker.off('message', onMessage).off('error', onError);
      signal.removeEventListener('abort', onAbort);
      how();
    };
    worker.on('message', onMessage).on('error', onError);
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    else worker.postMessage(question, []);
  });
}

/**
 * The matching lines of one text. Its source is also the thread's program, so it may refer to nothing outside of
 * itself; one function for both keeps a literal and an expression from disagreeing on what a line is.
 */
function findLines(
  expression: { test(line: string): boolean },
  text: string,
  hitsMax: number,
  lineMax: number,
): { count: number; hits: { line: number; text: string }[] } {
  const hits = [];
  let count = 0;
  let line = 0;
  let at = 0;
  while (at < text.length) {
    const feed = text.indexOf('\n', at);
    const end = feed === -1 ? text.length : feed;
    const content = text.slice(at, end > at && text[end - 1] === '\r' ? end - 1 : end);
    line += 1;
    at = end + 1;
    if (!expression.test(content)) continue;
    count += 1;
    if (hits.length >= hitsMax) continue;
    hits.push({ line, text: content.length > lineMax ? `${content.slice(0, lineMax).toWellFormed()}…` : content });
  }
  return { count, hits };
}
