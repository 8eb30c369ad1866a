// The tools and the config of the program that runs now. A session gets them once for each process; then its bridge starts.
import type { ConsentPolicy, RunConfigPatch, SessionState } from '../../schemas/index.ts';
import { type SessionSetup, makeSession } from '../runs/begin-run.ts';
import type { LoopSession } from './loop-session.ts';
import { type LoopTool, loopPackage, registryFor } from './loop-tools.ts';
import { type SessionBridge, type SessionBridgeOptions, startBridge } from './session-bridge.ts';

export interface SessionStart {
  /** What the session is to have while the loop uses these tools. */
  readonly setup: (tools: readonly LoopTool[], state: SessionState | null) => SessionSetup;
  /** Makes the session, or brings it up to date, and starts its bridge. Does nothing when that is done. */
  readonly begin: (tools: readonly LoopTool[]) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface SessionStartOptions {
  readonly loop: LoopSession;
  readonly consent: ConsentPolicy;
  readonly config: RunConfigPatch;
  readonly bridge: SessionBridgeOptions;
}

export function newSessionStart({ loop, consent, config, bridge }: SessionStartOptions): SessionStart {
  const { client, session, log } = loop;
  let started: Promise<SessionBridge> | null = null;

  const setup = (tools: readonly LoopTool[], state: SessionState | null): SessionSetup => ({
    tool_package: loopPackage(registryFor(tools, state)),
    consent,
    // The session may have been made for a loop of refold's own, which compacts its conversation.
    config: (state?.config.context ?? null) === null ? config : { ...config, context: null },
  });

  return {
    setup,
    async begin(tools) {
      if (started !== null) return;
      await makeSession(client, setup(tools, log.state()), session);
      await log.read();
      started = startBridge(bridge);
      await started;
    },
    async close() {
      await (await started)?.close();
    },
  };
}
