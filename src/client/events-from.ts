// The events of followed commits.
import { type CommitRecord, type StreamEvent, eventsIn } from '../../schemas/record.ts';

/** The events of commits from a position on; the first commit may begin before it. */
export async function* eventsFrom(commits: AsyncIterable<CommitRecord>, from: number): AsyncGenerator<StreamEvent> {
  for await (const commit of commits) for (const event of eventsIn(commit)) if (event.position >= from) yield event;
}
