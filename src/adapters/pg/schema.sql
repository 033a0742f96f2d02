-- The tables and functions of one batch, in a schema of its own. The session's search path is this
-- schema, so that no name of a batch is part of any SQL. `batch.version` is checked when a batch is
-- opened (schema.c): a change below needs a new version.
--
-- A node's own calls check that the node is alive, and that the server process is the one that
-- welcomed it. So a pooler that changes the process between two calls ends the node.
-- SQLSTATE LPF01: the node is fenced. LPS01: the batch is sealed.
--
-- Locks. A step waits for nothing but its node's row, which others lock only to declare the node
-- dead. lease() declares nodes dead under an advisory lock, before it locks its own node's row. So
-- no two transactions wait for each other.

CREATE TABLE batch (
    version int NOT NULL,
    shard_count int NOT NULL,
    appended bigint NOT NULL DEFAULT 0,
    is_sealed bool NOT NULL DEFAULT false
) WITH (fillfactor = 10);

CREATE TABLE node (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key bytea NOT NULL,
    name bytea NOT NULL,
    pid int NOT NULL,
    backend_start timestamptz,
    seen timestamptz NOT NULL,
    wants bool NOT NULL DEFAULT true, -- false: the node asks for no shards
    dead bool NOT NULL DEFAULT false  -- never set back
) WITH (fillfactor = 10);

CREATE TABLE shard (
    id int PRIMARY KEY,
    owner bigint, -- a node's id
    low bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);

CREATE TABLE lane (
    id bigint PRIMARY KEY,
    shard int NOT NULL,
    last_seq bigint NOT NULL,
    state bytea NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX lane_shard ON lane (shard);

CREATE TABLE entry (
    shard int,
    seq bigint,
    home int NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (shard, seq)
);

CREATE TABLE effect (seq bigint, part int, data bytea NOT NULL, PRIMARY KEY (seq, part));

CREATE TABLE outcome (seq bigint PRIMARY KEY, code int NOT NULL, home int NOT NULL);

CREATE TABLE letter (
    shard int NOT NULL, -- the receiver
    upto bigint NOT NULL,
    sender bigint NOT NULL,
    step bigint NOT NULL,
    body bytea NOT NULL
);
CREATE INDEX letter_sender ON letter (sender, step) INCLUDE (shard);
CREATE INDEX letter_shard ON letter (shard, upto);

CREATE TABLE append_token (token bytea PRIMARY KEY, first_seq bigint NOT NULL);

CREATE FUNCTION hello(_name bytea, _old_id bigint, _old_key bytea)
RETURNS TABLE (id bigint, key bytea, shard_count int) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('synchronous_commit', 'on', true);
    PERFORM FROM node WHERE id = _old_id AND key = _old_key AND NOT dead FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE node SET dead = true WHERE id = _old_id;
    END IF;
    RETURN QUERY WITH made AS (
        INSERT INTO node (key, name, pid, backend_start, seen)
        SELECT substring(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) FOR 16),
            _name, a.pid, a.backend_start, clock_timestamp()
        FROM pg_stat_activity a WHERE a.pid = pg_backend_pid() RETURNING id, key)
    SELECT made.id, made.key, b.shard_count FROM made, batch b;
END $$;

-- Whether a live node of this id and key has this server process.
CREATE FUNCTION is_alive(_id bigint, _key bytea) RETURNS bool LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM node
        WHERE id = _id AND key = _key AND pid = pg_backend_pid() AND NOT dead)
$$;

-- Nodes whose server process is gone, or that were not seen for so long. Only a role of the same
-- rights sees when a process began; for others the lease alone decides.
CREATE FUNCTION suspects(_id bigint, _lease interval)
RETURNS TABLE (id bigint, pid int, is_there bool) LANGUAGE sql STABLE AS $$
    WITH process AS MATERIALIZED (SELECT pid, backend_start FROM pg_stat_activity)
    SELECT k.id, k.pid, p.pid IS NOT NULL
    FROM node k LEFT JOIN process p ON p.pid = k.pid
        AND (p.backend_start IS NULL OR p.backend_start = k.backend_start)
    WHERE NOT k.dead AND k.id <> _id AND (p.pid IS NULL OR k.seen < clock_timestamp() - _lease)
$$;

