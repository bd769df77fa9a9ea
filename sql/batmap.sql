\echo Use "CREATE EXTENSION batmap" to load this file. \quit

-- Relations: a mergeable, compact set of (tid, item) pairs --------------------------------------

CREATE TYPE batmap_relation;

CREATE FUNCTION batmap_relation_in(cstring) RETURNS batmap_relation
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION batmap_relation_out(batmap_relation) RETURNS cstring
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION batmap_relation_recv(internal) RETURNS batmap_relation
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION batmap_relation_send(batmap_relation) RETURNS bytea
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE batmap_relation (
    INPUT = batmap_relation_in,
    OUTPUT = batmap_relation_out,
    RECEIVE = batmap_relation_recv,
    SEND = batmap_relation_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = double,
    STORAGE = external
);
COMMENT ON TYPE batmap_relation IS 'mergeable compact set of (tid, item) pairs';

CREATE FUNCTION batmap_relation_trans(batmap_relation, int4, int4) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_relation_trans_int4_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION batmap_relation_trans(batmap_relation, int4, int4) IS 'transition function of batmap_relation_agg';

CREATE FUNCTION batmap_relation_trans(batmap_relation, int4, int8) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_relation_trans_int4_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION batmap_relation_trans(batmap_relation, int4, int8) IS 'transition function of batmap_relation_agg';

CREATE FUNCTION batmap_relation_trans(batmap_relation, int8, int4) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_relation_trans_int8_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION batmap_relation_trans(batmap_relation, int8, int4) IS 'transition function of batmap_relation_agg';

CREATE FUNCTION batmap_relation_trans(batmap_relation, int8, int8) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_relation_trans_int8_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION batmap_relation_trans(batmap_relation, int8, int8) IS 'transition function of batmap_relation_agg';

CREATE FUNCTION batmap_relation_merge(batmap_relation, batmap_relation) RETURNS batmap_relation
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION batmap_relation_merge(batmap_relation, batmap_relation)
IS 'union of two relations; a NULL relation is empty';

CREATE FUNCTION batmap_relation_final(batmap_relation) RETURNS batmap_relation
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION batmap_relation_final(batmap_relation) IS 'final function of batmap_relation_agg';

