// The package `refold`: the engine, and what is needed to embed it.
export type { Blobs } from './blobs/blobs.ts';
export { openFileBlobs } from './blobs/file-blobs.ts';
export { openMemoryBlobs } from './blobs/memory-blobs.ts';
export type { EngineClient } from './client/client.ts';
export { FollowRefused } from './client/follow-refused.ts';
export { connect } from './client/http-client.ts';
export { type Clock, systemClock } from './engine/clock.ts';
export { type Engine, type EngineOptions, type EnginePorts, openEngine, startEngine } from './engine/engine.ts';
export type { Journal, JournalRecord, SessionHead } from './journal/journal.ts';
export { openLevelJournal } from './journal/level-journal.ts';
export { openMemoryJournal } from './journal/memory-journal.ts';
export { type ServeOptions, type Serving, serve } from './server/serve.ts';
export { ensureToken, readToken, tokenFile } from './server/token.ts';
export { CONSENT_PRESETS, type ConsentPreset } from './toolsets/consent-presets.ts';
export { defaultToolPackage } from './toolsets/default-package.ts';
export { hostTools } from './toolsets/host-tools.ts';
export { permissionTools } from './toolsets/permission-tools.ts';
export { PACKAGE_VERSION } from './version.ts';
