// The tables of the schema `refold`, version 1 (docs/postgres.md, "Tables").

/** The version of the schema that this release makes and reads. */
export const SCHEMA_VERSION = 1;

/** How many partitions the sessions are divided into: one for each first byte of the digest of an id. */
export const PARTITIONS = 256;

export const TABLES = `
CREATE SCHEMA refold;

CREATE TABLE refold.meta (
  version integer NOT NULL,
  next_lease_epoch bigint NOT NULL
);
INSERT INTO refold.meta VALUES (${SCHEMA_VERSION}, 1);

-- A change of an epoch must exclude appends, and the renewal of a tenure must not. The unique key makes it so: an update
-- of a key column conflicts with FOR KEY SHARE, which an append takes, and any other update does not.
CREATE TABLE refold.partition (
  partition smallint PRIMARY KEY,
  epoch bigint NOT NULL,
  engine text,
  url text,
  expires_at timestamptz NOT NULL,
  first_lease_epoch bigint NOT NULL,
  UNIQUE (partition, epoch)
) WITH (fillfactor = 25);
INSERT INTO refold.partition SELECT n, 0, NULL, NULL, '-infinity', 0 FROM generate_series(0, ${PARTITIONS - 1}) AS n;

CREATE TABLE refold.stream (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session text COLLATE "C" NOT NULL UNIQUE,
  partition smallint NOT NULL,
  version bigint NOT NULL,
  owing boolean NOT NULL,
  wake_at_ms bigint,
  status text NOT NULL,
  card text NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX stream_owing ON refold.stream (session) WHERE owing;
CREATE INDEX stream_wake ON refold.stream (wake_at_ms, session) WHERE wake_at_ms IS NOT NULL;

CREATE TABLE refold.genesis (
  stream bigint PRIMARY KEY,
  content text NOT NULL
);

CREATE TABLE refold.package (
  digest bytea PRIMARY KEY,
  content text NOT NULL
);

CREATE TABLE refold.page (
  digest bytea PRIMARY KEY,
  content bytea NOT NULL
);

CREATE TABLE refold.commit (
  stream bigint NOT NULL,
  position bigint NOT NULL,
  count smallint NOT NULL,
  state_digest bytea NOT NULL,
  chain bytea NOT NULL,
  event_ids text,
  events text NOT NULL,
  PRIMARY KEY (stream, position)
);

CREATE TABLE refold.event_id (
  key uuid PRIMARY KEY,
  position bigint NOT NULL
);

CREATE TABLE refold.tombstone (
  session text COLLATE "C" PRIMARY KEY,
  version bigint,
  chain bytea,
  deleted_at_ms bigint NOT NULL,
  unswept bigint
);
CREATE INDEX tombstone_unswept ON refold.tombstone (session) WHERE unswept IS NOT NULL;

CREATE TABLE refold.snapshot (
  session text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  state_digest bytea NOT NULL,
  chain bytea NOT NULL,
  state text NOT NULL,
  PRIMARY KEY (session, version)
);

CREATE TABLE refold.blob (
  digest bytea PRIMARY KEY,
  bytes integer NOT NULL,
  last_put timestamptz NOT NULL
);
CREATE TABLE refold.blob_part (
  digest bytea NOT NULL,
  part smallint NOT NULL,
  content bytea NOT NULL,
  PRIMARY KEY (digest, part)
);
ALTER TABLE refold.blob_part ALTER COLUMN content SET STORAGE EXTERNAL;
`;
