// `refold bridge`: starts the host bridge process for a running engine.
import { setTimeout } from 'node:timers/promises';
import { paint } from '../../shown/paint.ts';
import { tokenFile } from '../../client/token-file.ts';
import { bridgeStateDir, ownDirectories } from '../data-dir.ts';
import { type FoundEngine, findEngine } from '../engine-address.ts';
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
  const stopped = untilStopped(false);
  const engine = await waitForEngine(dataDir, stopped, output);
  if (engine === null) return 0;
  const bridge = await startBridgeProcess(
    {
      url: engine.url,
      tokenFile: tokenFile(dataDir, 'bridge'),
      workspace,
      stateDir,
      protect: ownDirectories(dataDir),
      args,
      secrets,
    },
    (line) => {
      output.object(line);
      output.line(paint.dim(JSON.stringify(line)));
    },
  );
  output.object(bridge.ready);
  output.line(
    `bridge ${String(bridge.ready['owner'])}  connected by ${String(bridge.ready['connection'])}  sandbox ${String(bridge.ready['sandbox_note'])}`,
  );
  const ended = new Promise<string | null>((resolve) => {
    bridge.process.once('exit', (code, signal) => resolve(code === 0 ? null : String(code ?? signal)));
  });
  const how = await Promise.race([stopped.then(() => null), ended]);
  await bridge.stop();
  if (how === null) return 0;
  throw new CommandFailure('child_failed', `the bridge ended unexpectedly (${how}). Start it again: refold bridge`);
}

/** The engine of the data directory, as soon as there is one; null when the command is stopped before. */
async function waitForEngine(
  dataDir: string,
  stopped: Promise<void>,
  output: Output,
): Promise<Pick<FoundEngine, 'url'> | null> {
  const over = stopped.then(() => true);
  for (let said = false; ; said = true) {
    const engine = await findEngine(dataDir, 'bridge');
    if (engine !== null) {
      await engine.client.close();
      return engine;
    }
    if (!said) {
      output.object({ event: 'waiting_for_engine', data_dir: dataDir });
      output.line(
        `no engine answers for ${dataDir} yet; waiting for it. To start one: refold serve --data-dir ${dataDir}`,
      );
    }
    if (await Promise.race([over, setTimeout(LOOK_EVERY_MS, false)])) return null;
  }
}

const LOOK_EVERY_MS = 250;
