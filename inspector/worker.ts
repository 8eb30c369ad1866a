// The worker: asks in, answers and news out. It does all network, and holds the token.
import { connect } from '../src/client/index.ts';
import { newInspector } from './folding/inspector.ts';
import type { FromWorker, ToWorker } from './protocol.ts';

/** What a dedicated worker has of its scope. */
interface WorkerScope {
  onmessage: ((message: { readonly data: ToWorker }) => void) | null;
  postMessage(message: FromWorker): void;
}

const scope = globalThis as unknown as WorkerScope;
const inspector = newInspector({ post: (message) => scope.postMessage(message), connect });
scope.onmessage = ({ data }) => void inspector.take(data);
