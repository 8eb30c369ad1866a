// Replaces everything that the fold must not use by stubs that throw: clocks, random sources, locales, the process, and
// every function whose result the language leaves to the implementation.

const GLOBALS = ['Date', 'Intl', 'Temporal', 'crypto', 'process', 'performance', 'navigator'];
const TIMERS = ['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'fetch'];
// ECMA-262 21.3 leaves the results of these to the implementation; the rest of Math is exact.
const MATH = ['random', 'acos', 'acosh', 'asin', 'asinh', 'atan', 'atanh', 'atan2', 'cbrt', 'cos', 'cosh', 'exp'];
const MORE_MATH = ['expm1', 'hypot', 'log', 'log1p', 'log10', 'log2', 'pow', 'sin', 'sinh', 'sqrt', 'tan', 'tanh'];
const LOCALE = [
  [String.prototype, ['localeCompare', 'toLocaleLowerCase', 'toLocaleUpperCase']],
  [Number.prototype, ['toLocaleString']],
  [Array.prototype, ['toLocaleString']],
  [Object.prototype, ['toLocaleString']],
];

/** Poisons this realm. Returns a function that restores it. */
export function poison() {
  const targets = [[globalThis, [...GLOBALS, ...TIMERS]], [Math, [...MATH, ...MORE_MATH]], ...LOCALE];
  const undo = targets.flatMap(([target, names]) => names.map((name) => replace(target, name)));
  return () => {
    for (const restore of undo.toReversed()) restore();
  };
}

function replace(target, name) {
  const before = Object.getOwnPropertyDescriptor(target, name);
  Object.defineProperty(target, name, { value: stub(name), configurable: true, enumerable: false, writable: true });
  return () => {
    if (before === undefined) delete target[name];
    else Object.defineProperty(target, name, before);
  };
}

function stub(name) {
  const refuse = () => {
    throw new Error(`the fold touched ${name}`);
  };
  return new Proxy(function poisoned() {}, { apply: refuse, construct: refuse, get: refuse, has: refuse, set: refuse });
}
