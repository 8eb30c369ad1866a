// `refold bridge`: starts the host bridge process for a running engine.
import pc from 'picocolors';
import { tokenFile } from '../../server/token.ts';
import { bridgeStateDir, ownDirectories } from '../data-dir.ts';
import { findEngine } from '../engine-address.ts';
import { CommandFailure, type Output } from '../output.ts';
import { startBridgeProcess } from '../processes.ts';
import { untilStopped } from '../until-stopped.ts';

export interface BridgeCommand {
  readonly dataDir: string;
  readonly workspace: string;
  /** The directory of its ledger; in the data directory when absent. */
  readonly stateDir?: string;
  readonly args: readonly string[];
  readonly secrets: Readonly<Record<string, string>>;
}

export async function bridgeCommand(command: BridgeCommand, output: Output): Promise<number> {
  const { dataDir, workspace, args, secrets } = command;
  const stateDir = command.stateDir ?? bridgeStateDir(dataDir);
  const engine = await findEngine(dataDir);
  if (engine === null) {
    throw new CommandFailure(
      'no_engine',
      `no engine answers for ${dataDir}. Start one: refold serve --data-dir ${dataDir}`,
    );
  }
  const bridge = await startBridgeProcess(
    {
      url: engine.url,
      tokenFile: tokenFile(dataDir),
      workspace,
      stateDir,
      protect: ownDirectories(dataDir),
      args,
      secrets,
    },
    (line) => {
      output.object(line);
      output.line(pc.dim(JSON.stringify(line)));
    },
  );
  output.object(bridge.ready);
  output.line(`bridge ${String(bridge.ready['owner'])}  sandbox ${String(bridge.ready['sandbox_note'])}`);
  const ended = new Promise<string | null>((resolve) => {
    bridge.process.once('exit', (code, signal) => resolve(code === 0 ? null : String(code ?? signal)));
  });
  const how = await Promise.race([untilStopped(false).then(() => null), ended]);
  await bridge.stop();
  if (how === null) return 0;
  throw new CommandFailure('child_failed', `the bridge ended unexpectedly (${how}). Start it again: refold bridge`);
}
