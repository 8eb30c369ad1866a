// The functions of the schema: each is one write, as one statement and so one transaction. They are functions because their
// plans are then kept by the server's session, also behind a pooler in transaction mode, which keeps no prepared statements.

/** The partitions of given tenures that are still held. None of them changes its epoch before this transaction ends. */
const HELD = `ARRAY(
    SELECT p.partition
      FROM unnest(t_partition, t_epoch) AS t(partition, epoch)
      JOIN refold.partition p ON p.partition = t.partition AND p.epoch = t.epoch
     ORDER BY p.partition
       FOR KEY SHARE OF p)`;

// `stream_of` has the id of the stream of each write that moved, and 0 for each other one. Joining the commits with the
// streams instead would cost the product of their numbers: the planner knows neither.
const APPEND = `
CREATE OR REPLACE FUNCTION refold.append(
  t_partition smallint[], t_epoch bigint[],
  w_session text[], w_partition smallint[], w_expected bigint[], w_version bigint[],
  w_owing boolean[], w_wake bigint[], w_status text[], w_card text[],
  c_write integer[], c_position bigint[], c_count smallint[], c_state bytea[], c_chain bytea[],
  c_event_ids text[], c_events text[],
  e_write integer[], e_key uuid[], e_position bigint[],
  g_write integer[], g_digest bytea[], g_content bytea[]
) RETURNS TABLE (write integer, is_held boolean, version bigint, status text, is_deleted boolean, repeated bigint)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  held smallint[];
  repeating integer[];
  moved_write integer[];
  moved_stream bigint[];
  stream_of bigint[];
BEGIN
  held := ${HELD};
  repeating := ARRAY(
    SELECT e.write FROM unnest(e_write, e_key) AS e(write, key) JOIN refold.event_id i ON i.key = e.key);
  WITH moved AS (
    UPDATE refold.stream s
       SET version = w.version, owing = w.owing, wake_at_ms = w.wake, status = w.status, card = w.card
      FROM unnest(w_session, w_partition, w_expected, w_version, w_owing, w_wake, w_status, w_card)
           WITH ORDINALITY AS w(session, partition, expected, version, owing, wake, status, card, write)
     WHERE s.session = w.session AND s.version = w.expected AND w.partition = ANY (held)
       AND (w.status <> 'incomplete' OR s.status = 'incomplete')
       AND w.write <> ALL (repeating)
    RETURNING w.write::integer AS write, s.id)
  SELECT array_agg(m.write ORDER BY m.write), array_agg(m.id ORDER BY m.write)
    INTO moved_write, moved_stream FROM moved m;
  IF cardinality(moved_write) = cardinality(w_session) THEN
    stream_of := moved_stream;
  ELSE
    stream_of := array_fill(0::bigint, ARRAY[cardinality(w_session)]);
    FOR i IN 1 .. coalesce(cardinality(moved_write), 0) LOOP
      stream_of[moved_write[i]] := moved_stream[i];
    END LOOP;
  END IF;
  INSERT INTO refold.commit (stream, position, count, state_digest, chain, event_ids, events)
    SELECT stream_of[c.write], c.position, c.count, c.state, c.chain, c.event_ids, c.events
      FROM unnest(c_write, c_position, c_count, c_state, c_chain, c_event_ids, c_events)
           AS c(write, position, count, state, chain, event_ids, events)
     WHERE stream_of[c.write] > 0;
  INSERT INTO refold.event_id (key, position)
    SELECT e.key, e.position FROM unnest(e_write, e_key, e_position) AS e(write, key, position)
     WHERE stream_of[e.write] > 0;
  -- In order of digest, so that two appends that seal the same pages wait for each other in one order.
  INSERT INTO refold.page (digest, content)
    SELECT DISTINCT ON (g.digest) g.digest, g.content
      FROM unnest(g_write, g_digest, g_content) AS g(write, digest, content)
     WHERE stream_of[g.write] > 0
     ORDER BY g.digest
    ON CONFLICT DO NOTHING;
  IF cardinality(moved_write) = cardinality(w_session) THEN
    RETURN;
  END IF;
  RETURN QUERY
    SELECT w.write::integer, w.partition = ANY (held), s.version, s.status,
           EXISTS (SELECT FROM refold.tombstone t WHERE t.session = w.session),
           (SELECT min(e.position)
              FROM unnest(e_write, e_key, e_position) AS e(write, key, position)
              JOIN refold.event_id i ON i.key = e.key
             WHERE e.write = w.write AND w.write = ANY (repeating))
      FROM unnest(w_session, w_partition) WITH ORDINALITY AS w(session, partition, write)
      LEFT JOIN refold.stream s ON s.session = w.session
     WHERE stream_of[w.write] = 0;
END $$;
`;

