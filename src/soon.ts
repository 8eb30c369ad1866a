// Work that seldom waits. An async function makes a promise for every call; one event passes a dozen functions that wait
// only for a blob, another thread or the next turn of the event loop, and almost never do.

/** A value that is here already, or that is waited for. */
export type Soon<T> = T | Promise<T>;

/** What is made of the value: at once when the value is here, and then what it throws is thrown at once. */
export const andThen = <A, B>(soon: Soon<A>, made: (value: A) => Soon<B>): Soon<B> =>
  soon instanceof Promise ? soon.then(made) : made(soon);