-- Ends a process of a node that may have stopped inside a transaction, if this role may do that.
CREATE FUNCTION end_process(_pid int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_terminate_backend(_pid);
EXCEPTION WHEN insufficient_privilege THEN
    NULL;
END $$;

-- Declares a node dead, which waits for a step that is being committed. A node whose row stays
-- locked is left to the next call.
CREATE FUNCTION declare_dead(_id bigint, _is_there bool, _lease interval) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE node SET dead = true WHERE id = _id AND NOT dead
        AND (NOT _is_there OR seen < clock_timestamp() - _lease);
EXCEPTION WHEN lock_not_available THEN
    NULL;
END $$;

CREATE FUNCTION bury(_id bigint, _lease interval) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    suspect record;
BEGIN
    IF NOT EXISTS (SELECT FROM suspects(_id, _lease))
        AND (SELECT count(*) FROM node WHERE dead) < 16 THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock('batch'::regclass::oid::int, 0);
    PERFORM set_config('lock_timeout', '200ms', true);
    FOR suspect IN SELECT * FROM suspects(_id, _lease) LOOP
        IF suspect.is_there THEN
            PERFORM end_process(suspect.pid);
        END IF;
        PERFORM declare_dead(suspect.id, suspect.is_there, _lease);
    END LOOP;
    DELETE FROM node k WHERE k.dead AND NOT EXISTS (SELECT FROM shard WHERE owner = k.id)
        AND NOT EXISTS (SELECT FROM letter WHERE sender = k.id);
END $$;

-- The first row has shard -1, and the share. A shard that another call takes at this time is checked
-- again when it is locked, beside the same row of `node`: so its owner must be NULL, or that row.
CREATE FUNCTION lease(_id bigint, _key bytea, _lease_us bigint, _shards_max bigint)
RETURNS TABLE (shard int, low bigint, live bigint, hungry bigint, free bigint, appended bigint,
    done bigint, is_sealed int) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    _live bigint;
    _count bigint;
    _want bigint;
BEGIN
    IF is_alive(_id, _key) THEN
        PERFORM bury(_id, _lease_us * interval '1 microsecond');
    END IF;
    UPDATE node SET seen = clock_timestamp(), wants = _shards_max > 0
        WHERE id = _id AND key = _key AND pid = pg_backend_pid() AND NOT dead;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the node is fenced' USING ERRCODE = 'LPF01';
    END IF;
    SELECT count(*) INTO _live FROM node WHERE NOT dead AND wants;
    SELECT shard_count INTO _count FROM batch;
    _want := least((_count + _live - 1) / greatest(_live, 1), _shards_max)
        - (SELECT count(*) FROM shard WHERE owner = _id);
    IF _want > 0 THEN
        RETURN QUERY WITH taken AS MATERIALIZED (
            SELECT f.id FROM shard f LEFT JOIN node k ON k.id = f.owner
            WHERE f.owner IS NULL OR k.dead ORDER BY f.id LIMIT _want FOR UPDATE OF f SKIP LOCKED)
        UPDATE shard s SET owner = _id FROM taken t WHERE s.id = t.id
        RETURNING s.id, s.low, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0;
    END IF;
    RETURN QUERY SELECT -1, 0::bigint, _live,
        (SELECT count(*) FROM node k WHERE NOT k.dead AND k.wants
            AND (SELECT count(*) FROM shard WHERE owner = k.id) < _count / greatest(_live, 1)),
        (SELECT count(*) FROM shard f WHERE NOT EXISTS (
            SELECT FROM node k WHERE k.id = f.owner AND NOT k.dead)),
        b.appended, (SELECT min(s.low) FROM shard s), b.is_sealed::int FROM batch b;
END $$;

-- The letters of a look: behind each sender's cursor. OFFSET 0 makes the step an index condition.
CREATE FUNCTION letters(_shards int[], _senders bigint[], _steps bigint[])
RETURNS TABLE (shard int, upto bigint, sender bigint, step bigint, body bytea)
LANGUAGE sql STABLE AS $$
    SELECT m.shard, m.upto, m.sender, m.step, m.body
    FROM node k LEFT JOIN unnest(_senders, _steps) c (sender, step) ON c.sender = k.id
    CROSS JOIN LATERAL (
        SELECT l.* FROM letter l WHERE l.sender = k.id AND l.step > coalesce(c.step, 0)
            AND l.shard = ANY (_shards) OFFSET 0) m
    ORDER BY m.step
$$;

-- The first row has shard -1, and the news: appended, done, is_sealed. Most lanes have a row: an
-- UPDATE writes less WAL than an INSERT that finds a conflict.
CREATE FUNCTION step(_id bigint, _key bytea, _number bigint, _leaves int,
    _lanes bigint[], _lane_shards int[], _last_seqs bigint[], _states bytea[],
    _effect_seqs bigint[], _parts int[], _effects bytea[],
    _outcome_seqs bigint[], _codes int[], _homes int[],
    _letter_shards int[], _uptos bigint[], _letters bytea[],
    _shards int[], _lows bigint[], _unneeded_shards int[], _unneeded_lows bigint[],
    _given_up int[], _look_shards int[], _cursor_senders bigint[], _cursor_steps bigint[])
RETURNS TABLE (shard int, upto bigint, sender bigint, step bigint, body bytea)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    _updated bigint;
BEGIN
    UPDATE node SET seen = clock_timestamp(), dead = _leaves <> 0
        WHERE id = _id AND key = _key AND pid = pg_backend_pid() AND NOT dead;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the node is fenced' USING ERRCODE = 'LPF01';
    END IF;
    IF cardinality(_lanes) > 0 THEN
        UPDATE lane l SET last_seq = u.last_seq, state = u.state
        FROM unnest(_lanes, _last_seqs, _states) u (id, last_seq, state) WHERE l.id = u.id;
        GET DIAGNOSTICS _updated = ROW_COUNT;
        IF _updated < cardinality(_lanes) THEN
            INSERT INTO lane SELECT * FROM unnest(_lanes, _lane_shards, _last_seqs, _states)
            ON CONFLICT (id) DO NOTHING;
        END IF;
    END IF;
    IF cardinality(_effect_seqs) > 0 THEN
        INSERT INTO effect SELECT * FROM unnest(_effect_seqs, _parts, _effects);
    END IF;
    IF cardinality(_outcome_seqs) > 0 THEN
        INSERT INTO outcome SELECT * FROM unnest(_outcome_seqs, _codes, _homes);
    END IF;
    IF cardinality(_letter_shards) > 0 THEN
        INSERT INTO letter SELECT u.shard, u.upto, _id, _number, u.body
        FROM unnest(_letter_shards, _uptos, _letters) u (shard, upto, body);
    END IF;
    IF cardinality(_shards) > 0 THEN
        UPDATE shard s SET low = u.low FROM unnest(_shards, _lows) u (id, low)
        WHERE s.id = u.id AND s.owner = _id;
    END IF;
    IF cardinality(_unneeded_shards) > 0 THEN
        DELETE FROM letter l USING unnest(_unneeded_shards, _unneeded_lows) u (shard, low)
        WHERE l.shard = u.shard AND l.upto <= u.low;
    END IF;
    IF cardinality(_given_up) > 0 THEN
        UPDATE shard s SET owner = NULL WHERE s.id = ANY (_given_up) AND s.owner = _id;
    END IF;
    RETURN QUERY SELECT -1, b.appended, 0::bigint, b.is_sealed::int::bigint, NULL::bytea FROM batch b;
    IF cardinality(_look_shards) > 0 THEN
        RETURN QUERY SELECT * FROM letters(_look_shards, _cursor_senders, _cursor_steps);
    END IF;
END $$;

-- All of one snapshot, in which the node is alive. Without a first row the node is fenced.
CREATE FUNCTION poll(_id bigint, _key bytea, _shards int[], _senders bigint[], _steps bigint[])
RETURNS TABLE (shard int, upto bigint, sender bigint, step bigint, body bytea)
LANGUAGE sql STABLE AS $$
    SELECT -1, b.appended, (SELECT min(s.low) FROM shard s), b.is_sealed::int::bigint, NULL::bytea
    FROM batch b WHERE (SELECT is_alive(_id, _key))
    UNION ALL
    SELECT m.* FROM letters(_shards, _senders, _steps) m WHERE (SELECT is_alive(_id, _key))
$$;

CREATE FUNCTION read_lanes(_id bigint, _key bytea, _shards int[])
RETURNS TABLE (shard int, lane bigint, last_seq bigint, state bytea) LANGUAGE sql STABLE AS $$
    SELECT -1, 0::bigint, 0::bigint, NULL::bytea WHERE (SELECT is_alive(_id, _key))
    UNION ALL
    SELECT l.shard, l.id, l.last_seq, l.state FROM lane l
    WHERE l.shard = ANY (_shards) AND (SELECT is_alive(_id, _key))
$$;

CREATE FUNCTION read_entries(_id bigint, _key bytea, _shards int[], _lows bigint[], _each_max bigint)
RETURNS TABLE (shard int, seq bigint, home int, has_outcome int, body bytea)
LANGUAGE sql STABLE AS $$
    SELECT -1, b.appended, b.is_sealed::int, 0, NULL::bytea FROM batch b
    WHERE (SELECT is_alive(_id, _key))
    UNION ALL
    SELECT e.* FROM unnest(_shards, _lows) u (shard, low)
    CROSS JOIN LATERAL (
        SELECT r.shard, r.seq, r.home,
            (EXISTS (SELECT FROM outcome o WHERE o.seq = r.seq))::int, r.body
        FROM entry r WHERE r.shard = u.shard AND r.seq > u.low ORDER BY r.seq LIMIT _each_max) e
    WHERE (SELECT is_alive(_id, _key))
$$;

CREATE FUNCTION read_letters(_id bigint, _key bytea, _shards int[], _lows bigint[])
RETURNS TABLE (shard int, upto bigint, sender bigint, step bigint, body bytea)
LANGUAGE sql STABLE AS $$
    SELECT -1, 0::bigint, 0::bigint, 0::bigint, NULL::bytea WHERE (SELECT is_alive(_id, _key))
    UNION ALL
    SELECT l.shard, l.upto, l.sender, l.step, l.body FROM unnest(_shards, _lows) u (shard, low)
    JOIN letter l ON l.shard = u.shard AND l.upto > u.low
    WHERE (SELECT is_alive(_id, _key))
$$;

-- A commit record that is flushed makes all earlier commits durable.
CREATE FUNCTION flush() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'on', true);
    PERFORM pg_logical_emit_message(true, 'lanepool', '');