CREATE AGGREGATE batmap_relation_agg(tid int4, item int4) (
    SFUNC = batmap_relation_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = batmap_relation_merge,
    FINALFUNC = batmap_relation_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_relation_agg(int4, int4) IS 'collects (tid, item) rows into a relation';

CREATE AGGREGATE batmap_relation_agg(tid int4, item int8) (
    SFUNC = batmap_relation_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = batmap_relation_merge,
    FINALFUNC = batmap_relation_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_relation_agg(int4, int8) IS 'collects (tid, item) rows into a relation';

CREATE AGGREGATE batmap_relation_agg(tid int8, item int4) (
    SFUNC = batmap_relation_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = batmap_relation_merge,
    FINALFUNC = batmap_relation_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_relation_agg(int8, int4) IS 'collects (tid, item) rows into a relation';

CREATE AGGREGATE batmap_relation_agg(tid int8, item int8) (
    SFUNC = batmap_relation_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = batmap_relation_merge,
    FINALFUNC = batmap_relation_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_relation_agg(int8, int8) IS 'collects (tid, item) rows into a relation';

CREATE AGGREGATE batmap_relation_agg(batmap_relation) (
    SFUNC = batmap_relation_merge, STYPE = batmap_relation, SSPACE = 65536,
    COMBINEFUNC = batmap_relation_merge,
    FINALFUNC = batmap_relation_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_relation_agg(batmap_relation) IS 'merges relations';

CREATE FUNCTION batmap_unnest(relation batmap_relation, OUT tid int8, OUT item int8) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'batmap_relation_unnest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 100000;
COMMENT ON FUNCTION batmap_unnest(batmap_relation) IS 'the distinct (tid, item) pairs of a relation, in order';

-- Frequent pairs --------------------------------------------------------------------------------

CREATE FUNCTION batmap_pairs_support(internal) RETURNS internal
AS 'MODULE_PATHNAME' LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION batmap_pairs_support(internal) IS 'planner support of batmap_pairs and batmap_pairs_of';

CREATE FUNCTION batmap_pairs(
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL)
RETURNS TABLE (item_a int8, item_b int8, support int8, support_a int8, support_b int8, total int8)
AS 'MODULE_PATHNAME', 'batmap_pairs_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT batmap_pairs_support;
COMMENT ON FUNCTION batmap_pairs(text, int8, float8, int8, int4, int8[], int8[], int8, text)
IS 'frequent pairs of the (tid, item) rows of a query';

CREATE FUNCTION batmap_pairs(
    relation batmap_relation,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL)
RETURNS TABLE (item_a int8, item_b int8, support int8, support_a int8, support_b int8, total int8)
AS 'MODULE_PATHNAME', 'batmap_pairs_relation' LANGUAGE C STABLE PARALLEL SAFE COST 10000 ROWS 100000
    SUPPORT batmap_pairs_support;
COMMENT ON FUNCTION batmap_pairs(batmap_relation, int8, float8, int8, int4, int8[], int8[], int8, text)
IS 'frequent pairs of a relation';

CREATE FUNCTION batmap_pairs_of(
    item_type anyelement,
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL)
RETURNS TABLE (item_a anyelement, item_b anyelement, support int8, support_a int8, support_b int8, total int8)
AS 'MODULE_PATHNAME', 'batmap_pairs_of_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT batmap_pairs_support;
COMMENT ON FUNCTION batmap_pairs_of(anyelement, text, int8, float8, int8, int4, text[], text[], int8, text)
IS 'frequent pairs of the (tid, item) rows of a query, for items of any hashable type';

CREATE TYPE batmap_pair AS (item_a int8, item_b int8, support int8);
COMMENT ON TYPE batmap_pair IS 'two items and the number of transactions that hold both';

CREATE FUNCTION batmap_pairs_trans(batmap_relation, int4, int4, int8) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_pairs_trans_int4_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION batmap_pairs_trans(batmap_relation, int4, int4, int8) IS 'transition function of batmap_pairs_agg';

CREATE FUNCTION batmap_pairs_trans(batmap_relation, int4, int8, int8) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_pairs_trans_int4_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION batmap_pairs_trans(batmap_relation, int4, int8, int8) IS 'transition function of batmap_pairs_agg';

CREATE FUNCTION batmap_pairs_trans(batmap_relation, int8, int4, int8) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_pairs_trans_int8_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION batmap_pairs_trans(batmap_relation, int8, int4, int8) IS 'transition function of batmap_pairs_agg';

CREATE FUNCTION batmap_pairs_trans(batmap_relation, int8, int8, int8) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_pairs_trans_int8_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION batmap_pairs_trans(batmap_relation, int8, int8, int8) IS 'transition function of batmap_pairs_agg';

CREATE FUNCTION batmap_pairs_final(batmap_relation) RETURNS batmap_pair[]
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION batmap_pairs_final(batmap_relation) IS 'final function of batmap_pairs_agg';

CREATE AGGREGATE batmap_pairs_agg(tid int4, item int4, min_count int8) (
    SFUNC = batmap_pairs_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = batmap_relation_merge,
    FINALFUNC = batmap_pairs_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pairs_agg(int4, int4, int8) IS 'frequent pairs of a group as an array';

CREATE AGGREGATE batmap_pairs_agg(tid int4, item int8, min_count int8) (
    SFUNC = batmap_pairs_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = batmap_relation_merge,
    FINALFUNC = batmap_pairs_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pairs_agg(int4, int8, int8) IS 'frequent pairs of a group as an array';

CREATE AGGREGATE batmap_pairs_agg(tid int8, item int4, min_count int8) (
    SFUNC = batmap_pairs_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = batmap_relation_merge,
    FINALFUNC = batmap_pairs_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pairs_agg(int8, int4, int8) IS 'frequent pairs of a group as an array';

CREATE AGGREGATE batmap_pairs_agg(tid int8, item int8, min_count int8) (
    SFUNC = batmap_pairs_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = batmap_relation_merge,
    FINALFUNC = batmap_pairs_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pairs_agg(int8, int8, int8) IS 'frequent pairs of a group as an array';

-- Seeing what happened --------------------------------------------------------------------------

CREATE FUNCTION batmap_last_run(
    OUT operation text,
    OUT method text,
    OUT kernel text,
    OUT device text,
    OUT reason text,
    OUT input text,
    OUT threads int4,
    OUT rows_read int8,
    OUT transactions int8,
    OUT items int8,
    OUT items_kept int8,
    OUT occurrences int8,
    OUT pair_instances int8,
    OUT results int8,
    OUT truncated bool,
    OUT read_ms float8,
    OUT group_ms float8,
    OUT count_ms float8,
    OUT answer_ms float8,
    OUT peak_memory int8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 1;
COMMENT ON FUNCTION batmap_last_run()
IS 'how the last batmap function of this session ran: method, sizes, times in ms, peak memory in bytes';
