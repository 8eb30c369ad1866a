// The configured servers of a bridge: starts, keeps and stops them as the configuration says. A server whose settings stay the
// same goes on; one whose settings change is started anew.
import { canonicalText } from '../../schemas/canonical.ts';
import type { Json } from '../../schemas/json.ts';
import { MCP_ATTACH_MS_MAX } from '../../schemas/limits.ts';
import { sleep } from '../../src/clock.ts';
import type { McpConfig, ServerSettings } from '../../src/toolsets/mcp-config.ts';
import { type Server, type ServerPorts, startServer } from './server.ts';

export interface Servers {
  /** The servers that are configured now, by name. */
  readonly all: ReadonlyMap<string, Server>;
  /** Follows a new configuration. */
  configure(config: McpConfig): void;
  /** Resolves when every server has listed its tools or failed once, or has had its time for that. */
  attached(): Promise<void>;
  /** Stops every server. */
  close(): Promise<void>;
}

export function newServers(ports: Omit<ServerPorts, 'onElicit'> & { readonly onElicitOf: OnElicitOf }): Servers {
  const all = new Map<string, Server>();
  const stopping = new Set<Promise<void>>();
  let attaching: Promise<unknown> = Promise.resolve();

  function stop(name: string): void {
    const server = all.get(name);
    if (server === undefined) return;
    all.delete(name);
    const stopped = server.stop().finally(() => stopping.delete(stopped));
    stopping.add(stopped);
  }

  return {
    all,
    configure({ servers }) {
      const wanted = new Map(servers.map((settings) => [settings.name, settings]));
      for (const [name, { settings }] of all) if (!isSame(settings, wanted.get(name))) stop(name);
      const started = [...wanted.values()].filter(({ name }) => !all.has(name));
      for (const settings of started)
        all.set(settings.name, startServer(settings, { ...ports, onElicit: ports.onElicitOf(settings) }));
      const attached = started.map(({ name }) => all.get(name)?.attached);
      attaching = Promise.race([Promise.all([attaching, ...attached]), sleep(ports.clock, MCP_ATTACH_MS_MAX)]);
      ports.onTools();
    },
    attached: async () => void (await attaching),
    async close() {
      for (const name of all.keys()) stop(name);
      await Promise.all(stopping);
    },
  };
}

type OnElicitOf = (server: ServerSettings) => ServerPorts['onElicit'];

const isSame = (a: ServerSettings, b: ServerSettings | undefined): boolean =>
  b !== undefined && canonicalText(a as unknown as Json) === canonicalText(b as unknown as Json);
