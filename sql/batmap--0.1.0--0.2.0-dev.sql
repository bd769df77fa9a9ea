\echo Use "ALTER EXTENSION batmap UPDATE TO '0.2.0-dev'" to load this file. \quit

-- What changes in the SQL objects of 0.1.0: every change of sql/batmap.sql has its statements here, too.

-- Episode counts: supports of episodes that add up over disjoint sets of streams -------------------

CREATE TYPE batmap_episode_counts;

CREATE FUNCTION _batmap_episode_counts_in(cstring) RETURNS batmap_episode_counts
AS 'MODULE_PATHNAME', 'batmap_episode_counts_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_episode_counts_out(batmap_episode_counts) RETURNS cstring
AS 'MODULE_PATHNAME', 'batmap_episode_counts_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_episode_counts_recv(internal) RETURNS batmap_episode_counts
AS 'MODULE_PATHNAME', 'batmap_episode_counts_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_episode_counts_send(batmap_episode_counts) RETURNS bytea
AS 'MODULE_PATHNAME', 'batmap_episode_counts_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE batmap_episode_counts (
    INPUT = _batmap_episode_counts_in,
    OUTPUT = _batmap_episode_counts_out,
    RECEIVE = _batmap_episode_counts_recv,
    SEND = _batmap_episode_counts_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = double,
    STORAGE = external
);
COMMENT ON TYPE batmap_episode_counts IS 'supports of episodes; add up over disjoint sets of streams';

