// A conversation in the form that the API accepts: a user message first, then assistant and user in turn, each call
// answered at the beginning of the next message, and nothing empty.
import type { ExactJson, ExactObject } from '../api/exact-json.ts';
import { wireIds } from '../api/wire-ids.ts';
import type { Message, ToolMessage } from '../provider.ts';
import { type TurnBlock, isBlankText, plainText, resultBlocks, turnBlocks, userBlocks } from './blocks.ts';

export type Turn = AssistantTurn | UserTurn;

interface AssistantTurn {
  readonly role: 'assistant';
  readonly blocks: readonly ContentBlock[];
  /** Where code of this turn runs. */
  readonly container: string | null;
}

type ContentBlock = Exclude<TurnBlock, { readonly kind: 'container' }>;

interface UserTurn {
  readonly role: 'user';
  /** By the ids of the calls of the turn before, in their order. */
  readonly results: ReadonlyMap<string, ToolMessage>;
  /** What else the message holds. */
  readonly others: readonly ExactObject[];
}

/** Stands before a window of the conversation that begins with the model. */
export const EARLIER = '[The beginning of this conversation is left out.]';
/** Ends a conversation whose last message is the model's: many models refuse to go on without a user's message. */
export const CONTINUE = 'Continue.';
const NO_RESULT = 'There is no result of this call.';

/** The turns of the conversation, for a model. */
export function turnsOf(messages: readonly Message[], model: string): readonly Turn[] {
  const turns = alternating(wireIds(messages, { alphabet: /[a-zA-Z0-9_-]/, max: 64 }), model);
  const paired = alternated(withoutLooseEnds(turns));
  const opened = paired[0]?.role === 'user' ? paired : [userTurn([plainText(EARLIER)]), ...paired];
  const last = opened.at(-1);
  if (last?.role !== 'assistant') return opened;
  if (last.blocks.some(({ kind }) => kind === 'call')) return [...opened, userTurn([])];
  // A turn that is paused goes on when it is sent back; its own items tell it from one that has ended.
  return last.blocks.some(({ kind }) => kind === 'item') ? opened : [...opened, userTurn([plainText(CONTINUE)])];
}

const userTurn = (others: readonly ExactObject[]): UserTurn => ({ role: 'user', results: new Map(), others });

/** Messages of one role in a row are one turn. */
function alternating(messages: readonly Message[], model: string): readonly Turn[] {
  const turns: Turn[] = [];
  let calls: ReadonlySet<string> = new Set();
  let results = new Map<string, ToolMessage>();
  let others: ExactObject[] = [];
  let blocks: TurnBlock[] = [];
  const endUser = (): void => {
    if (results.size > 0 || others.length > 0) turns.push({ role: 'user', results, others });
    results = new Map();
    others = [];
  };
  const endAssistant = (): void => {
    calls = new Set(blocks.flatMap((block) => (block.kind === 'call' ? [block.id] : [])));
    if (blocks.length > 0) turns.push(assistantTurn(blocks));
    blocks = [];
  };
  for (const message of messages) {
    if (message.role === 'assistant') {
      if (results.size > 0 || others.length > 0) {
        endUser();
        calls = new Set();
      }
      blocks.push(...turnBlocks(message, model));
      continue;
    }
    if (message.role === 'user') {
      const added = userBlocks(message.text, message.attachments);
      if (added.length === 0) continue;
      if (blocks.length > 0) endAssistant();
      others.push(...added);
      continue;
    }
    if (blocks.length > 0) endAssistant();
    if (calls.has(message.call_id) && !results.has(message.call_id)) {
      results.set(message.call_id, message);
      others.push(...resultBlocks(message).beside);
    } else others.push(...strayResult(message));
  }
  endAssistant();
  endUser();
  return turns;
}

function assistantTurn(all: readonly TurnBlock[]): AssistantTurn {
  const blocks = all.filter((block): block is ContentBlock => block.kind !== 'container');
  const container = all.findLast((block) => block.kind === 'container');
  return { role: 'assistant', blocks, container: container?.id ?? null };
}

/** A result whose call the window has cut off: the API takes it as text only. */
const strayResult = ({ name, text, attachments }: ToolMessage): readonly ExactObject[] =>
  userBlocks(`[result of an earlier call of ${name}]\n${text}`, attachments);

/**
 * Without the blocks that the API refuses in their place: blank texts, thinking at the end of a turn, work of a server
 * without its result (unless the turn still goes on), and results of work that is not there.
 */