END $$;

-- The lock on the row of `batch` makes the numbers gapless, and visible in their order. `_token`
-- has no bytes if there is none.
CREATE FUNCTION append(_token bytea, _count bigint, _shards int[], _indexes bigint[], _homes int[],
    _bodies bytea[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    _first bigint;
BEGIN
    PERFORM set_config('synchronous_commit', 'on', true);
    PERFORM FROM batch FOR UPDATE;
    SELECT first_seq INTO _first FROM append_token WHERE token = _token;
    IF FOUND THEN
        RETURN _first;
    END IF;
    UPDATE batch SET appended = appended + _count WHERE NOT is_sealed
        RETURNING appended - _count + 1 INTO _first;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the batch is sealed' USING ERRCODE = 'LPS01';
    END IF;
    INSERT INTO entry SELECT u.shard, _first + u.index, u.home, u.body
        FROM unnest(_shards, _indexes, _homes, _bodies) u (shard, index, home, body);
    IF length(_token) > 0 THEN
        INSERT INTO append_token VALUES (_token, _first);
    END IF;
    RETURN _first;
END $$;

CREATE FUNCTION seal() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'on', true);
    UPDATE batch SET is_sealed = true WHERE NOT is_sealed;
END $$;

-- Of one snapshot. kind 0: news (appended, done, is_sealed); 1: node (id, microseconds, is_dead,
-- name); 2: shard (id, owner, low); 3: entry (shard, seq, home, has_outcome, body); 4: outcome
-- (seq, code, home); 5: letter (shard, upto, sender, step, body).
CREATE FUNCTION read_status(_seq bigint)
RETURNS TABLE (kind int, a bigint, b bigint, c bigint, d bigint, bytes bytea)
LANGUAGE sql STABLE AS $$
    SELECT 0, b.appended, (SELECT min(low) FROM shard), b.is_sealed::int::bigint, 0::bigint,
        ''::bytea FROM batch b
    UNION ALL
    SELECT 1, k.id, greatest(0, extract(epoch FROM clock_timestamp() - k.seen) * 1000000)::bigint,
        k.dead::int::bigint, 0, k.name
    FROM node k WHERE NOT k.dead OR EXISTS (SELECT FROM shard s WHERE s.owner = k.id)
    UNION ALL
    SELECT 2, s.id, coalesce(s.owner, 0), s.low, 0, ''::bytea FROM shard s
    UNION ALL
    SELECT 3, e.shard, e.seq, e.home,
        (EXISTS (SELECT FROM outcome o WHERE o.seq = e.seq))::int::bigint, e.body
    FROM shard s JOIN entry e ON e.shard = s.id AND e.seq = _seq WHERE _seq > 0
    UNION ALL
    SELECT 4, o.seq, o.code, o.home, 0, ''::bytea FROM outcome o WHERE o.seq = _seq AND _seq > 0
    UNION ALL
    SELECT 5, l.shard, l.upto, l.sender, l.step, l.body
    FROM shard s JOIN entry e ON e.shard = s.id AND e.seq = _seq
    JOIN letter l ON l.shard = s.id AND l.upto >= _seq WHERE _seq > 0
$$;
