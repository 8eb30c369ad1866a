// The part of Express that an example uses, over node:http, for machines where Express itself is not installed.
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { json } from 'node:stream/consumers';

type Request = IncomingMessage & { params: Record<string, string>; body: unknown };
type Response = ServerResponse & { status: (code: number) => Response; send: (text: string) => void };
type Handler = (request: Request, response: Response) => Promise<void>;
type OnError = (error: Error, request: Request, response: Response, next: () => void) => void;

interface App {
  readonly get: (path: string, handler: Handler) => void;
  readonly post: (path: string, handler: Handler) => void;
  readonly use: (handler: OnError) => void;
  readonly listen: (port: number, host: string) => Server;
}

export function expressLike(): App {
  const routes: { readonly method: string; readonly path: RegExp; readonly handler: Handler }[] = [];
  let onError: OnError = () => undefined;
  const add = (method: string) => (path: string, handler: Handler) =>
    void routes.push({ method, path: new RegExp(`^${path.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`), handler });
  async function handle(request: Request, response: Response): Promise<void> {
    response.status = (code) => Object.assign(response, { statusCode: code });
    response.send = (text) => void response.end(text);
    try {
      for (const { method, path, handler } of routes) {
        const found = path.exec(request.url ?? '');
        if (found === null || request.method !== method) continue;
        request.params = { ...found.groups };
        request.body = method === 'POST' ? await json(request) : undefined;
        await handler(request, response);
        return;
      }
      response.status(404).end();
    } catch (error) {
      onError(error as Error, request, response, () => undefined);
    }
  }
  return {
    get: add('GET'),
    post: add('POST'),
    use: (handler: OnError) => {
      onError = handler;
    },
    listen: (port: number, host: string) =>
      createServer((request, response) => void handle(request as Request, response as Response)).listen(port, host),
  };
}
