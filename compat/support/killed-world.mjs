// What a program that is killed does to the world, and the places where it may be killed.
import { appendFileSync } from 'node:fs';

const [folder, crashAt] = process.argv.slice(2);
export const dataDir = `${folder}/data`;

/** Does something that must not happen twice. */
export const act = (line) => appendFileSync(`${folder}/world`, `${line}\n`);

/** A place: the process kills itself here when it is told to. */
export function at(place) {
  appendFileSync(`${folder}/places`, `${place}\n`);
  if (place === crashAt) process.kill(process.pid, 'SIGKILL');
}

/** The tools of the shop: one that reads, and one whose effect must happen once. */
export const functions = {
  find({ order }) {
    at(`in find ${order}`);
    return { order, cents: 7 };
  },
  refund({ order }) {
    at(`before refund ${order}`);
    act(`refund ${order}`);
    at(`after refund ${order}`);
    return `refunded ${order}`;
  },
};

export const hints = { find: { mode: 'read' }, refund: { mode: 'safe_write' } };
export const prompt = 'Refund orders a and b';

/** Answers every question with yes, until the run is over. */
export async function answerAll(agent, over) {
  while (!over.aborted) {
    for (const question of await agent.waiting()) {
      at(`asked ${question.tool}`);
      await agent.answer(question, true).catch(() => undefined);
      at(`answered ${question.tool}`);
    }
    await new Promise((resolve) => {
      setTimeout(resolve, 2);
    });
  }
}