CREATE FUNCTION batmap_episode_counts_from(
    query text,
    gaps anyarray,
    min_count int8 DEFAULT NULL,
    min_rate float8 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    same_time boolean DEFAULT false,
    candidates batmap_episode_counts DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS batmap_episode_counts
AS 'MODULE_PATHNAME', 'batmap_episode_counts_from' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000;
COMMENT ON FUNCTION batmap_episode_counts_from(text, anyarray, int8, float8, int4, int8[], int8[], text, boolean, batmap_episode_counts, record)
IS 'the frequent episodes of the (time, event [, stream]) rows of a query, or those in candidates, as counts that add up';

CREATE FUNCTION _batmap_episode_counts_of_part(
    query text,
    unit int4,
    ticks int8[],
    min_count int8,
    min_rate float8,
    max_length int4,
    include int8[],
    exclude int8[],
    counting text,
    same_time boolean,
    candidates batmap_episode_counts
)
RETURNS batmap_episode_counts
AS 'MODULE_PATHNAME', 'batmap_episode_counts_of_part' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000;
COMMENT ON FUNCTION _batmap_episode_counts_of_part(text, int4, int8[], int8, float8, int4, int8[], int8[], text, boolean, batmap_episode_counts)
IS 'what a part of batmap_distributed_episodes is asked: batmap_episode_counts_from, with gaps in ticks';

CREATE FUNCTION _batmap_episode_counts_merge(batmap_episode_counts, batmap_episode_counts) RETURNS batmap_episode_counts
AS 'MODULE_PATHNAME', 'batmap_episode_counts_merge' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_episode_counts_merge(batmap_episode_counts, batmap_episode_counts)
IS 'transition function of sum(batmap_episode_counts); NULLs are ignored';

CREATE FUNCTION _batmap_episode_counts_sum_final(batmap_episode_counts) RETURNS batmap_episode_counts
AS 'MODULE_PATHNAME', 'batmap_episode_counts_sum_final' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_episode_counts_sum_final(batmap_episode_counts) IS 'final function of sum(batmap_episode_counts)';

CREATE AGGREGATE sum(batmap_episode_counts) (
    SFUNC = _batmap_episode_counts_merge, STYPE = batmap_episode_counts, SSPACE = 65536,
    COMBINEFUNC = _batmap_episode_counts_merge,
    FINALFUNC = _batmap_episode_counts_sum_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE sum(batmap_episode_counts)
IS 'sum of the counts of disjoint sets of streams; NULLs are ignored';

CREATE FUNCTION _batmap_episode_counts_add(batmap_episode_counts, batmap_episode_counts) RETURNS batmap_episode_counts
AS 'MODULE_PATHNAME', 'batmap_episode_counts_add' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_episode_counts_add(batmap_episode_counts, batmap_episode_counts)
IS 'sum of the counts of two disjoint sets of streams';

CREATE OPERATOR + (
    FUNCTION = _batmap_episode_counts_add, LEFTARG = batmap_episode_counts, RIGHTARG = batmap_episode_counts,
    COMMUTATOR = +
);
COMMENT ON OPERATOR + (batmap_episode_counts, batmap_episode_counts) IS 'sum';

CREATE FUNCTION batmap_episode_counts_total(batmap_episode_counts) RETURNS int8
AS 'MODULE_PATHNAME', 'batmap_episode_counts_total' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION batmap_episode_counts_total(batmap_episode_counts) IS 'number of rows';

CREATE FUNCTION batmap_episode_counts_streams(batmap_episode_counts) RETURNS int8
AS 'MODULE_PATHNAME', 'batmap_episode_counts_streams' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION batmap_episode_counts_streams(batmap_episode_counts) IS 'number of streams';

CREATE FUNCTION batmap_episode_counts_episodes(batmap_episode_counts) RETURNS int8
AS 'MODULE_PATHNAME', 'batmap_episode_counts_episodes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION batmap_episode_counts_episodes(batmap_episode_counts) IS 'number of episodes';

CREATE FUNCTION _batmap_episodes_counts_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_episodes_counts_support' LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_episodes_counts_support(internal) IS 'planner support of batmap_episodes over episode counts';

CREATE FUNCTION batmap_episodes(
    counts batmap_episode_counts,
    gaps anyarray,
    min_count int8 DEFAULT NULL,
    min_rate float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    max_results int8 DEFAULT NULL
)
RETURNS TABLE (episode int8[], steps int4[], gap_low anyarray, gap_high anyarray, support_count int8)
AS 'MODULE_PATHNAME', 'batmap_episodes_counts' LANGUAGE C STABLE PARALLEL SAFE COST 1000 ROWS 10000
    SUPPORT _batmap_episodes_counts_support;
COMMENT ON FUNCTION batmap_episodes(batmap_episode_counts, anyarray, int8, float8, int4, int4, int8[], int8[], int8, int8)
IS 'frequent serial episodes of stored episode counts';

CREATE FUNCTION batmap_distributed_episode_counts(
    source text,
    gaps anyarray,
    min_count int8 DEFAULT NULL,
    min_rate float8 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    same_time boolean DEFAULT false,
    time_column name DEFAULT NULL,
    event_column name DEFAULT NULL,
    stream_column name DEFAULT NULL,
    servers text[] DEFAULT NULL,
    disjoint bool DEFAULT false
)
RETURNS batmap_episode_counts
AS 'MODULE_PATHNAME', 'batmap_distributed_episode_counts' LANGUAGE C STABLE PARALLEL UNSAFE COST 1000000;
COMMENT ON FUNCTION batmap_distributed_episode_counts(text, anyarray, int8, float8, int4, int8[], int8[], text, boolean, name, name, name, text[], bool)
IS 'exact counts of the frequent episodes of a table that lies on several servers';

CREATE FUNCTION batmap_distributed_episodes(
    source text,
    gaps anyarray,
    min_count int8 DEFAULT NULL,
    min_rate float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    same_time boolean DEFAULT false,
    time_column name DEFAULT NULL,
    event_column name DEFAULT NULL,
    stream_column name DEFAULT NULL,
    servers text[] DEFAULT NULL,
    disjoint bool DEFAULT false
)
RETURNS TABLE (episode int8[], steps int4[], gap_low anyarray, gap_high anyarray, support_count int8)
AS 'MODULE_PATHNAME', 'batmap_distributed_episodes' LANGUAGE C STABLE PARALLEL UNSAFE COST 1000000 ROWS 10000
    SUPPORT _batmap_episodes_counts_support;
COMMENT ON FUNCTION batmap_distributed_episodes(text, anyarray, int8, float8, int4, int4, int8[], int8[], int8, int8, text, boolean, name, name, name, text[], bool)
IS 'frequent serial episodes of a table whose streams lie on several servers';
