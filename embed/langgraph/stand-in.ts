// An object of the framework that stands for another one. What it does itself is given; of what it inherits, only what asks
// nothing and runs nothing is let through, so that no method goes around the record, of a later version of the framework either.

export interface StandInOptions {
  /** For the error, such as `chat model`. */
  readonly what: string;
  /** For the error, such as `invoke() or stream()`. */
  readonly use: string;
  /** Inherited methods that ask and run nothing. */
  readonly harmless: ReadonlySet<string>;
  /** Inherited methods that make a larger object of the one they are called on: they are called on the stand-in. */
  readonly composing?: ReadonlySet<string>;
  /** Properties that may be functions. */
  readonly values?: ReadonlySet<string>;
  /** Of an object that can be invoked and is held in a property: what is shown in its place. */
  readonly within?: (held: object) => object;
}

/** What is called and not listed throws a TypeError that says what to use. */
export function standIn<A extends object>(original: A, own: object, options: StandInOptions): A {
  const { what, use, harmless, composing = NONE, values = NONE, within = (held) => held } = options;
  const inner = Object.assign(Object.create(original) as A, own);
  const shown = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.some(canBeInvoked) ? (value as readonly unknown[]).map(shown) : value;
    return canBeInvoked(value) ? within(value) : value;
  };
  return new Proxy(inner, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof name === 'symbol' || Object.hasOwn(own, name) || name in Object.prototype) return value;
      if (typeof value !== 'function') return shown(value);
      if (values.has(name) || composing.has(name)) return value;
      // It may use methods of its class that are not listed.
      if (harmless.has(name)) return (...given: unknown[]): unknown => Reflect.apply(value, target, given);
      return (): never => {
        throw new TypeError(`${name}() of a durable ${what} would go around the record: use ${use}`);
      };
    },
  });
}

const NONE: ReadonlySet<string> = new Set();

const canBeInvoked = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && 'invoke' in value && typeof value.invoke === 'function';

/** Methods of everything in the framework that can be invoked. */
export const HARMLESS: readonly string[] = [
  'getName',
  'lc_name',
  'toJSON',
  'toJSONNotImplemented',
  '_addVersion',
  '_concatOutputChunks',
  '_getOptionsList',
  '_separateRunnableConfigFromCallOptions',
];
