// The worker: asks in, answers and news out. It does all network, and holds the token.
import { connect } from '../src/client/index.ts';
import { newInspector } from './folding/inspector.ts';
import type { FromWorker, ToWorker } from './protocol.ts';

/** What a dedicated worker has of its scope; the other end of its messages is the page that made it. */
interface WorkerScope {
  readonly addEventListener: (type: 'message', listener: (message: { readonly data: ToWorker }) => void) => void;
  readonly postMessage: (message: FromWorker) => void;
}

const { addEventListener, postMessage } = globalThis as unknown as WorkerScope;
const inspector = newInspector({ post: (message) => postMessage.call(globalThis, message), connect });
addEventListener.call(globalThis, 'message', ({ data }: { readonly data: ToWorker }) => void inspector.take(data));
