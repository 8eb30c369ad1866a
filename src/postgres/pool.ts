// Connections that are shared, for reads and for what needs no order: at most a few at a time, opened when they are needed.
import type { Connect, Connection, Query } from './driver.ts';

export interface Pool {
  /** Lends a connection that nothing else uses meanwhile. */
  use<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  readonly query: Query;
  /** Waits for work that began, then ends every connection. */
  close(): Promise<void>;
}

export function newPool(connect: Connect, most: number): Pool {
  const idle: Connection[] = [];
  const waiting: (() => void)[] = [];
  const running = new Set<Promise<unknown>>();
  let lent = 0;

  async function borrow(): Promise<Connection> {
    if (lent < most) lent += 1;
    // Whoever gives a connection back leaves its place to the first that waits.
    else await new Promise<void>((resolve) => waiting.push(resolve));
    for (let last = idle.pop(); last !== undefined; last = idle.pop()) if (last.isOpen) return last;
    return await connect().catch((error: unknown) => {
      release();
      throw error;
    });
  }

  function release(): void {
    const next = waiting.shift();
    if (next === undefined) lent -= 1;
    else next();
  }

  async function lend<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await borrow();
    try {
      return await work(connection);
    } finally {
      if (connection.isOpen) idle.push(connection);
      release();
    }
  }

  const use: Pool['use'] = async (work) => {
    const run = lend(work);
    const ended = run.then(
      () => undefined,
      () => undefined,
    );
    running.add(ended);
    return await run.finally(() => running.delete(ended));
  };

  return {
    use,
    query: (statement, given) => use((connection) => connection.query(statement, given)),
    close: async () => {
      await Promise.all(running);
      await Promise.all(idle.splice(0).map((connection) => connection.end()));
    },
  };
}

/** Runs work in a transaction, which is rolled back when it throws. */
export async function inTransaction<T>(connection: Connection, work: () => Promise<T>, mode = ''): Promise<T> {
  await connection.query(`BEGIN ${mode}`);
  try {
    const result = await work();
    await connection.query('COMMIT');
    return result;
  } catch (error) {
    if (connection.isOpen) await connection.query('ROLLBACK');
    throw error;
  }
}
