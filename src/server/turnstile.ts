// Lets so many in at a time; the others wait in the order in which they came.

export interface Turnstile {
  /** Resolves when there is room, with the function that gives it back. */
  enter(): Promise<() => void>;
}

export function newTurnstile(max: number): Turnstile {
  const waiting: (() => void)[] = [];
  let inside = 0;

  function leave(): void {
    const next = waiting.shift();
    if (next === undefined) inside -= 1;
    else next();
  }

  return {
    async enter() {
      if (inside < max) inside += 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      let left = false;
      return () => {
        if (!left) leave();
        left = true;
      };
    },
  };
}
