// Finds the matching lines of texts. A literal is matched in this thread. A regular expression runs in a worker thread, so
// that one that backtracks without end blocks that thread and not the bridge.
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
  /** The first hits, at most `hitsMax`. */
  readonly hits: readonly LineHit[];
}

export interface LineMatcher {
  match(texts: readonly string[], hitsMax: number): Promise<readonly TextHits[]>;
  close(): Promise<void>;
}

/** The pattern, when it matches only itself; null when it is a regular expression or ignores case. */
export const literalOf = (pattern: string, ignoreCase: boolean): string | null =>
  !ignoreCase && pattern !== '' && !/[\\^$.*+?()[\]{}|\r\n]/.test(pattern) ? pattern : null;

/** Throws `invalid_regex`. When `signal` aborts, a pending `match` rejects. */
export function openMatcher(pattern: string, ignoreCase: boolean, signal: AbortSignal): LineMatcher {
  const literal = literalOf(pattern, ignoreCase);
  const expression = compile(pattern, ignoreCase);
  return literal === null || literal.length > LITERAL_HERE_MAX
    ? threadMatcher(expression, signal)
    : literalMatcher(literal);
}

// In a text that repeats itself, searching a literal takes time in proportion to its length too.
const LITERAL_HERE_MAX = 32;

function compile(pattern: string, ignoreCase: boolean): RegExp {
  if (pattern.length > PATTERN_CHARS_MAX) {
    throw new ToolFault(
      'invalid_regex',
      `the pattern has ${pattern.length} characters; the maximum is ${PATTERN_CHARS_MAX}`,
    );
  }
  // Models write the inline flag `(?i)`, which JavaScript does not have on the supported Node versions.
  const inline = pattern.startsWith('(?i)');
  const source = inline ? pattern.slice('(?i)'.length) : pattern;
  const flags = ignoreCase || inline ? 'i' : '';
  try {
    return new RegExp(source, `${flags}u`);
  } catch {
    // Unicode mode refuses harmless and common syntax (`\-`, a lone `{`): try without it.
  }
  try {
    return new RegExp(source, flags);
  } catch {
    throw new ToolFault(
      'invalid_regex',
      'the pattern is not a valid regular expression; correct it, or escape its special characters',
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
  // The thread's program is text, because the path of a file would differ between the source and the build.
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
  // An error while no match is pending is ignored; the next match then ends at its deadline.
  worker.on('error', () => undefined);
  return {
    match: (texts, hitsMax) => ask(worker, { texts, hitsMax }, signal),
    close: () => worker.terminate().then(() => undefined),
  };
}

function ask(worker: Worker, question: object, signal: AbortSignal): Promise<readonly TextHits[]> {
  return new Promise((resolve, reject) => {
    const onMessage = (found: readonly TextHits[]): void => settle(() => resolve(found));
    const onError = (error: Error): void => settle(() => reject(error));
    const onAbort = (): void => settle(() => reject(signal.reason as Error));
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
 * The matching lines of one text. Its source is also part of the worker's program, so it must not refer to anything outside
 * itself. Literals and expressions share it, so that both split lines in the same way.
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