const CREATE = `
CREATE OR REPLACE FUNCTION refold.create_streams(
  t_partition smallint[], t_epoch bigint[],
  p_digest bytea[], p_content text[],
  w_session text[], w_partition smallint[], w_owing boolean[], w_wake bigint[], w_status text[], w_card text[],
  w_genesis text[], w_package integer[]
) RETURNS TABLE (write integer, is_held boolean, is_there boolean, is_deleted boolean)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  held smallint[];
  made bigint;
  gone boolean;
BEGIN
  held := ${HELD};
  FOR i IN 1 .. cardinality(w_session) LOOP
    made := NULL;
    gone := EXISTS (SELECT FROM refold.tombstone t WHERE t.session = w_session[i]);
    IF w_partition[i] = ANY (held) AND NOT gone THEN
      INSERT INTO refold.stream (session, partition, version, owing, wake_at_ms, status, card)
        VALUES (w_session[i], w_partition[i], 0, w_owing[i], w_wake[i], w_status[i], w_card[i])
        ON CONFLICT (session) DO NOTHING RETURNING id INTO made;
    END IF;
    IF made IS NULL THEN
      RETURN QUERY SELECT i, w_partition[i] = ANY (held),
        EXISTS (SELECT FROM refold.stream s WHERE s.session = w_session[i]), gone;
    ELSE
      INSERT INTO refold.genesis VALUES (made, w_genesis[i]);
      IF w_package[i] > 0 THEN
        INSERT INTO refold.package VALUES (p_digest[w_package[i]], p_content[w_package[i]]) ON CONFLICT DO NOTHING;
      END IF;
    END IF;
  END LOOP;
END $$;
`;

// What is left of the stream is removed by sweeps that follow, and until then the tombstone names it.
const DELETE = `
CREATE OR REPLACE FUNCTION refold.delete_stream(
  t_partition smallint[], t_epoch bigint[],
  d_session text, d_version bigint, d_chain bytea, d_at_ms bigint, d_whatever boolean
) RETURNS TABLE (is_held boolean, is_gone boolean, version bigint, is_deleted boolean)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  held smallint[];
  gone bigint;
BEGIN
  held := ${HELD};
  IF cardinality(held) > 0 THEN
    DELETE FROM refold.stream s WHERE s.session = d_session AND (d_whatever OR s.version = d_version)
      RETURNING s.id INTO gone;
  END IF;
  IF gone IS NOT NULL THEN
    DELETE FROM refold.genesis g WHERE g.stream = gone;
    INSERT INTO refold.tombstone VALUES (d_session, d_version, d_chain, d_at_ms, gone);
  END IF;
  RETURN QUERY SELECT cardinality(held) > 0, gone IS NOT NULL,
    (SELECT s.version FROM refold.stream s WHERE s.session = d_session),
    gone IS NULL AND EXISTS (SELECT FROM refold.tombstone t WHERE t.session = d_session);
END $$;
`;

const CLAIM = `
CREATE OR REPLACE FUNCTION refold.claim(c_engine text, c_url text, c_ttl_ms bigint, c_most integer, c_leases bigint)
RETURNS TABLE (partition smallint, epoch bigint, first_lease_epoch bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  leases bigint;
BEGIN
  IF NOT EXISTS (SELECT FROM refold.partition WHERE expires_at < clock_timestamp()) THEN
    RETURN;
  END IF;
  UPDATE refold.meta SET next_lease_epoch = next_lease_epoch + c_leases RETURNING next_lease_epoch - c_leases INTO leases;
  RETURN QUERY
  WITH free AS MATERIALIZED (
    SELECT p.partition FROM refold.partition p
     WHERE p.expires_at < clock_timestamp()
     ORDER BY p.partition LIMIT c_most FOR UPDATE SKIP LOCKED)
  UPDATE refold.partition p
     SET epoch = p.epoch + 1, engine = c_engine, url = c_url, first_lease_epoch = leases,
         expires_at = clock_timestamp() + c_ttl_ms * interval '1 millisecond'
    FROM free WHERE p.partition = free.partition
  RETURNING p.partition, p.epoch, p.first_lease_epoch;
END $$;
`;

// A snapshot may be lost in a crash of the server: it is only a hint.
const PUT_SNAPSHOT = `
CREATE OR REPLACE FUNCTION refold.put_snapshot(
  n_session text, n_version bigint, n_state_digest bytea, n_chain bytea, n_state text, n_keep integer
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO refold.snapshot VALUES (n_session, n_version, n_state_digest, n_chain, n_state)
    ON CONFLICT (session, version) DO UPDATE
    SET state_digest = excluded.state_digest, chain = excluded.chain, state = excluded.state;
  DELETE FROM refold.snapshot WHERE session = n_session AND (version > n_version OR version NOT IN (
    SELECT s.version FROM refold.snapshot s WHERE s.session = n_session AND s.version <= n_version
     ORDER BY s.version DESC LIMIT n_keep));
END $$;
`;

/** Whether a blob is stored whole; if it is, this counts as its last put. */
const TOUCH_BLOB = `
CREATE OR REPLACE FUNCTION refold.touch_blob(b_digest bytea) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE refold.blob SET last_put = clock_timestamp() WHERE digest = b_digest;
  RETURN FOUND AND b_digest = (
    SELECT sha256(coalesce(string_agg(p.content, ''::bytea ORDER BY p.part), ''::bytea))
      FROM refold.blob_part p WHERE p.digest = b_digest);
END $$;
`;

const PUT_BLOB = `
CREATE OR REPLACE FUNCTION refold.put_blob(b_digest bytea, b_bytes integer, b_part bytea, b_durable boolean)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT b_durable THEN
    PERFORM set_config('synchronous_commit', 'off', true);
  END IF;
  INSERT INTO refold.blob VALUES (b_digest, b_bytes, clock_timestamp())
    ON CONFLICT (digest) DO UPDATE SET bytes = excluded.bytes, last_put = excluded.last_put;
  DELETE FROM refold.blob_part WHERE digest = b_digest;
  INSERT INTO refold.blob_part VALUES (b_digest, 0, b_part);
END $$;
`;

export const FUNCTIONS: readonly string[] = [APPEND, CREATE, DELETE, CLAIM, PUT_SNAPSHOT, TOUCH_BLOB, PUT_BLOB];