function withoutLooseEnds(turns: readonly Turn[]): readonly Turn[] {
  const answered = new Set<string>();
  for (const block of allBlocks(turns))
    if (block.kind === 'item' && block.answers !== null) answered.add(block.answers);
  const begun = new Set<string>();
  return turns.map((turn, index) => {
    if (turn.role === 'user') return turn;
    const goesOn = isOpenTurn(turns, index);
    const blocks = turn.blocks.filter((block) => {
      if (block.kind === 'text') return !isBlankText(block.text);
      if (block.kind !== 'item') return true;
      if (block.uses !== null) {
        if (!answered.has(block.uses) && !goesOn) return false;
        begun.add(block.uses);
      }
      return block.answers === null || begun.has(block.answers);
    });
    const end = blocks.findLastIndex(({ kind }) => kind !== 'thinking');
    return { ...turn, blocks: blocks.slice(0, end + 1) };
  });
}

const allBlocks = (turns: readonly Turn[]): readonly ContentBlock[] =>
  turns.flatMap((turn) => (turn.role === 'assistant' ? turn.blocks : []));

/** The last turn of the model, with nothing after it but results of its calls. */
function isOpenTurn(turns: readonly Turn[], index: number): boolean {
  const next = turns[index + 1];
  if (next === undefined) return true;
  return index + 2 === turns.length && next.role === 'user' && next.others.length === 0;
}

/** Turns that became empty are left out, and their neighbours joined. */
function alternated(turns: readonly Turn[]): readonly Turn[] {
  const result: Turn[] = [];
  for (const turn of turns) {
    const before = result.at(-1);
    if (turn.role === 'assistant' && turn.blocks.length === 0) continue;
    if (turn.role === 'user' && before?.role === 'user') {
      result[result.length - 1] = {
        role: 'user',
        results: new Map([...before.results, ...turn.results]),
        others: [...before.others, ...turn.others],
      };
    } else result.push(turn);
  }
  return result;
}

/** The `messages` of the request. `withoutLastThinking`: the API refuses thinking in the last turn of the model. */
export function wireMessages(turns: readonly Turn[], withoutLastThinking: boolean): readonly ExactJson[] {
  const last = turns.findLastIndex(({ role }) => role === 'assistant');
  return turns.map((turn, index) => {
    const before = turns[index - 1];
    if (turn.role === 'user') return { role: 'user', content: userContent(turn, before) };
    const drop = withoutLastThinking && index === last;
    const blocks = drop ? turn.blocks.filter(({ kind }) => kind !== 'thinking') : turn.blocks;
    return { role: 'assistant', content: assistantContent(blocks, index === turns.length - 1) };
  });
}

/** Results come first, one for each call, in the order of the calls. */
function userContent({ results, others }: UserTurn, before: Turn | undefined): readonly ExactJson[] {
  const calls = before?.role === 'assistant' ? before.blocks : [];
  const first = calls.flatMap((block) => {
    if (block.kind !== 'call') return [];
    const message = results.get(block.id);
    if (message !== undefined) return [resultBlocks(message).result];
    return [{ type: 'tool_result', tool_use_id: block.id, content: NO_RESULT, is_error: true }];
  });
  return [...first, ...others];
}

/** The API refuses blanks at the end of the text that ends the last message. */
function assistantContent(blocks: readonly ContentBlock[], isLast: boolean): readonly ExactJson[] {
  const content = blocks.map(({ json }) => json);
  const end = blocks.at(-1);
  if (!isLast || end?.kind !== 'text') return content;
  return [...content.slice(0, -1), { ...end.json, text: end.text.trimEnd() }];
}

/** The turn that the model goes on with began with thinking; also true when no turn goes on. */
export function mayContinueThinking(turns: readonly Turn[]): boolean {
  if (!goesOn(turns)) return true;
  let first: AssistantTurn | null = null;
  for (let index = turns.length - 1; index >= 0; index -= 1) {
    const turn = turns[index] as Turn;
    if (turn.role === 'assistant') first = turn;
    else if (!answersCalls(turns, index)) break;
  }
  return first?.blocks[0]?.kind === 'thinking';
}

const goesOn = (turns: readonly Turn[]): boolean =>
  turns.at(-1)?.role === 'assistant' || answersCalls(turns, turns.length - 1);

function answersCalls(turns: readonly Turn[], index: number): boolean {
  const before = turns[index - 1];
  return before?.role === 'assistant' && before.blocks.some(({ kind }) => kind === 'call');
}

/** The container of the turn that goes on, which the API wants to be named again. */
export function openContainer(turns: readonly Turn[]): string | null {
  if (!goesOn(turns)) return null;
  return turns.findLast((turn): turn is AssistantTurn => turn.role === 'assistant')?.container ?? null;
}

/** The names of all tools that were called. */
export const calledTools = (turns: readonly Turn[]): readonly string[] => [
  ...new Set(allBlocks(turns).flatMap((block) => (block.kind === 'call' ? [block.name] : []))),
];
