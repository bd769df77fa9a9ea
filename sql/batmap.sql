\echo Use "CREATE EXTENSION batmap" to load this file. \quit

-- Relations: a mergeable, compact set of (tid, item) pairs --------------------------------------

CREATE TYPE batmap_relation;

CREATE FUNCTION _batmap_relation_in(cstring) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_relation_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_relation_out(batmap_relation) RETURNS cstring
AS 'MODULE_PATHNAME', 'batmap_relation_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_relation_recv(internal) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_relation_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_relation_send(batmap_relation) RETURNS bytea
AS 'MODULE_PATHNAME', 'batmap_relation_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE batmap_relation (
    INPUT = _batmap_relation_in,
    OUTPUT = _batmap_relation_out,
    RECEIVE = _batmap_relation_recv,
    SEND = _batmap_relation_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = double,
    STORAGE = external
);
COMMENT ON TYPE batmap_relation IS 'compact set of (tid, item) pairs that can be merged';

CREATE FUNCTION _batmap_relation_trans(batmap_relation, int4, int4) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_relation_trans_int4_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_relation_trans(batmap_relation, int4, int4) IS 'transition function of batmap_relation_agg';

CREATE FUNCTION _batmap_relation_trans(batmap_relation, int4, int8) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_relation_trans_int4_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_relation_trans(batmap_relation, int4, int8) IS 'transition function of batmap_relation_agg';

CREATE FUNCTION _batmap_relation_trans(batmap_relation, int8, int4) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_relation_trans_int8_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_relation_trans(batmap_relation, int8, int4) IS 'transition function of batmap_relation_agg';

CREATE FUNCTION _batmap_relation_trans(batmap_relation, int8, int8) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_relation_trans_int8_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_relation_trans(batmap_relation, int8, int8) IS 'transition function of batmap_relation_agg';

CREATE FUNCTION _batmap_relation_trans(batmap_relation, int4, text) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_relation_trans_int4_text' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_relation_trans(batmap_relation, int4, text) IS 'transition function of batmap_relation_agg';

CREATE FUNCTION _batmap_relation_trans(batmap_relation, int4, uuid) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_relation_trans_int4_uuid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_relation_trans(batmap_relation, int4, uuid) IS 'transition function of batmap_relation_agg';

CREATE FUNCTION _batmap_relation_trans(batmap_relation, int8, text) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_relation_trans_int8_text' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_relation_trans(batmap_relation, int8, text) IS 'transition function of batmap_relation_agg';

CREATE FUNCTION _batmap_relation_trans(batmap_relation, int8, uuid) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_relation_trans_int8_uuid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_relation_trans(batmap_relation, int8, uuid) IS 'transition function of batmap_relation_agg';

CREATE FUNCTION _batmap_relation_merge(batmap_relation, batmap_relation) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_relation_merge' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_relation_merge(batmap_relation, batmap_relation)
IS 'union of two relations; a NULL relation is empty';

CREATE OPERATOR | (
    FUNCTION = _batmap_relation_merge, LEFTARG = batmap_relation, RIGHTARG = batmap_relation,
    COMMUTATOR = |
);
COMMENT ON OPERATOR | (batmap_relation, batmap_relation) IS 'union; a NULL relation is empty';

CREATE FUNCTION _batmap_relation_final(batmap_relation) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_relation_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_relation_final(batmap_relation) IS 'final function of batmap_relation_agg';

CREATE AGGREGATE batmap_relation_agg(tid int4, item int4) (
    SFUNC = _batmap_relation_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_relation_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_relation_agg(int4, int4) IS 'collects (tid, item) rows into a relation';

CREATE AGGREGATE batmap_relation_agg(tid int4, item int8) (
    SFUNC = _batmap_relation_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_relation_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_relation_agg(int4, int8) IS 'collects (tid, item) rows into a relation';

CREATE AGGREGATE batmap_relation_agg(tid int8, item int4) (
    SFUNC = _batmap_relation_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_relation_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_relation_agg(int8, int4) IS 'collects (tid, item) rows into a relation';

CREATE AGGREGATE batmap_relation_agg(tid int8, item int8) (
    SFUNC = _batmap_relation_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_relation_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_relation_agg(int8, int8) IS 'collects (tid, item) rows into a relation';

CREATE AGGREGATE batmap_relation_agg(tid int4, item text) (
    SFUNC = _batmap_relation_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_relation_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_relation_agg(int4, text) IS 'collects (tid, item) rows into a relation of text items';

CREATE AGGREGATE batmap_relation_agg(tid int4, item uuid) (
    SFUNC = _batmap_relation_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_relation_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_relation_agg(int4, uuid) IS 'collects (tid, item) rows into a relation of text items, the texts of uuids';

CREATE AGGREGATE batmap_relation_agg(tid int8, item text) (
    SFUNC = _batmap_relation_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_relation_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_relation_agg(int8, text) IS 'collects (tid, item) rows into a relation of text items';

CREATE AGGREGATE batmap_relation_agg(tid int8, item uuid) (
    SFUNC = _batmap_relation_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_relation_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_relation_agg(int8, uuid) IS 'collects (tid, item) rows into a relation of text items, the texts of uuids';

CREATE AGGREGATE batmap_relation_agg(batmap_relation) (
    SFUNC = _batmap_relation_merge, STYPE = batmap_relation, SSPACE = 65536,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_relation_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_relation_agg(batmap_relation) IS 'merges relations';

CREATE FUNCTION batmap_unnest(relation batmap_relation, OUT tid int8, OUT item int8) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'batmap_relation_unnest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 100000;
COMMENT ON FUNCTION batmap_unnest(batmap_relation) IS 'the distinct (tid, item) pairs of a relation, sorted';

CREATE FUNCTION batmap_unnest_of(relation batmap_relation, OUT tid int8, OUT item text) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'batmap_relation_unnest_of' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 100000;
COMMENT ON FUNCTION batmap_unnest_of(batmap_relation) IS 'the distinct (tid, item) pairs of a relation of text items, sorted';

-- Frequent pairs --------------------------------------------------------------------------------

CREATE FUNCTION _batmap_stream_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_stream_support' LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_stream_support(internal) IS 'planner support of table functions whose number of rows no argument limits';

CREATE FUNCTION _batmap_pairs_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_pairs_support' LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_pairs_support(internal) IS 'planner support of batmap_pairs and batmap_pairs_of';

CREATE FUNCTION batmap_pairs(
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (item_a int8, item_b int8, support_count int8, count_a int8, count_b int8, total int8,
    support float8, confidence float8, confidence_ba float8, lift float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_pairs_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_pairs_support;
COMMENT ON FUNCTION batmap_pairs(text, int8, float8, int8[], int8[], int8, int4, text, int8, text, text, name, name, record)
IS 'frequent pairs of the (tid, item) rows of a query';

CREATE FUNCTION batmap_pairs(
    input_table regclass,
    tid_column name,
    item_column name,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL
)
RETURNS TABLE (item_a int8, item_b int8, support_count int8, count_a int8, count_b int8, total int8,
    support float8, confidence float8, confidence_ba float8, lift float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_pairs_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_pairs_support;
COMMENT ON FUNCTION batmap_pairs(regclass, name, name, int8, float8, int8[], int8[], int8, int4, text, int8, text, text)
IS 'frequent pairs of two columns of a table';

CREATE FUNCTION batmap_pairs(
    query text,
    tid text,
    item text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (item_a int8, item_b int8, support_count int8, count_a int8, count_b int8, total int8,
    support float8, confidence float8, confidence_ba float8, lift float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_pairs_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_pairs_support;
COMMENT ON FUNCTION batmap_pairs(text, text, text, int8, float8, int8[], int8[], int8, int4, text, int8, text, text, record)
IS 'frequent pairs of two columns of a query';

CREATE FUNCTION batmap_pairs(
    relation batmap_relation,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL
)
RETURNS TABLE (item_a int8, item_b int8, support_count int8, count_a int8, count_b int8, total int8,
    support float8, confidence float8, confidence_ba float8, lift float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_pairs_relation' LANGUAGE C STABLE PARALLEL SAFE COST 10000 ROWS 100000
    SUPPORT _batmap_pairs_support;
COMMENT ON FUNCTION batmap_pairs(batmap_relation, int8, float8, int8[], int8[], int8, int4, text, int8, text, text)
IS 'frequent pairs of a relation';

CREATE FUNCTION batmap_pairs_of(
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (item_a text, item_b text, support_count int8, count_a int8, count_b int8, total int8,
    support float8, confidence float8, confidence_ba float8, lift float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_pairs_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_pairs_support;
COMMENT ON FUNCTION batmap_pairs_of(text, int8, float8, text[], text[], int8, int4, text, int8, text, text, name, name, record)
IS 'frequent pairs of the (tid, item) rows of a query, for text items';

CREATE FUNCTION batmap_pairs_of(
    input_table regclass,
    tid_column name,
    item_column name,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL
)
RETURNS TABLE (item_a text, item_b text, support_count int8, count_a int8, count_b int8, total int8,
    support float8, confidence float8, confidence_ba float8, lift float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_pairs_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_pairs_support;
COMMENT ON FUNCTION batmap_pairs_of(regclass, name, name, int8, float8, text[], text[], int8, int4, text, int8, text, text)
IS 'frequent pairs of two columns of a table, for text items';

CREATE FUNCTION batmap_pairs_of(
    query text,
    tid text,
    item text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (item_a text, item_b text, support_count int8, count_a int8, count_b int8, total int8,
    support float8, confidence float8, confidence_ba float8, lift float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_pairs_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_pairs_support;
COMMENT ON FUNCTION batmap_pairs_of(text, text, text, int8, float8, text[], text[], int8, int4, text, int8, text, text, record)
IS 'frequent pairs of two columns of a query, for text items';

CREATE FUNCTION batmap_pairs_as(
    item_type anyelement,
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (item_a anyelement, item_b anyelement, support_count int8, count_a int8, count_b int8, total int8,
    support float8, confidence float8, confidence_ba float8, lift float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_pairs_as_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_pairs_support;
COMMENT ON FUNCTION batmap_pairs_as(anyelement, text, int8, float8, text[], text[], int8, int4, text, int8, text, text, name, name, record)
IS 'frequent pairs of the (tid, item) rows of a query, for items of any hashable type';

CREATE FUNCTION batmap_pairs_of(
    relation batmap_relation,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL
)
RETURNS TABLE (item_a text, item_b text, support_count int8, count_a int8, count_b int8, total int8,
    support float8, confidence float8, confidence_ba float8, lift float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_pairs_text_relation' LANGUAGE C STABLE PARALLEL SAFE COST 10000 ROWS 100000
    SUPPORT _batmap_pairs_support;
COMMENT ON FUNCTION batmap_pairs_of(batmap_relation, int8, float8, text[], text[], int8, int4, text, int8, text, text)
IS 'frequent pairs of a relation of text items';

CREATE FUNCTION batmap_pairs_as(
    item_type anyelement,
    relation batmap_relation,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL
)
RETURNS TABLE (item_a anyelement, item_b anyelement, support_count int8, count_a int8, count_b int8, total int8,
    support float8, confidence float8, confidence_ba float8, lift float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_pairs_as_relation' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 100000
    SUPPORT _batmap_pairs_support;
COMMENT ON FUNCTION batmap_pairs_as(anyelement, batmap_relation, int8, float8, text[], text[], int8, int4, text, int8, text, text)
IS 'frequent pairs of a relation of text items, as values of a type';

-- Partners ----------------------------------------------------------------------------------------

CREATE FUNCTION _batmap_partners_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_partners_support' LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_partners_support(internal) IS 'planner support of batmap_partners and batmap_partners_of';

CREATE FUNCTION batmap_partners(
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    items int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence',
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (item int8, partner int8, rank int8, support_count int8, score float8)
AS 'MODULE_PATHNAME', 'batmap_partners_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_partners_support;
COMMENT ON FUNCTION batmap_partners(text, int8, float8, int8[], int8[], int8, text, int8, text, text, name, name, record)
IS 'the best partners of each item in the (tid, item) rows of a query';

CREATE FUNCTION batmap_partners(
    input_table regclass,
    tid_column name,
    item_column name,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    items int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence',
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL
)
RETURNS TABLE (item int8, partner int8, rank int8, support_count int8, score float8)
AS 'MODULE_PATHNAME', 'batmap_partners_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_partners_support;
COMMENT ON FUNCTION batmap_partners(regclass, name, name, int8, float8, int8[], int8[], int8, text, int8, text, text)
IS 'the best partners of each item in two columns of a table';

CREATE FUNCTION batmap_partners(
    query text,
    tid text,
    item text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    items int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence',
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (item int8, partner int8, rank int8, support_count int8, score float8)
AS 'MODULE_PATHNAME', 'batmap_partners_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_partners_support;
COMMENT ON FUNCTION batmap_partners(text, text, text, int8, float8, int8[], int8[], int8, text, int8, text, text, record)
IS 'the best partners of each item in two columns of a query';

CREATE FUNCTION batmap_partners(
    relation batmap_relation,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    items int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence',
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL
)
RETURNS TABLE (item int8, partner int8, rank int8, support_count int8, score float8)
AS 'MODULE_PATHNAME', 'batmap_partners_relation' LANGUAGE C STABLE PARALLEL SAFE COST 10000 ROWS 10000
    SUPPORT _batmap_partners_support;
COMMENT ON FUNCTION batmap_partners(batmap_relation, int8, float8, int8[], int8[], int8, text, int8, text, text)
IS 'the best partners of each item in a relation';

CREATE FUNCTION batmap_partners_of(
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    items text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence',
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (item text, partner text, rank int8, support_count int8, score float8)
AS 'MODULE_PATHNAME', 'batmap_partners_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_partners_support;
COMMENT ON FUNCTION batmap_partners_of(text, int8, float8, text[], text[], int8, text, int8, text, text, name, name, record)
IS 'the best partners of each item in the (tid, item) rows of a query, for text items';

CREATE FUNCTION batmap_partners_of(
    input_table regclass,
    tid_column name,
    item_column name,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    items text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence',
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL
)
RETURNS TABLE (item text, partner text, rank int8, support_count int8, score float8)
AS 'MODULE_PATHNAME', 'batmap_partners_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_partners_support;
COMMENT ON FUNCTION batmap_partners_of(regclass, name, name, int8, float8, text[], text[], int8, text, int8, text, text)
IS 'the best partners of each item in two columns of a table, for text items';

CREATE FUNCTION batmap_partners_of(
    query text,
    tid text,
    item text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    items text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence',
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (item text, partner text, rank int8, support_count int8, score float8)
AS 'MODULE_PATHNAME', 'batmap_partners_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_partners_support;
COMMENT ON FUNCTION batmap_partners_of(text, text, text, int8, float8, text[], text[], int8, text, int8, text, text, record)
IS 'the best partners of each item in two columns of a query, for text items';

CREATE FUNCTION batmap_partners_as(
    item_type anyelement,
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    items text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence',
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (item anyelement, partner anyelement, rank int8, support_count int8, score float8)
AS 'MODULE_PATHNAME', 'batmap_partners_as_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_partners_support;
COMMENT ON FUNCTION batmap_partners_as(anyelement, text, int8, float8, text[], text[], int8, text, int8, text, text, name, name, record)
IS 'the best partners of each item in the (tid, item) rows of a query, for items of any hashable type';

CREATE FUNCTION batmap_partners_of(
    relation batmap_relation,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    items text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence',
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL
)
RETURNS TABLE (item text, partner text, rank int8, support_count int8, score float8)
AS 'MODULE_PATHNAME', 'batmap_partners_text_relation' LANGUAGE C STABLE PARALLEL SAFE COST 10000 ROWS 10000
    SUPPORT _batmap_partners_support;
COMMENT ON FUNCTION batmap_partners_of(batmap_relation, int8, float8, text[], text[], int8, text, int8, text, text)
IS 'the best partners of each item in a relation of text items';

CREATE FUNCTION batmap_partners_as(
    item_type anyelement,
    relation batmap_relation,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    items text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence',
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL
)
RETURNS TABLE (item anyelement, partner anyelement, rank int8, support_count int8, score float8)
AS 'MODULE_PATHNAME', 'batmap_partners_as_relation' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 10000
    SUPPORT _batmap_partners_support;
COMMENT ON FUNCTION batmap_partners_as(anyelement, batmap_relation, int8, float8, text[], text[], int8, text, int8, text, text)
IS 'the best partners of each item in a relation of text items, as values of a type';

CREATE FUNCTION _batmap_itemsets_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_itemsets_support' LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_itemsets_support(internal) IS 'planner support of batmap_itemsets and batmap_itemsets_of';

CREATE FUNCTION batmap_itemsets(
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    algorithm text DEFAULT 'auto',
    device text DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (itemset int8[], length int4, support_count int8, support float8, total int8)
AS 'MODULE_PATHNAME', 'batmap_itemsets_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_itemsets_support;
COMMENT ON FUNCTION batmap_itemsets(text, int8, float8, float8, int4, int4, text, int8[], int8[], int8, int8, interval, text, text, name, name, record)
IS 'frequent itemsets of the (tid, item) rows of a query';

CREATE FUNCTION batmap_itemsets(
    input_table regclass,
    tid_column name,
    item_column name,
    min_count float8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    algorithm text DEFAULT 'auto',
    device text DEFAULT NULL
)
RETURNS TABLE (itemset int8[], length int4, support_count int8, support float8, total int8)
AS 'MODULE_PATHNAME', 'batmap_itemsets_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_itemsets_support;
COMMENT ON FUNCTION batmap_itemsets(regclass, name, name, float8, float8, float8, int4, int4, text, int8[], int8[], int8, int8, interval, text, text)
IS 'frequent itemsets of two columns of a table';

CREATE FUNCTION batmap_itemsets(
    query text,
    tid text,
    item text,
    min_count float8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    algorithm text DEFAULT 'auto',
    device text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (itemset int8[], length int4, support_count int8, support float8, total int8)
AS 'MODULE_PATHNAME', 'batmap_itemsets_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_itemsets_support;
COMMENT ON FUNCTION batmap_itemsets(text, text, text, float8, float8, float8, int4, int4, text, int8[], int8[], int8, int8, interval, text, text, record)
IS 'frequent itemsets of two columns of a query';

CREATE FUNCTION batmap_itemsets(
    relation batmap_relation,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    algorithm text DEFAULT 'auto',
    device text DEFAULT NULL
)
RETURNS TABLE (itemset int8[], length int4, support_count int8, support float8, total int8)
AS 'MODULE_PATHNAME', 'batmap_itemsets_relation' LANGUAGE C STABLE PARALLEL SAFE COST 10000 ROWS 100000
    SUPPORT _batmap_itemsets_support;
COMMENT ON FUNCTION batmap_itemsets(batmap_relation, int8, float8, float8, int4, int4, text, int8[], int8[], int8, int8, interval, text, text)
IS 'frequent itemsets of a relation';

CREATE FUNCTION batmap_itemsets_of(
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    algorithm text DEFAULT 'auto',
    device text DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (itemset text[], length int4, support_count int8, support float8, total int8)
AS 'MODULE_PATHNAME', 'batmap_itemsets_text_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_itemsets_support;
COMMENT ON FUNCTION batmap_itemsets_of(text, int8, float8, float8, int4, int4, text, text[], text[], int8, int8, interval, text, text, name, name, record)
IS 'frequent itemsets of the (tid, item) rows of a query, for text items';

CREATE FUNCTION batmap_itemsets_of(
    input_table regclass,
    tid_column name,
    item_column name,
    min_count float8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    algorithm text DEFAULT 'auto',
    device text DEFAULT NULL
)
RETURNS TABLE (itemset text[], length int4, support_count int8, support float8, total int8)
AS 'MODULE_PATHNAME', 'batmap_itemsets_text_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_itemsets_support;
COMMENT ON FUNCTION batmap_itemsets_of(regclass, name, name, float8, float8, float8, int4, int4, text, text[], text[], int8, int8, interval, text, text)
IS 'frequent itemsets of two columns of a table, for text items';

CREATE FUNCTION batmap_itemsets_of(
    query text,
    tid text,
    item text,
    min_count float8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    algorithm text DEFAULT 'auto',
    device text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (itemset text[], length int4, support_count int8, support float8, total int8)
AS 'MODULE_PATHNAME', 'batmap_itemsets_text_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_itemsets_support;
COMMENT ON FUNCTION batmap_itemsets_of(text, text, text, float8, float8, float8, int4, int4, text, text[], text[], int8, int8, interval, text, text, record)
IS 'frequent itemsets of two columns of a query, for text items';

CREATE FUNCTION batmap_itemsets_as(
    item_type anyelement,
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    algorithm text DEFAULT 'auto',
    device text DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (itemset anyarray, length int4, support_count int8, support float8, total int8)
AS 'MODULE_PATHNAME', 'batmap_itemsets_as_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_itemsets_support;
COMMENT ON FUNCTION batmap_itemsets_as(anyelement, text, int8, float8, float8, int4, int4, text, text[], text[], int8, int8, interval, text, text, name, name, record)
IS 'frequent itemsets of the (tid, item) rows of a query, for items of any hashable type';

CREATE FUNCTION batmap_itemsets_of(
    relation batmap_relation,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    algorithm text DEFAULT 'auto',
    device text DEFAULT NULL
)
RETURNS TABLE (itemset text[], length int4, support_count int8, support float8, total int8)
AS 'MODULE_PATHNAME', 'batmap_itemsets_text_relation' LANGUAGE C STABLE PARALLEL SAFE COST 10000 ROWS 100000
    SUPPORT _batmap_itemsets_support;
COMMENT ON FUNCTION batmap_itemsets_of(batmap_relation, int8, float8, float8, int4, int4, text, text[], text[], int8, int8, interval, text, text)
IS 'frequent itemsets of a relation of text items';

CREATE FUNCTION batmap_itemsets_as(
    item_type anyelement,
    relation batmap_relation,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    algorithm text DEFAULT 'auto',
    device text DEFAULT NULL
)
RETURNS TABLE (itemset anyarray, length int4, support_count int8, support float8, total int8)
AS 'MODULE_PATHNAME', 'batmap_itemsets_as_relation' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 100000
    SUPPORT _batmap_itemsets_support;
COMMENT ON FUNCTION batmap_itemsets_as(anyelement, batmap_relation, int8, float8, float8, int4, int4, text, text[], text[], int8, int8, interval, text, text)
IS 'frequent itemsets of a relation of text items, as values of a type';

CREATE FUNCTION batmap_itemset_spectrum(
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (length int4, support_count int8, support float8, itemsets int8)
AS 'MODULE_PATHNAME', 'batmap_itemset_spectrum_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_itemset_spectrum(text, int8, float8, float8, int4, int4, text, int8[], int8[], name, name, record)
IS 'number of frequent itemsets of each length and support in the (tid, item) rows of a query';

CREATE FUNCTION batmap_itemset_spectrum(
    input_table regclass,
    tid_column name,
    item_column name,
    min_count float8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL
)
RETURNS TABLE (length int4, support_count int8, support float8, itemsets int8)
AS 'MODULE_PATHNAME', 'batmap_itemset_spectrum_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_itemset_spectrum(regclass, name, name, float8, float8, float8, int4, int4, text, int8[], int8[])
IS 'number of frequent itemsets of each length and support in two columns of a table';

CREATE FUNCTION batmap_itemset_spectrum(
    query text,
    tid text,
    item text,
    min_count float8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (length int4, support_count int8, support float8, itemsets int8)
AS 'MODULE_PATHNAME', 'batmap_itemset_spectrum_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_itemset_spectrum(text, text, text, float8, float8, float8, int4, int4, text, int8[], int8[], record)
IS 'number of frequent itemsets of each length and support in two columns of a query';

CREATE FUNCTION batmap_itemset_spectrum(
    relation batmap_relation,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL
)
RETURNS TABLE (length int4, support_count int8, support float8, itemsets int8)
AS 'MODULE_PATHNAME', 'batmap_itemset_spectrum_relation' LANGUAGE C STABLE PARALLEL SAFE COST 10000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_itemset_spectrum(batmap_relation, int8, float8, float8, int4, int4, text, int8[], int8[])
IS 'number of frequent itemsets of each length and support in a relation';

CREATE FUNCTION batmap_itemset_spectrum_of(
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (length int4, support_count int8, support float8, itemsets int8)
AS 'MODULE_PATHNAME', 'batmap_itemset_spectrum_text_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_itemset_spectrum_of(text, int8, float8, float8, int4, int4, text, text[], text[], name, name, record)
IS 'number of frequent itemsets of each length and support in the (tid, item) rows of a query, for text items';

CREATE FUNCTION batmap_itemset_spectrum_of(
    input_table regclass,
    tid_column name,
    item_column name,
    min_count float8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL
)
RETURNS TABLE (length int4, support_count int8, support float8, itemsets int8)
AS 'MODULE_PATHNAME', 'batmap_itemset_spectrum_text_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_itemset_spectrum_of(regclass, name, name, float8, float8, float8, int4, int4, text, text[], text[])
IS 'number of frequent itemsets of each length and support in two columns of a table, for text items';

CREATE FUNCTION batmap_itemset_spectrum_of(
    query text,
    tid text,
    item text,
    min_count float8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (length int4, support_count int8, support float8, itemsets int8)
AS 'MODULE_PATHNAME', 'batmap_itemset_spectrum_text_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_itemset_spectrum_of(text, text, text, float8, float8, float8, int4, int4, text, text[], text[], record)
IS 'number of frequent itemsets of each length and support in two columns of a query, for text items';

CREATE FUNCTION batmap_itemset_spectrum_as(
    item_type anyelement,
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (length int4, support_count int8, support float8, itemsets int8)
AS 'MODULE_PATHNAME', 'batmap_itemset_spectrum_as_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_itemset_spectrum_as(anyelement, text, int8, float8, float8, int4, int4, text, text[], text[], name, name, record)
IS 'number of frequent itemsets of each length and support in the (tid, item) rows of a query, for items of any hashable type';

CREATE FUNCTION batmap_itemset_spectrum_of(
    relation batmap_relation,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL
)
RETURNS TABLE (length int4, support_count int8, support float8, itemsets int8)
AS 'MODULE_PATHNAME', 'batmap_itemset_spectrum_text_relation' LANGUAGE C STABLE PARALLEL SAFE COST 10000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_itemset_spectrum_of(batmap_relation, int8, float8, float8, int4, int4, text, text[], text[])
IS 'number of frequent itemsets of each length and support in a relation of text items';

CREATE FUNCTION batmap_itemset_spectrum_as(
    item_type anyelement,
    relation batmap_relation,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL
)
RETURNS TABLE (length int4, support_count int8, support float8, itemsets int8)
AS 'MODULE_PATHNAME', 'batmap_itemset_spectrum_as_relation' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_itemset_spectrum_as(anyelement, batmap_relation, int8, float8, float8, int4, int4, text, text[], text[])
IS 'number of frequent itemsets of each length and support in a relation of text items, as values of a type';

CREATE FUNCTION batmap_itemset_estimate(
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    timeout interval DEFAULT '1 second',
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (
    itemsets float8, standard_error float8, exact bool, transactions int8, items int8, items_kept int8, rows_kept int8)
AS 'MODULE_PATHNAME', 'batmap_itemset_estimate_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_itemset_estimate(text, int8, float8, float8, int4, int4, int8[], int8[], interval, name, name, record)
IS 'number of frequent itemsets: exact, or, if counting takes too long, estimated from random paths through the search';

CREATE FUNCTION batmap_itemset_estimate(
    input_table regclass,
    tid_column name,
    item_column name,
    min_count float8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    timeout interval DEFAULT '1 second'
)
RETURNS TABLE (
    itemsets float8, standard_error float8, exact bool, transactions int8, items int8, items_kept int8, rows_kept int8)
AS 'MODULE_PATHNAME', 'batmap_itemset_estimate_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_itemset_estimate(regclass, name, name, float8, float8, float8, int4, int4, int8[], int8[], interval)
IS 'number of frequent itemsets in a table: exact, or estimated if counting takes too long';

CREATE FUNCTION batmap_itemset_estimate(
    query text,
    tid text,
    item text,
    min_count float8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    timeout interval DEFAULT '1 second',
    params record DEFAULT NULL
)
RETURNS TABLE (
    itemsets float8, standard_error float8, exact bool, transactions int8, items int8, items_kept int8, rows_kept int8)
AS 'MODULE_PATHNAME', 'batmap_itemset_estimate_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_itemset_estimate(text, text, text, float8, float8, float8, int4, int4, int8[], int8[], interval, record)
IS 'number of frequent itemsets in two columns of a query: exact, or estimated if counting takes too long';

CREATE FUNCTION batmap_itemset_estimate_of(
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    timeout interval DEFAULT '1 second',
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (
    itemsets float8, standard_error float8, exact bool, transactions int8, items int8, items_kept int8, rows_kept int8)
AS 'MODULE_PATHNAME', 'batmap_itemset_estimate_text_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_itemset_estimate_of(text, int8, float8, float8, int4, int4, text[], text[], interval, name, name, record)
IS 'number of frequent itemsets, as batmap_itemset_estimate, for text items';

CREATE FUNCTION batmap_itemset_estimate_of(
    input_table regclass,
    tid_column name,
    item_column name,
    min_count float8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    timeout interval DEFAULT '1 second'
)
RETURNS TABLE (
    itemsets float8, standard_error float8, exact bool, transactions int8, items int8, items_kept int8, rows_kept int8)
AS 'MODULE_PATHNAME', 'batmap_itemset_estimate_text_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_itemset_estimate_of(regclass, name, name, float8, float8, float8, int4, int4, text[], text[], interval)
IS 'number of frequent itemsets in a table, for text items';

CREATE FUNCTION batmap_itemset_estimate_of(
    query text,
    tid text,
    item text,
    min_count float8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    timeout interval DEFAULT '1 second',
    params record DEFAULT NULL
)
RETURNS TABLE (
    itemsets float8, standard_error float8, exact bool, transactions int8, items int8, items_kept int8, rows_kept int8)
AS 'MODULE_PATHNAME', 'batmap_itemset_estimate_text_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_itemset_estimate_of(text, text, text, float8, float8, float8, int4, int4, text[], text[], interval, record)
IS 'number of frequent itemsets in two columns of a query, for text items';

CREATE FUNCTION batmap_itemset_estimate_as(
    item_type anyelement,
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    timeout interval DEFAULT '1 second',
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (
    itemsets float8, standard_error float8, exact bool, transactions int8, items int8, items_kept int8, rows_kept int8)
AS 'MODULE_PATHNAME', 'batmap_itemset_estimate_as_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_itemset_estimate_as(anyelement, text, int8, float8, float8, int4, int4, text[], text[], interval, name, name, record)
IS 'number of frequent itemsets, as batmap_itemset_estimate, for items of any hashable type';

CREATE FUNCTION _batmap_rules_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_rules_support' LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_rules_support(internal) IS 'planner support of batmap_rules and batmap_rules_of';

CREATE FUNCTION batmap_rules(
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT NULL,
    max_rhs int4 DEFAULT 1,
    lhs_include int8[] DEFAULT NULL,
    lhs_exclude int8[] DEFAULT NULL,
    rhs_include int8[] DEFAULT NULL,
    rhs_exclude int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    device text DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (
    lhs int8[], rhs int8[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    support float8, confidence float8, lift float8, leverage float8, conviction float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_scored_rules_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_rules_support;
COMMENT ON FUNCTION batmap_rules(text, int8, float8, float8, float8, int4, int4, int8[], int8[], int8[], int8[], int8[], int8, text, int8, interval, text, name, name, record)
IS 'association rules of the (tid, item) rows of a query';

CREATE FUNCTION batmap_rules(
    input_table regclass,
    tid_column name,
    item_column name,
    min_count float8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT NULL,
    max_rhs int4 DEFAULT 1,
    lhs_include int8[] DEFAULT NULL,
    lhs_exclude int8[] DEFAULT NULL,
    rhs_include int8[] DEFAULT NULL,
    rhs_exclude int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    device text DEFAULT NULL
)
RETURNS TABLE (
    lhs int8[], rhs int8[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    support float8, confidence float8, lift float8, leverage float8, conviction float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_scored_rules_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_rules_support;
COMMENT ON FUNCTION batmap_rules(regclass, name, name, float8, float8, float8, float8, int4, int4, int8[], int8[], int8[], int8[], int8[], int8, text, int8, interval, text)
IS 'association rules of two columns of a table';

CREATE FUNCTION batmap_rules(
    query text,
    tid text,
    item text,
    min_count float8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT NULL,
    max_rhs int4 DEFAULT 1,
    lhs_include int8[] DEFAULT NULL,
    lhs_exclude int8[] DEFAULT NULL,
    rhs_include int8[] DEFAULT NULL,
    rhs_exclude int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    device text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (
    lhs int8[], rhs int8[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    support float8, confidence float8, lift float8, leverage float8, conviction float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_scored_rules_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_rules_support;
COMMENT ON FUNCTION batmap_rules(text, text, text, float8, float8, float8, float8, int4, int4, int8[], int8[], int8[], int8[], int8[], int8, text, int8, interval, text, record)
IS 'association rules of two columns of a query';

CREATE FUNCTION batmap_rules(
    relation batmap_relation,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT NULL,
    max_rhs int4 DEFAULT 1,
    lhs_include int8[] DEFAULT NULL,
    lhs_exclude int8[] DEFAULT NULL,
    rhs_include int8[] DEFAULT NULL,
    rhs_exclude int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    device text DEFAULT NULL
)
RETURNS TABLE (
    lhs int8[], rhs int8[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    support float8, confidence float8, lift float8, leverage float8, conviction float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_scored_rules_relation' LANGUAGE C STABLE PARALLEL SAFE COST 10000 ROWS 100000
    SUPPORT _batmap_rules_support;
COMMENT ON FUNCTION batmap_rules(batmap_relation, int8, float8, float8, float8, int4, int4, int8[], int8[], int8[], int8[], int8[], int8, text, int8, interval, text)
IS 'association rules of a relation';

CREATE FUNCTION batmap_rules_of(
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT NULL,
    max_rhs int4 DEFAULT 1,
    lhs_include text[] DEFAULT NULL,
    lhs_exclude text[] DEFAULT NULL,
    rhs_include text[] DEFAULT NULL,
    rhs_exclude text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    device text DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (
    lhs text[], rhs text[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    support float8, confidence float8, lift float8, leverage float8, conviction float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_scored_rules_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_rules_support;
COMMENT ON FUNCTION batmap_rules_of(text, int8, float8, float8, float8, int4, int4, text[], text[], text[], text[], text[], int8, text, int8, interval, text, name, name, record)
IS 'association rules of the (tid, item) rows of a query, for text items';

CREATE FUNCTION batmap_rules_of(
    input_table regclass,
    tid_column name,
    item_column name,
    min_count float8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT NULL,
    max_rhs int4 DEFAULT 1,
    lhs_include text[] DEFAULT NULL,
    lhs_exclude text[] DEFAULT NULL,
    rhs_include text[] DEFAULT NULL,
    rhs_exclude text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    device text DEFAULT NULL
)
RETURNS TABLE (
    lhs text[], rhs text[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    support float8, confidence float8, lift float8, leverage float8, conviction float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_scored_rules_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_rules_support;
COMMENT ON FUNCTION batmap_rules_of(regclass, name, name, float8, float8, float8, float8, int4, int4, text[], text[], text[], text[], text[], int8, text, int8, interval, text)
IS 'association rules of two columns of a table, for text items';

CREATE FUNCTION batmap_rules_of(
    query text,
    tid text,
    item text,
    min_count float8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT NULL,
    max_rhs int4 DEFAULT 1,
    lhs_include text[] DEFAULT NULL,
    lhs_exclude text[] DEFAULT NULL,
    rhs_include text[] DEFAULT NULL,
    rhs_exclude text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    device text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (
    lhs text[], rhs text[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    support float8, confidence float8, lift float8, leverage float8, conviction float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_scored_rules_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_rules_support;
COMMENT ON FUNCTION batmap_rules_of(text, text, text, float8, float8, float8, float8, int4, int4, text[], text[], text[], text[], text[], int8, text, int8, interval, text, record)
IS 'association rules of two columns of a query, for text items';

CREATE FUNCTION batmap_rules_as(
    item_type anyelement,
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT NULL,
    max_rhs int4 DEFAULT 1,
    lhs_include text[] DEFAULT NULL,
    lhs_exclude text[] DEFAULT NULL,
    rhs_include text[] DEFAULT NULL,
    rhs_exclude text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    device text DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (
    lhs anyarray, rhs anyarray, support_count int8, lhs_count int8, rhs_count int8, total int8,
    support float8, confidence float8, lift float8, leverage float8, conviction float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_scored_rules_as_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_rules_support;
COMMENT ON FUNCTION batmap_rules_as(anyelement, text, int8, float8, float8, float8, int4, int4, text[], text[], text[], text[], text[], int8, text, int8, interval, text, name, name, record)
IS 'association rules of the (tid, item) rows of a query, for items of any hashable type';

CREATE FUNCTION batmap_rules_of(
    relation batmap_relation,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT NULL,
    max_rhs int4 DEFAULT 1,
    lhs_include text[] DEFAULT NULL,
    lhs_exclude text[] DEFAULT NULL,
    rhs_include text[] DEFAULT NULL,
    rhs_exclude text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    device text DEFAULT NULL
)
RETURNS TABLE (
    lhs text[], rhs text[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    support float8, confidence float8, lift float8, leverage float8, conviction float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_scored_rules_text_relation' LANGUAGE C STABLE PARALLEL SAFE COST 10000 ROWS 100000
    SUPPORT _batmap_rules_support;
COMMENT ON FUNCTION batmap_rules_of(batmap_relation, int8, float8, float8, float8, int4, int4, text[], text[], text[], text[], text[], int8, text, int8, interval, text)
IS 'association rules of a relation of text items';

CREATE FUNCTION batmap_rules_as(
    item_type anyelement,
    relation batmap_relation,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT NULL,
    max_rhs int4 DEFAULT 1,
    lhs_include text[] DEFAULT NULL,
    lhs_exclude text[] DEFAULT NULL,
    rhs_include text[] DEFAULT NULL,
    rhs_exclude text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    device text DEFAULT NULL
)
RETURNS TABLE (
    lhs anyarray, rhs anyarray, support_count int8, lhs_count int8, rhs_count int8, total int8,
    support float8, confidence float8, lift float8, leverage float8, conviction float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_scored_rules_as_relation' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 100000
    SUPPORT _batmap_rules_support;
COMMENT ON FUNCTION batmap_rules_as(anyelement, batmap_relation, int8, float8, float8, float8, int4, int4, text[], text[], text[], text[], text[], int8, text, int8, interval, text)
IS 'association rules of a relation of text items, as values of a type';

CREATE FUNCTION _batmap_recommend_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_recommend_support' LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_recommend_support(internal) IS 'planner support of batmap_recommend and batmap_recommend_of';

CREATE FUNCTION batmap_recommend(
    basket int8[],
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT 2,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence',
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (
    item int8, score float8, lhs int8[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    confidence float8, lift float8)
AS 'MODULE_PATHNAME', 'batmap_recommend_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10
    SUPPORT _batmap_recommend_support;
COMMENT ON FUNCTION batmap_recommend(int8[], text, int8, float8, float8, float8, int4, int8[], int8[], int8, text, name, name, record)
IS 'items that the (tid, item) rows of a query recommend for a basket, best first';

CREATE FUNCTION batmap_recommend(
    basket int8[],
    input_table regclass,
    tid_column name,
    item_column name,
    min_count float8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT 2,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence'
)
RETURNS TABLE (
    item int8, score float8, lhs int8[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    confidence float8, lift float8)
AS 'MODULE_PATHNAME', 'batmap_recommend_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10
    SUPPORT _batmap_recommend_support;
COMMENT ON FUNCTION batmap_recommend(int8[], regclass, name, name, float8, float8, float8, float8, int4, int8[], int8[], int8, text)
IS 'items that two columns of a table recommend for a basket, best first';

CREATE FUNCTION batmap_recommend(
    basket int8[],
    query text,
    tid text,
    item text,
    min_count float8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT 2,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence',
    params record DEFAULT NULL
)
RETURNS TABLE (
    item int8, score float8, lhs int8[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    confidence float8, lift float8)
AS 'MODULE_PATHNAME', 'batmap_recommend_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10
    SUPPORT _batmap_recommend_support;
COMMENT ON FUNCTION batmap_recommend(int8[], text, text, text, float8, float8, float8, float8, int4, int8[], int8[], int8, text, record)
IS 'items that two columns of a query recommend for a basket, best first';

CREATE FUNCTION batmap_recommend(
    basket int8[],
    relation batmap_relation,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT 2,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence'
)
RETURNS TABLE (
    item int8, score float8, lhs int8[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    confidence float8, lift float8)
AS 'MODULE_PATHNAME', 'batmap_recommend_relation' LANGUAGE C STABLE PARALLEL SAFE COST 10000 ROWS 10
    SUPPORT _batmap_recommend_support;
COMMENT ON FUNCTION batmap_recommend(int8[], batmap_relation, int8, float8, float8, float8, int4, int8[], int8[], int8, text)
IS 'items that a relation recommends for a basket, best first';

CREATE FUNCTION batmap_recommend_of(
    basket text[],
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT 2,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence',
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (
    item text, score float8, lhs text[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    confidence float8, lift float8)
AS 'MODULE_PATHNAME', 'batmap_recommend_text_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10
    SUPPORT _batmap_recommend_support;
COMMENT ON FUNCTION batmap_recommend_of(text[], text, int8, float8, float8, float8, int4, text[], text[], int8, text, name, name, record)
IS 'items that the (tid, item) rows of a query recommend for a basket, best first, for text items';

CREATE FUNCTION batmap_recommend_of(
    basket text[],
    input_table regclass,
    tid_column name,
    item_column name,
    min_count float8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT 2,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence'
)
RETURNS TABLE (
    item text, score float8, lhs text[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    confidence float8, lift float8)
AS 'MODULE_PATHNAME', 'batmap_recommend_text_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10
    SUPPORT _batmap_recommend_support;
COMMENT ON FUNCTION batmap_recommend_of(text[], regclass, name, name, float8, float8, float8, float8, int4, text[], text[], int8, text)
IS 'items that two columns of a table recommend for a basket, best first, for text items';

CREATE FUNCTION batmap_recommend_of(
    basket text[],
    query text,
    tid text,
    item text,
    min_count float8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT 2,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence',
    params record DEFAULT NULL
)
RETURNS TABLE (
    item text, score float8, lhs text[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    confidence float8, lift float8)
AS 'MODULE_PATHNAME', 'batmap_recommend_text_columns' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10
    SUPPORT _batmap_recommend_support;
COMMENT ON FUNCTION batmap_recommend_of(text[], text, text, text, float8, float8, float8, float8, int4, text[], text[], int8, text, record)
IS 'items that two columns of a query recommend for a basket, best first, for text items';

CREATE FUNCTION batmap_recommend_as(
    item_type anyelement,
    basket text[],
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT 2,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence',
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (
    item anyelement, score float8, lhs anyarray, support_count int8, lhs_count int8, rhs_count int8, total int8,
    confidence float8, lift float8)
AS 'MODULE_PATHNAME', 'batmap_recommend_as_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10
    SUPPORT _batmap_recommend_support;
COMMENT ON FUNCTION batmap_recommend_as(anyelement, text[], text, int8, float8, float8, float8, int4, text[], text[], int8, text, name, name, record)
IS 'items of any hashable type that the (tid, item) rows of a query recommend for a basket, best first';

CREATE FUNCTION batmap_recommend_of(
    basket text[],
    relation batmap_relation,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT 2,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence'
)
RETURNS TABLE (
    item text, score float8, lhs text[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    confidence float8, lift float8)
AS 'MODULE_PATHNAME', 'batmap_recommend_text_relation' LANGUAGE C STABLE PARALLEL SAFE COST 10000 ROWS 10
    SUPPORT _batmap_recommend_support;
COMMENT ON FUNCTION batmap_recommend_of(text[], batmap_relation, int8, float8, float8, float8, int4, text[], text[], int8, text)
IS 'items that a relation of text items recommends for a basket, best first';

CREATE FUNCTION batmap_recommend_as(
    item_type anyelement,
    basket text[],
    relation batmap_relation,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT 2,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence'
)
RETURNS TABLE (
    item anyelement, score float8, lhs anyarray, support_count int8, lhs_count int8, rhs_count int8, total int8,
    confidence float8, lift float8)
AS 'MODULE_PATHNAME', 'batmap_recommend_as_relation' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 10
    SUPPORT _batmap_recommend_support;
COMMENT ON FUNCTION batmap_recommend_as(anyelement, text[], batmap_relation, int8, float8, float8, float8, int4, text[], text[], int8, text)
IS 'items that a relation of text items recommends for a basket, best first, as values of a type';

CREATE FUNCTION batmap_estimate(
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (
    method text, device text, chosen bool, milliseconds float8, bytes int8, reason text, expected_rows float8,
    standard_error float8, rows_read int8, transactions int8, items int8, items_kept int8, pair_instances int8)
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 5
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_estimate(text, int8, float8, name, name, record)
IS 'predicts time, memory and rows of batmap_pairs for each method; reads and groups the rows, but counts a sample of the pairs only';

CREATE FUNCTION batmap_estimate(
    input_table regclass,
    tid_column name,
    item_column name,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL
)
RETURNS TABLE (
    method text, device text, chosen bool, milliseconds float8, bytes int8, reason text, expected_rows float8,
    standard_error float8, rows_read int8, transactions int8, items int8, items_kept int8, pair_instances int8)
AS 'MODULE_PATHNAME', 'batmap_estimate' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 5
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_estimate(regclass, name, name, int8, float8)
IS 'predicts time, memory and rows of batmap_pairs over a table for each method';

CREATE FUNCTION batmap_estimate(
    query text,
    tid text,
    item text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (
    method text, device text, chosen bool, milliseconds float8, bytes int8, reason text, expected_rows float8,
    standard_error float8, rows_read int8, transactions int8, items int8, items_kept int8, pair_instances int8)
AS 'MODULE_PATHNAME', 'batmap_estimate' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 5
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_estimate(text, text, text, int8, float8, record)
IS 'predicts time, memory and rows of batmap_pairs over two columns of a query for each method';

CREATE FUNCTION batmap_explain_why(query text)
RETURNS TABLE (block int4, relations text, taken bool, expression text, reason text, hint text)
AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 1000 ROWS 2;
COMMENT ON FUNCTION batmap_explain_why(text)
IS 'says for each grouped block of a plain query whether a plan node of batmap is taken, and if not, why; plans the query but does not run it';

CREATE FUNCTION batmap_measure(name text, n_both int8, n_lhs int8, n_rhs int8, n_total int8) RETURNS float8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION batmap_measure(text, int8, int8, int8, int8)
IS 'a measure of association of two items from counts of transactions: support, jaccard, lift, ...';

CREATE TYPE batmap_pair AS (item_a int8, item_b int8, support_count int8);
COMMENT ON TYPE batmap_pair IS 'two items and the number of transactions that contain both';

CREATE FUNCTION _batmap_pairs_trans(batmap_relation, int4, int4, int8) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_pairs_trans_int4_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_pairs_trans(batmap_relation, int4, int4, int8) IS 'transition function of batmap_pairs_agg';

CREATE FUNCTION _batmap_pairs_trans(batmap_relation, int4, int8, int8) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_pairs_trans_int4_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_pairs_trans(batmap_relation, int4, int8, int8) IS 'transition function of batmap_pairs_agg';

CREATE FUNCTION _batmap_pairs_trans(batmap_relation, int8, int4, int8) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_pairs_trans_int8_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_pairs_trans(batmap_relation, int8, int4, int8) IS 'transition function of batmap_pairs_agg';

CREATE FUNCTION _batmap_pairs_trans(batmap_relation, int8, int8, int8) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_pairs_trans_int8_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_pairs_trans(batmap_relation, int8, int8, int8) IS 'transition function of batmap_pairs_agg';

CREATE FUNCTION _batmap_pairs_final(batmap_relation) RETURNS batmap_pair[]
AS 'MODULE_PATHNAME', 'batmap_pairs_final' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_pairs_final(batmap_relation) IS 'final function of batmap_pairs_agg';

CREATE AGGREGATE batmap_pairs_agg(tid int4, item int4, min_count int8) (
    SFUNC = _batmap_pairs_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_pairs_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pairs_agg(int4, int4, int8) IS 'frequent pairs of a group as an array';

CREATE AGGREGATE batmap_pairs_agg(tid int4, item int8, min_count int8) (
    SFUNC = _batmap_pairs_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_pairs_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pairs_agg(int4, int8, int8) IS 'frequent pairs of a group as an array';

CREATE AGGREGATE batmap_pairs_agg(tid int8, item int4, min_count int8) (
    SFUNC = _batmap_pairs_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_pairs_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pairs_agg(int8, int4, int8) IS 'frequent pairs of a group as an array';

CREATE AGGREGATE batmap_pairs_agg(tid int8, item int8, min_count int8) (
    SFUNC = _batmap_pairs_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_pairs_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pairs_agg(int8, int8, int8) IS 'frequent pairs of a group as an array';

CREATE TYPE batmap_text_pair AS (item_a text, item_b text, support_count int8);
COMMENT ON TYPE batmap_text_pair IS 'two text items and the number of transactions that contain both';

CREATE FUNCTION _batmap_pairs_trans(batmap_relation, int4, text, int8) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_pairs_trans_int4_text' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_pairs_trans(batmap_relation, int4, text, int8) IS 'transition function of batmap_pairs_agg';

CREATE FUNCTION _batmap_pairs_trans(batmap_relation, int4, uuid, int8) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_pairs_trans_int4_uuid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_pairs_trans(batmap_relation, int4, uuid, int8) IS 'transition function of batmap_pairs_agg';

CREATE FUNCTION _batmap_pairs_trans(batmap_relation, int8, text, int8) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_pairs_trans_int8_text' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_pairs_trans(batmap_relation, int8, text, int8) IS 'transition function of batmap_pairs_agg';

CREATE FUNCTION _batmap_pairs_trans(batmap_relation, int8, uuid, int8) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_pairs_trans_int8_uuid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_pairs_trans(batmap_relation, int8, uuid, int8) IS 'transition function of batmap_pairs_agg';

CREATE FUNCTION _batmap_pairs_text_final(batmap_relation) RETURNS batmap_text_pair[]
AS 'MODULE_PATHNAME', 'batmap_pairs_text_final' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_pairs_text_final(batmap_relation) IS 'final function of batmap_pairs_agg over text items';

CREATE AGGREGATE batmap_pairs_agg(tid int4, item text, min_count int8) (
    SFUNC = _batmap_pairs_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_pairs_text_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pairs_agg(int4, text, int8) IS 'frequent pairs of a group as an array, with text items';

CREATE AGGREGATE batmap_pairs_agg(tid int4, item uuid, min_count int8) (
    SFUNC = _batmap_pairs_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_pairs_text_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pairs_agg(int4, uuid, int8) IS 'frequent pairs of a group as an array, with text items, the texts of uuids';

CREATE AGGREGATE batmap_pairs_agg(tid int8, item text, min_count int8) (
    SFUNC = _batmap_pairs_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_pairs_text_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pairs_agg(int8, text, int8) IS 'frequent pairs of a group as an array, with text items';

CREATE AGGREGATE batmap_pairs_agg(tid int8, item uuid, min_count int8) (
    SFUNC = _batmap_pairs_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_pairs_text_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pairs_agg(int8, uuid, int8) IS 'frequent pairs of a group as an array, with text items, the texts of uuids';

CREATE TYPE batmap_itemset AS (itemset int8[], support_count int8);
COMMENT ON TYPE batmap_itemset IS 'items, ascending, and the number of transactions that contain all of them';

CREATE FUNCTION _batmap_itemsets_trans(batmap_relation, int4, int4, int8, int4) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_itemsets_trans_int4_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_itemsets_trans(batmap_relation, int4, int4, int8, int4) IS 'transition function of batmap_itemsets_agg';

CREATE FUNCTION _batmap_itemsets_trans(batmap_relation, int4, int8, int8, int4) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_itemsets_trans_int4_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_itemsets_trans(batmap_relation, int4, int8, int8, int4) IS 'transition function of batmap_itemsets_agg';

CREATE FUNCTION _batmap_itemsets_trans(batmap_relation, int8, int4, int8, int4) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_itemsets_trans_int8_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_itemsets_trans(batmap_relation, int8, int4, int8, int4) IS 'transition function of batmap_itemsets_agg';

CREATE FUNCTION _batmap_itemsets_trans(batmap_relation, int8, int8, int8, int4) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_itemsets_trans_int8_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_itemsets_trans(batmap_relation, int8, int8, int8, int4) IS 'transition function of batmap_itemsets_agg';

CREATE FUNCTION _batmap_itemsets_final(batmap_relation) RETURNS batmap_itemset[]
AS 'MODULE_PATHNAME', 'batmap_itemsets_final' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_itemsets_final(batmap_relation) IS 'final function of batmap_itemsets_agg';

CREATE AGGREGATE batmap_itemsets_agg(tid int4, item int4, min_count int8, max_length int4) (
    SFUNC = _batmap_itemsets_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_itemsets_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_itemsets_agg(int4, int4, int8, int4) IS 'frequent itemsets of a group as an array';

CREATE AGGREGATE batmap_itemsets_agg(tid int4, item int8, min_count int8, max_length int4) (
    SFUNC = _batmap_itemsets_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_itemsets_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_itemsets_agg(int4, int8, int8, int4) IS 'frequent itemsets of a group as an array';

CREATE AGGREGATE batmap_itemsets_agg(tid int8, item int4, min_count int8, max_length int4) (
    SFUNC = _batmap_itemsets_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_itemsets_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_itemsets_agg(int8, int4, int8, int4) IS 'frequent itemsets of a group as an array';

CREATE AGGREGATE batmap_itemsets_agg(tid int8, item int8, min_count int8, max_length int4) (
    SFUNC = _batmap_itemsets_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_itemsets_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_itemsets_agg(int8, int8, int8, int4) IS 'frequent itemsets of a group as an array';

CREATE TYPE batmap_text_itemset AS (itemset text[], support_count int8);
COMMENT ON TYPE batmap_text_itemset IS 'text items, ascending by their bytes, and the number of transactions that contain all of them';

CREATE FUNCTION _batmap_itemsets_trans(batmap_relation, int4, text, int8, int4) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_itemsets_trans_int4_text' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_itemsets_trans(batmap_relation, int4, text, int8, int4) IS 'transition function of batmap_itemsets_agg';

CREATE FUNCTION _batmap_itemsets_trans(batmap_relation, int4, uuid, int8, int4) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_itemsets_trans_int4_uuid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_itemsets_trans(batmap_relation, int4, uuid, int8, int4) IS 'transition function of batmap_itemsets_agg';

CREATE FUNCTION _batmap_itemsets_trans(batmap_relation, int8, text, int8, int4) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_itemsets_trans_int8_text' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_itemsets_trans(batmap_relation, int8, text, int8, int4) IS 'transition function of batmap_itemsets_agg';

CREATE FUNCTION _batmap_itemsets_trans(batmap_relation, int8, uuid, int8, int4) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_itemsets_trans_int8_uuid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_itemsets_trans(batmap_relation, int8, uuid, int8, int4) IS 'transition function of batmap_itemsets_agg';

CREATE FUNCTION _batmap_itemsets_text_final(batmap_relation) RETURNS batmap_text_itemset[]
AS 'MODULE_PATHNAME', 'batmap_itemsets_text_final' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_itemsets_text_final(batmap_relation) IS 'final function of batmap_itemsets_agg over text items';

CREATE AGGREGATE batmap_itemsets_agg(tid int4, item text, min_count int8, max_length int4) (
    SFUNC = _batmap_itemsets_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_itemsets_text_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_itemsets_agg(int4, text, int8, int4) IS 'frequent itemsets of a group as an array, with text items';

CREATE AGGREGATE batmap_itemsets_agg(tid int4, item uuid, min_count int8, max_length int4) (
    SFUNC = _batmap_itemsets_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_itemsets_text_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_itemsets_agg(int4, uuid, int8, int4) IS 'frequent itemsets of a group as an array, with text items, the texts of uuids';

CREATE AGGREGATE batmap_itemsets_agg(tid int8, item text, min_count int8, max_length int4) (
    SFUNC = _batmap_itemsets_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_itemsets_text_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_itemsets_agg(int8, text, int8, int4) IS 'frequent itemsets of a group as an array, with text items';

CREATE AGGREGATE batmap_itemsets_agg(tid int8, item uuid, min_count int8, max_length int4) (
    SFUNC = _batmap_itemsets_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_itemsets_text_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_itemsets_agg(int8, uuid, int8, int4) IS 'frequent itemsets of a group as an array, with text items, the texts of uuids';

-- Counts of listed pairs ------------------------------------------------------------------------

CREATE FUNCTION _batmap_count_pairs_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_count_pairs_support' LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_count_pairs_support(internal) IS 'planner support of batmap_count_pairs and batmap_count_pairs_of';

CREATE FUNCTION batmap_count_pairs(
    query text,
    pairs_query text,
    measure text DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (
    item_a int8,
    item_b int8,
    support_count int8,
    count_a int8,
    count_b int8,
    total int8,
    support float8,
    confidence float8,
    confidence_ba float8,
    lift float8,
    score float8
)
AS 'MODULE_PATHNAME', 'batmap_count_pairs_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_count_pairs_support;
COMMENT ON FUNCTION batmap_count_pairs(text, text, text, name, name, record)
IS 'supports and measures of listed pairs of items in the transactions of a query, or of sets';

CREATE FUNCTION batmap_count_pairs_of(
    query text,
    pairs_query text,
    measure text DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (
    item_a text,
    item_b text,
    support_count int8,
    count_a int8,
    count_b int8,
    total int8,
    support float8,
    confidence float8,
    confidence_ba float8,
    lift float8,
    score float8
)
AS 'MODULE_PATHNAME', 'batmap_count_pairs_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_count_pairs_support;
COMMENT ON FUNCTION batmap_count_pairs_of(text, text, text, name, name, record)
IS 'supports and measures of listed pairs of text items in the transactions of a query, or of sets';

CREATE FUNCTION batmap_count_pairs_as(
    item_type anyelement,
    query text,
    pairs_query text,
    measure text DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (
    item_a anyelement,
    item_b anyelement,
    support_count int8,
    count_a int8,
    count_b int8,
    total int8,
    support float8,
    confidence float8,
    confidence_ba float8,
    lift float8,
    score float8
)
AS 'MODULE_PATHNAME', 'batmap_count_pairs_as_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_count_pairs_support;
COMMENT ON FUNCTION batmap_count_pairs_as(anyelement, text, text, text, name, name, record)
IS 'supports and measures of listed pairs of items of any hashable type in the transactions of a query, or of sets';

CREATE FUNCTION batmap_count_pairs(
    relation batmap_relation,
    pairs_query text,
    measure text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (
    item_a int8,
    item_b int8,
    support_count int8,
    count_a int8,
    count_b int8,
    total int8,
    support float8,
    confidence float8,
    confidence_ba float8,
    lift float8,
    score float8
)
AS 'MODULE_PATHNAME', 'batmap_count_pairs_relation' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_count_pairs_support;
COMMENT ON FUNCTION batmap_count_pairs(batmap_relation, text, text, record)
IS 'supports and measures of listed pairs of items in the transactions of a relation';

CREATE FUNCTION batmap_count_pairs_of(
    relation batmap_relation,
    pairs_query text,
    measure text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (
    item_a text,
    item_b text,
    support_count int8,
    count_a int8,
    count_b int8,
    total int8,
    support float8,
    confidence float8,
    confidence_ba float8,
    lift float8,
    score float8
)
AS 'MODULE_PATHNAME', 'batmap_count_pairs_text_relation' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_count_pairs_support;
COMMENT ON FUNCTION batmap_count_pairs_of(batmap_relation, text, text, record)
IS 'supports and measures of listed pairs of text items in the transactions of a relation';

CREATE FUNCTION batmap_count_pairs_as(
    item_type anyelement,
    relation batmap_relation,
    pairs_query text,
    measure text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (
    item_a anyelement,
    item_b anyelement,
    support_count int8,
    count_a int8,
    count_b int8,
    total int8,
    support float8,
    confidence float8,
    confidence_ba float8,
    lift float8,
    score float8
)
AS 'MODULE_PATHNAME', 'batmap_count_pairs_as_relation' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_count_pairs_support;
COMMENT ON FUNCTION batmap_count_pairs_as(anyelement, batmap_relation, text, text, record)
IS 'supports and measures of listed pairs of items of any hashable type in the transactions of a relation';

-- Triangles --------------------------------------------------------------------------------------

CREATE FUNCTION batmap_triangles(query text, params record DEFAULT NULL)
RETURNS TABLE (triangles int8, edges int8, nodes int8)
AS 'MODULE_PATHNAME', 'batmap_triangles_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_triangles(text, record)
IS 'number of triangles in a graph, whose edges the rows of a query are';

CREATE FUNCTION _batmap_edge_triangles_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_edge_triangles_support' LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_edge_triangles_support(internal) IS 'planner support of batmap_edge_triangles and batmap_edge_triangles_of';

CREATE FUNCTION batmap_edge_triangles(query text, params record DEFAULT NULL)
RETURNS TABLE (node_a int8, node_b int8, triangles int8)
AS 'MODULE_PATHNAME', 'batmap_edge_triangles_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_edge_triangles_support;
COMMENT ON FUNCTION batmap_edge_triangles(text, record)
IS 'in how many triangles each edge of a graph is: the common neighbours of its nodes';

CREATE FUNCTION batmap_edge_triangles_of(query text, params record DEFAULT NULL)
RETURNS TABLE (node_a text, node_b text, triangles int8)
AS 'MODULE_PATHNAME', 'batmap_edge_triangles_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_edge_triangles_support;
COMMENT ON FUNCTION batmap_edge_triangles_of(text, record)
IS 'in how many triangles each edge of a graph is, whose nodes are text';

CREATE FUNCTION batmap_edge_triangles_as(node_type anyelement, query text, params record DEFAULT NULL)
RETURNS TABLE (node_a anyelement, node_b anyelement, triangles int8)
AS 'MODULE_PATHNAME', 'batmap_edge_triangles_as_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_edge_triangles_support;
COMMENT ON FUNCTION batmap_edge_triangles_as(anyelement, text, record)
IS 'in how many triangles each edge of a graph is, for nodes of any hashable type';

-- Episodes ---------------------------------------------------------------------------------------

CREATE FUNCTION _batmap_episodes_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_episodes_support' LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_episodes_support(internal) IS 'planner support of batmap_episodes and batmap_episodes_of';

CREATE FUNCTION batmap_episodes(
    query text,
    gaps anyarray,
    min_count int8 DEFAULT NULL,
    min_rate float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    same_time boolean DEFAULT false,
    algorithm text DEFAULT 'auto',
    device text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (episode int8[], steps int4[], gap_low anyarray, gap_high anyarray, support_count int8)
AS 'MODULE_PATHNAME', 'batmap_episodes_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_episodes_support;
COMMENT ON FUNCTION batmap_episodes(text, anyarray, int8, float8, int4, int4, int8[], int8[], int8, int8, interval, text, boolean, text, text, record)
IS 'frequent serial episodes of the (time, event [, stream]) rows of a query';

CREATE FUNCTION batmap_episodes_of(
    query text,
    gaps anyarray,
    min_count int8 DEFAULT NULL,
    min_rate float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    same_time boolean DEFAULT false,
    algorithm text DEFAULT 'auto',
    device text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (episode text[], steps int4[], gap_low anyarray, gap_high anyarray, support_count int8)
AS 'MODULE_PATHNAME', 'batmap_episodes_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_episodes_support;
COMMENT ON FUNCTION batmap_episodes_of(text, anyarray, int8, float8, int4, int4, text[], text[], int8, int8, interval, text, boolean, text, text, record)
IS 'frequent serial episodes of the (time, event [, stream]) rows of a query, whose events are text';

CREATE FUNCTION batmap_episodes_as(
    event_type anyelement,
    query text,
    gaps anycompatiblearray,
    min_count int8 DEFAULT NULL,
    min_rate float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    same_time boolean DEFAULT false,
    algorithm text DEFAULT 'auto',
    device text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (episode anyarray, steps int4[], gap_low anycompatiblearray, gap_high anycompatiblearray, support_count int8)
AS 'MODULE_PATHNAME', 'batmap_episodes_as_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_episodes_support;
COMMENT ON FUNCTION batmap_episodes_as(anyelement, text, anycompatiblearray, int8, float8, int4, int4, text[], text[], int8, int8, interval, text, boolean, text, text, record)
IS 'frequent serial episodes of the (time, event [, stream]) rows of a query, for events of any hashable type';

CREATE FUNCTION batmap_episode_count(
    query text,
    episodes int8[],
    gaps anyarray,
    steps int4[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    algorithm text DEFAULT 'auto',
    device text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (episode int8[], support_count int8)
AS 'MODULE_PATHNAME', 'batmap_episode_count_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_episode_count(text, int8[], anyarray, int4[], text, text, text, record)
IS 'supports of given episodes in the (time, event [, stream]) rows of a query';

CREATE FUNCTION batmap_episode_count_of(
    query text,
    episodes text[],
    gaps anyarray,
    steps int4[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    algorithm text DEFAULT 'auto',
    device text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (episode text[], support_count int8)
AS 'MODULE_PATHNAME', 'batmap_episode_count_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_episode_count_of(text, text[], anyarray, int4[], text, text, text, record)
IS 'supports of given episodes in the (time, event [, stream]) rows of a query, whose events are text';

CREATE FUNCTION batmap_episode_count_as(
    event_type anyelement,
    query text,
    episodes text[],
    gaps anycompatiblearray,
    steps int4[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    algorithm text DEFAULT 'auto',
    device text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (episode anyarray, support_count int8)
AS 'MODULE_PATHNAME', 'batmap_episode_count_as_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_episode_count_as(anyelement, text, text[], anycompatiblearray, int4[], text, text, text, record)
IS 'supports of given episodes in the (time, event [, stream]) rows of a query, for events of any hashable type';

CREATE FUNCTION batmap_episode_occurrences(
    query text,
    episode int8[],
    gaps int2[],
    steps int4[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    params record DEFAULT NULL
)
RETURNS TABLE (starts_at int8, ends_at int8, stream text)
AS 'MODULE_PATHNAME', 'batmap_episode_occurrences_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_episode_occurrences(text, int8[], int2[], int4[], text, record)
IS 'the occurrences that the support of an episode counts';

CREATE FUNCTION batmap_episode_occurrences_of(
    query text,
    episode text[],
    gaps int2[],
    steps int4[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    params record DEFAULT NULL
)
RETURNS TABLE (starts_at int8, ends_at int8, stream text)
AS 'MODULE_PATHNAME', 'batmap_episode_occurrences_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_episode_occurrences_of(text, text[], int2[], int4[], text, record)
IS 'the occurrences that the support of an episode counts; its events are text';

CREATE FUNCTION batmap_episode_occurrences_as(
    event_type anyelement,
    query text,
    episode text[],
    gaps int2[],
    steps int4[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    params record DEFAULT NULL
)
RETURNS TABLE (starts_at int8, ends_at int8, stream text)
AS 'MODULE_PATHNAME', 'batmap_episode_occurrences_as_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_episode_occurrences_as(anyelement, text, text[], int2[], int4[], text, record)
IS 'the occurrences that the support of an episode counts, for events of any hashable type';

CREATE FUNCTION batmap_episode_occurrences(
    query text,
    episode int8[],
    gaps int4[],
    steps int4[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    params record DEFAULT NULL
)
RETURNS TABLE (starts_at int8, ends_at int8, stream text)
AS 'MODULE_PATHNAME', 'batmap_episode_occurrences_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_episode_occurrences(text, int8[], int4[], int4[], text, record)
IS 'the occurrences that the support of an episode counts';

CREATE FUNCTION batmap_episode_occurrences_of(
    query text,
    episode text[],
    gaps int4[],
    steps int4[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    params record DEFAULT NULL
)
RETURNS TABLE (starts_at int8, ends_at int8, stream text)
AS 'MODULE_PATHNAME', 'batmap_episode_occurrences_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_episode_occurrences_of(text, text[], int4[], int4[], text, record)
IS 'the occurrences that the support of an episode counts; its events are text';

CREATE FUNCTION batmap_episode_occurrences_as(
    event_type anyelement,
    query text,
    episode text[],
    gaps int4[],
    steps int4[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    params record DEFAULT NULL
)
RETURNS TABLE (starts_at int8, ends_at int8, stream text)
AS 'MODULE_PATHNAME', 'batmap_episode_occurrences_as_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_episode_occurrences_as(anyelement, text, text[], int4[], int4[], text, record)
IS 'the occurrences that the support of an episode counts, for events of any hashable type';

CREATE FUNCTION batmap_episode_occurrences(
    query text,
    episode int8[],
    gaps int8[],
    steps int4[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    params record DEFAULT NULL
)
RETURNS TABLE (starts_at int8, ends_at int8, stream text)
AS 'MODULE_PATHNAME', 'batmap_episode_occurrences_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_episode_occurrences(text, int8[], int8[], int4[], text, record)
IS 'the occurrences that the support of an episode counts';

CREATE FUNCTION batmap_episode_occurrences_of(
    query text,
    episode text[],
    gaps int8[],
    steps int4[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    params record DEFAULT NULL
)
RETURNS TABLE (starts_at int8, ends_at int8, stream text)
AS 'MODULE_PATHNAME', 'batmap_episode_occurrences_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_episode_occurrences_of(text, text[], int8[], int4[], text, record)
IS 'the occurrences that the support of an episode counts; its events are text';

CREATE FUNCTION batmap_episode_occurrences_as(
    event_type anyelement,
    query text,
    episode text[],
    gaps int8[],
    steps int4[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    params record DEFAULT NULL
)
RETURNS TABLE (starts_at int8, ends_at int8, stream text)
AS 'MODULE_PATHNAME', 'batmap_episode_occurrences_as_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_episode_occurrences_as(anyelement, text, text[], int8[], int4[], text, record)
IS 'the occurrences that the support of an episode counts, for events of any hashable type';

CREATE FUNCTION batmap_episode_occurrences(
    query text,
    episode int8[],
    gaps float8[],
    steps int4[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    params record DEFAULT NULL
)
RETURNS TABLE (starts_at float8, ends_at float8, stream text)
AS 'MODULE_PATHNAME', 'batmap_episode_occurrences_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_episode_occurrences(text, int8[], float8[], int4[], text, record)
IS 'the occurrences that the support of an episode counts';

CREATE FUNCTION batmap_episode_occurrences_of(
    query text,
    episode text[],
    gaps float8[],
    steps int4[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    params record DEFAULT NULL
)
RETURNS TABLE (starts_at float8, ends_at float8, stream text)
AS 'MODULE_PATHNAME', 'batmap_episode_occurrences_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_episode_occurrences_of(text, text[], float8[], int4[], text, record)
IS 'the occurrences that the support of an episode counts; its events are text';

CREATE FUNCTION batmap_episode_occurrences_as(
    event_type anyelement,
    query text,
    episode text[],
    gaps float8[],
    steps int4[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    params record DEFAULT NULL
)
RETURNS TABLE (starts_at float8, ends_at float8, stream text)
AS 'MODULE_PATHNAME', 'batmap_episode_occurrences_as_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_episode_occurrences_as(anyelement, text, text[], float8[], int4[], text, record)
IS 'the occurrences that the support of an episode counts, for events of any hashable type';

CREATE FUNCTION batmap_episode_occurrences(
    query text,
    episode int8[],
    gaps interval[],
    steps int4[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    params record DEFAULT NULL
)
RETURNS TABLE (starts_at timestamptz, ends_at timestamptz, stream text)
AS 'MODULE_PATHNAME', 'batmap_episode_occurrences_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_episode_occurrences(text, int8[], interval[], int4[], text, record)
IS 'the occurrences that the support of an episode counts';

CREATE FUNCTION batmap_episode_occurrences_of(
    query text,
    episode text[],
    gaps interval[],
    steps int4[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    params record DEFAULT NULL
)
RETURNS TABLE (starts_at timestamptz, ends_at timestamptz, stream text)
AS 'MODULE_PATHNAME', 'batmap_episode_occurrences_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_episode_occurrences_of(text, text[], interval[], int4[], text, record)
IS 'the occurrences that the support of an episode counts; its events are text';

CREATE FUNCTION batmap_episode_occurrences_as(
    event_type anyelement,
    query text,
    episode text[],
    gaps interval[],
    steps int4[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    params record DEFAULT NULL
)
RETURNS TABLE (starts_at timestamptz, ends_at timestamptz, stream text)
AS 'MODULE_PATHNAME', 'batmap_episode_occurrences_as_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_episode_occurrences_as(anyelement, text, text[], interval[], int4[], text, record)
IS 'the occurrences that the support of an episode counts, for events of any hashable type';

CREATE FUNCTION batmap_episode_occurrences_at(
    time_type anyelement,
    query text,
    episode int8[],
    gaps anycompatiblearray,
    steps int4[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    params record DEFAULT NULL
)
RETURNS TABLE (starts_at anyelement, ends_at anyelement, stream text)
AS 'MODULE_PATHNAME', 'batmap_episode_occurrences_at_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_episode_occurrences_at(anyelement, text, int8[], anycompatiblearray, int4[], text, record)
IS 'the occurrences that the support of an episode counts, with times of any type';

CREATE FUNCTION batmap_episode_occurrences_as(
    event_type anyelement,
    time_type anycompatible,
    query text,
    episode text[],
    gaps int8[],
    steps int4[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    params record DEFAULT NULL
)
RETURNS TABLE (starts_at anycompatible, ends_at anycompatible, stream text)
AS 'MODULE_PATHNAME', 'batmap_episode_occurrences_as_time_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_episode_occurrences_as(anyelement, anycompatible, text, text[], int8[], int4[], text, record)
IS 'the occurrences that the support of an episode counts, for events of any hashable type and times of any type';

CREATE FUNCTION batmap_episode_occurrences_as(
    event_type anyelement,
    time_type anycompatible,
    query text,
    episode text[],
    gaps interval[],
    steps int4[] DEFAULT NULL,
    counting text DEFAULT 'non_overlapped',
    params record DEFAULT NULL
)
RETURNS TABLE (starts_at anycompatible, ends_at anycompatible, stream text)
AS 'MODULE_PATHNAME', 'batmap_episode_occurrences_as_time_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_episode_occurrences_as(anyelement, anycompatible, text, text[], interval[], int4[], text, record)
IS 'the occurrences that the support of an episode counts, for events of any hashable type and times of any type';

CREATE FUNCTION _batmap_window_pairs_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_window_pairs_support' LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_window_pairs_support(internal) IS 'planner support of batmap_window_pairs and batmap_window_pairs_of';

CREATE FUNCTION batmap_window_pairs(
    query text,
    within anyelement,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    counting text DEFAULT 'streams',
    params record DEFAULT NULL
)
RETURNS TABLE (item_a int8, item_b int8, support_count int8)
AS 'MODULE_PATHNAME', 'batmap_window_pairs_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_window_pairs_support;
COMMENT ON FUNCTION batmap_window_pairs(text, anyelement, int8, float8, int8[], int8[], int8, int8, interval, text, record)
IS 'pairs of items within a window of each other in the (time, item [, stream]) rows of a query';

CREATE FUNCTION batmap_window_pairs_of(
    query text,
    within anyelement,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    counting text DEFAULT 'streams',
    params record DEFAULT NULL
)
RETURNS TABLE (item_a text, item_b text, support_count int8)
AS 'MODULE_PATHNAME', 'batmap_window_pairs_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_window_pairs_support;
COMMENT ON FUNCTION batmap_window_pairs_of(text, anyelement, int8, float8, text[], text[], int8, int8, interval, text, record)
IS 'pairs of items within a window of each other in the (time, item [, stream]) rows of a query, whose items are text';

CREATE FUNCTION batmap_window_pairs_as(
    item_type anyelement,
    query text,
    within anycompatible,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    counting text DEFAULT 'streams',
    params record DEFAULT NULL
)
RETURNS TABLE (item_a anyelement, item_b anyelement, support_count int8)
AS 'MODULE_PATHNAME', 'batmap_window_pairs_as_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000
    SUPPORT _batmap_window_pairs_support;
COMMENT ON FUNCTION batmap_window_pairs_as(anyelement, text, anycompatible, int8, float8, text[], text[], int8, int8, interval, text, record)
IS 'pairs of items within a window of each other in the (time, item [, stream]) rows of a query, for items of any hashable type';

CREATE FUNCTION batmap_generate_spikes(
    seconds float8,
    seed int8 DEFAULT 1,
    neurons int4 DEFAULT 64,
    rate float8 DEFAULT 20,
    episodes int4 DEFAULT 4,
    episode_length int4 DEFAULT 9,
    strength float8 DEFAULT 0.88)
RETURNS TABLE (time_us int8, neuron int4)
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100000 ROWS 100000
    SUPPORT _batmap_stream_support;
COMMENT ON FUNCTION batmap_generate_spikes(float8, int8, int4, float8, int4, int4, float8)
IS 'spikes of a simulated network of neurons with embedded episodes; equal arguments give equal spikes';

CREATE TYPE batmap_episode_state;

CREATE FUNCTION _batmap_episode_state_in(cstring) RETURNS batmap_episode_state
AS 'MODULE_PATHNAME', 'batmap_episode_state_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_episode_state_out(batmap_episode_state) RETURNS cstring
AS 'MODULE_PATHNAME', 'batmap_episode_state_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_episode_state_recv(internal) RETURNS batmap_episode_state
AS 'MODULE_PATHNAME', 'batmap_episode_state_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_episode_state_send(batmap_episode_state) RETURNS bytea
AS 'MODULE_PATHNAME', 'batmap_episode_state_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE batmap_episode_state (
    INPUT = _batmap_episode_state_in,
    OUTPUT = _batmap_episode_state_out,
    RECEIVE = _batmap_episode_state_recv,
    SEND = _batmap_episode_state_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = double,
    STORAGE = external
);
COMMENT ON TYPE batmap_episode_state IS 'state of batmap_episode_count_agg';

CREATE FUNCTION _batmap_episode_count_trans(batmap_episode_state, int8, int4, int8[], int8, int8) RETURNS batmap_episode_state
AS 'MODULE_PATHNAME', 'batmap_episode_count_trans_int8_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_episode_count_trans(batmap_episode_state, int8, int4, int8[], int8, int8)
IS 'transition function of batmap_episode_count_agg';

CREATE FUNCTION _batmap_episode_count_trans(batmap_episode_state, int8, int8, int8[], int8, int8) RETURNS batmap_episode_state
AS 'MODULE_PATHNAME', 'batmap_episode_count_trans_int8_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_episode_count_trans(batmap_episode_state, int8, int8, int8[], int8, int8)
IS 'transition function of batmap_episode_count_agg';

CREATE FUNCTION _batmap_episode_count_trans(batmap_episode_state, float8, int4, int8[], float8, float8) RETURNS batmap_episode_state
AS 'MODULE_PATHNAME', 'batmap_episode_count_trans_float8_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_episode_count_trans(batmap_episode_state, float8, int4, int8[], float8, float8)
IS 'transition function of batmap_episode_count_agg';

CREATE FUNCTION _batmap_episode_count_trans(batmap_episode_state, float8, int8, int8[], float8, float8) RETURNS batmap_episode_state
AS 'MODULE_PATHNAME', 'batmap_episode_count_trans_float8_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_episode_count_trans(batmap_episode_state, float8, int8, int8[], float8, float8)
IS 'transition function of batmap_episode_count_agg';

CREATE FUNCTION _batmap_episode_count_trans(batmap_episode_state, timestamptz, int4, int8[], interval, interval) RETURNS batmap_episode_state
AS 'MODULE_PATHNAME', 'batmap_episode_count_trans_timestamptz_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_episode_count_trans(batmap_episode_state, timestamptz, int4, int8[], interval, interval)
IS 'transition function of batmap_episode_count_agg';

CREATE FUNCTION _batmap_episode_count_trans(batmap_episode_state, timestamptz, int8, int8[], interval, interval) RETURNS batmap_episode_state
AS 'MODULE_PATHNAME', 'batmap_episode_count_trans_timestamptz_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_episode_count_trans(batmap_episode_state, timestamptz, int8, int8[], interval, interval)
IS 'transition function of batmap_episode_count_agg';

CREATE FUNCTION _batmap_episode_count_trans(batmap_episode_state, timestamp, int4, int8[], interval, interval) RETURNS batmap_episode_state
AS 'MODULE_PATHNAME', 'batmap_episode_count_trans_timestamptz_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_episode_count_trans(batmap_episode_state, timestamp, int4, int8[], interval, interval)
IS 'transition function of batmap_episode_count_agg';

CREATE FUNCTION _batmap_episode_count_trans(batmap_episode_state, timestamp, int8, int8[], interval, interval) RETURNS batmap_episode_state
AS 'MODULE_PATHNAME', 'batmap_episode_count_trans_timestamptz_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_episode_count_trans(batmap_episode_state, timestamp, int8, int8[], interval, interval)
IS 'transition function of batmap_episode_count_agg';

CREATE FUNCTION _batmap_episode_count_trans(batmap_episode_state, date, int4, int8[], interval, interval) RETURNS batmap_episode_state
AS 'MODULE_PATHNAME', 'batmap_episode_count_trans_date_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_episode_count_trans(batmap_episode_state, date, int4, int8[], interval, interval)
IS 'transition function of batmap_episode_count_agg';

CREATE FUNCTION _batmap_episode_count_trans(batmap_episode_state, date, int8, int8[], interval, interval) RETURNS batmap_episode_state
AS 'MODULE_PATHNAME', 'batmap_episode_count_trans_date_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_episode_count_trans(batmap_episode_state, date, int8, int8[], interval, interval)
IS 'transition function of batmap_episode_count_agg';

CREATE FUNCTION _batmap_episode_count_trans(batmap_episode_state, date, int4, int8[], int8, int8) RETURNS batmap_episode_state
AS 'MODULE_PATHNAME', 'batmap_episode_count_trans_days_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_episode_count_trans(batmap_episode_state, date, int4, int8[], int8, int8)
IS 'transition function of batmap_episode_count_agg';

CREATE FUNCTION _batmap_episode_count_trans(batmap_episode_state, date, int8, int8[], int8, int8) RETURNS batmap_episode_state
AS 'MODULE_PATHNAME', 'batmap_episode_count_trans_days_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_episode_count_trans(batmap_episode_state, date, int8, int8[], int8, int8)
IS 'transition function of batmap_episode_count_agg';

CREATE FUNCTION _batmap_episode_count_merge(batmap_episode_state, batmap_episode_state) RETURNS batmap_episode_state
AS 'MODULE_PATHNAME', 'batmap_episode_count_merge' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_episode_count_merge(batmap_episode_state, batmap_episode_state) IS 'combine function of batmap_episode_count_agg';

CREATE FUNCTION _batmap_episode_count_final(batmap_episode_state) RETURNS int8
AS 'MODULE_PATHNAME', 'batmap_episode_count_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_episode_count_final(batmap_episode_state) IS 'final function of batmap_episode_count_agg';

CREATE AGGREGATE batmap_episode_count_agg("time" int8, event int4, episode int8[], gap_low int8, gap_high int8) (
    SFUNC = _batmap_episode_count_trans, STYPE = batmap_episode_state, SSPACE = 4096,
    COMBINEFUNC = _batmap_episode_count_merge,
    FINALFUNC = _batmap_episode_count_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_episode_count_agg(int8, int4, int8[], int8, int8)
IS 'number of occurrences of an episode among the events of a group';

CREATE AGGREGATE batmap_episode_count_agg("time" int8, event int8, episode int8[], gap_low int8, gap_high int8) (
    SFUNC = _batmap_episode_count_trans, STYPE = batmap_episode_state, SSPACE = 4096,
    COMBINEFUNC = _batmap_episode_count_merge,
    FINALFUNC = _batmap_episode_count_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_episode_count_agg(int8, int8, int8[], int8, int8)
IS 'number of occurrences of an episode among the events of a group';

CREATE AGGREGATE batmap_episode_count_agg("time" float8, event int4, episode int8[], gap_low float8, gap_high float8) (
    SFUNC = _batmap_episode_count_trans, STYPE = batmap_episode_state, SSPACE = 4096,
    COMBINEFUNC = _batmap_episode_count_merge,
    FINALFUNC = _batmap_episode_count_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_episode_count_agg(float8, int4, int8[], float8, float8)
IS 'number of occurrences of an episode among the events of a group';

CREATE AGGREGATE batmap_episode_count_agg("time" float8, event int8, episode int8[], gap_low float8, gap_high float8) (
    SFUNC = _batmap_episode_count_trans, STYPE = batmap_episode_state, SSPACE = 4096,
    COMBINEFUNC = _batmap_episode_count_merge,
    FINALFUNC = _batmap_episode_count_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_episode_count_agg(float8, int8, int8[], float8, float8)
IS 'number of occurrences of an episode among the events of a group';

CREATE AGGREGATE batmap_episode_count_agg("time" timestamptz, event int4, episode int8[], gap_low interval, gap_high interval) (
    SFUNC = _batmap_episode_count_trans, STYPE = batmap_episode_state, SSPACE = 4096,
    COMBINEFUNC = _batmap_episode_count_merge,
    FINALFUNC = _batmap_episode_count_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_episode_count_agg(timestamptz, int4, int8[], interval, interval)
IS 'number of occurrences of an episode among the events of a group';

CREATE AGGREGATE batmap_episode_count_agg("time" timestamptz, event int8, episode int8[], gap_low interval, gap_high interval) (
    SFUNC = _batmap_episode_count_trans, STYPE = batmap_episode_state, SSPACE = 4096,
    COMBINEFUNC = _batmap_episode_count_merge,
    FINALFUNC = _batmap_episode_count_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_episode_count_agg(timestamptz, int8, int8[], interval, interval)
IS 'number of occurrences of an episode among the events of a group';

CREATE AGGREGATE batmap_episode_count_agg("time" timestamp, event int4, episode int8[], gap_low interval, gap_high interval) (
    SFUNC = _batmap_episode_count_trans, STYPE = batmap_episode_state, SSPACE = 4096,
    COMBINEFUNC = _batmap_episode_count_merge,
    FINALFUNC = _batmap_episode_count_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_episode_count_agg(timestamp, int4, int8[], interval, interval)
IS 'number of occurrences of an episode among the events of a group';

CREATE AGGREGATE batmap_episode_count_agg("time" timestamp, event int8, episode int8[], gap_low interval, gap_high interval) (
    SFUNC = _batmap_episode_count_trans, STYPE = batmap_episode_state, SSPACE = 4096,
    COMBINEFUNC = _batmap_episode_count_merge,
    FINALFUNC = _batmap_episode_count_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_episode_count_agg(timestamp, int8, int8[], interval, interval)
IS 'number of occurrences of an episode among the events of a group';

CREATE AGGREGATE batmap_episode_count_agg("time" date, event int4, episode int8[], gap_low interval, gap_high interval) (
    SFUNC = _batmap_episode_count_trans, STYPE = batmap_episode_state, SSPACE = 4096,
    COMBINEFUNC = _batmap_episode_count_merge,
    FINALFUNC = _batmap_episode_count_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_episode_count_agg(date, int4, int8[], interval, interval)
IS 'number of occurrences of an episode among the events of a group';

CREATE AGGREGATE batmap_episode_count_agg("time" date, event int8, episode int8[], gap_low interval, gap_high interval) (
    SFUNC = _batmap_episode_count_trans, STYPE = batmap_episode_state, SSPACE = 4096,
    COMBINEFUNC = _batmap_episode_count_merge,
    FINALFUNC = _batmap_episode_count_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_episode_count_agg(date, int8, int8[], interval, interval)
IS 'number of occurrences of an episode among the events of a group';

CREATE AGGREGATE batmap_episode_count_agg("time" date, event int4, episode int8[], gap_low int8, gap_high int8) (
    SFUNC = _batmap_episode_count_trans, STYPE = batmap_episode_state, SSPACE = 4096,
    COMBINEFUNC = _batmap_episode_count_merge,
    FINALFUNC = _batmap_episode_count_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_episode_count_agg(date, int4, int8[], int8, int8)
IS 'number of occurrences of an episode among the events of a group';

CREATE AGGREGATE batmap_episode_count_agg("time" date, event int8, episode int8[], gap_low int8, gap_high int8) (
    SFUNC = _batmap_episode_count_trans, STYPE = batmap_episode_state, SSPACE = 4096,
    COMBINEFUNC = _batmap_episode_count_merge,
    FINALFUNC = _batmap_episode_count_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_episode_count_agg(date, int8, int8[], int8, int8)
IS 'number of occurrences of an episode among the events of a group';

-- Join-project ----------------------------------------------------------------------------------

CREATE FUNCTION _batmap_join_project_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_join_project_support' LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_join_project_support(internal) IS 'planner support of batmap_join_project and batmap_join_project_of';

CREATE FUNCTION batmap_join_project(
    left_query text,
    right_query text,
    min_count int8 DEFAULT NULL,
    distinct_only bool DEFAULT false,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (a int8, c int8, support_count int8)
AS 'MODULE_PATHNAME', 'batmap_join_project_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_join_project_support;
COMMENT ON FUNCTION batmap_join_project(text, text, int8, bool, int8, int4, int8, text, text, record)
IS 'all (a, c) that share a b in the (a, b) and (b, c) rows of two queries, with the number of such b';

CREATE FUNCTION batmap_join_project(
    left_relation batmap_relation,
    right_relation batmap_relation,
    min_count int8 DEFAULT NULL,
    distinct_only bool DEFAULT false,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL)
RETURNS TABLE (a int8, c int8, support_count int8)
AS 'MODULE_PATHNAME', 'batmap_join_project_relation' LANGUAGE C STABLE PARALLEL SAFE COST 10000 ROWS 100000
    SUPPORT _batmap_join_project_support;
COMMENT ON FUNCTION batmap_join_project(batmap_relation, batmap_relation, int8, bool, int8, int4, int8, text, text)
IS 'all (a, c) that share a b in the (b, a) and (b, c) pairs of two relations, with the number of such b';

CREATE FUNCTION batmap_join_project_of(
    left_query text,
    right_query text,
    min_count int8 DEFAULT NULL,
    distinct_only bool DEFAULT false,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (a text, c text, support_count int8)
AS 'MODULE_PATHNAME', 'batmap_join_project_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_join_project_support;
COMMENT ON FUNCTION batmap_join_project_of(text, text, int8, bool, int8, int4, int8, text, text, record)
IS 'all (a, c) that share a b in the (a, b) and (b, c) rows of two queries, with the number of such b, for a and c that are text';

CREATE FUNCTION batmap_join_project_as(
    left_type anyelement,
    right_type anycompatible,
    left_query text,
    right_query text,
    min_count int8 DEFAULT NULL,
    distinct_only bool DEFAULT false,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (a anyelement, c anycompatible, support_count int8)
AS 'MODULE_PATHNAME', 'batmap_join_project_as_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_join_project_support;
COMMENT ON FUNCTION batmap_join_project_as(anyelement, anycompatible, text, text, int8, bool, int8, int4, int8, text, text, record)
IS 'all (a, c) that share a b in the (a, b) and (b, c) rows of two queries, with the number of such b, for a and c of any hashable types';

CREATE FUNCTION batmap_join_project_of(
    left_relation batmap_relation,
    right_relation batmap_relation,
    min_count int8 DEFAULT NULL,
    distinct_only bool DEFAULT false,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL
)
RETURNS TABLE (a text, c text, support_count int8)
AS 'MODULE_PATHNAME', 'batmap_join_project_text_relation' LANGUAGE C STABLE PARALLEL SAFE COST 10000 ROWS 100000
    SUPPORT _batmap_join_project_support;
COMMENT ON FUNCTION batmap_join_project_of(batmap_relation, batmap_relation, int8, bool, int8, int4, int8, text, text)
IS 'all (a, c) that share a b in the (b, a) and (b, c) pairs of two relations of text items, with the number of such b';

CREATE FUNCTION batmap_join_project_as(
    left_type anyelement,
    right_type anycompatible,
    left_relation batmap_relation,
    right_relation batmap_relation,
    min_count int8 DEFAULT NULL,
    distinct_only bool DEFAULT false,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT NULL,
    device text DEFAULT NULL
)
RETURNS TABLE (a anyelement, c anycompatible, support_count int8)
AS 'MODULE_PATHNAME', 'batmap_join_project_as_relation' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 100000
    SUPPORT _batmap_join_project_support;
COMMENT ON FUNCTION batmap_join_project_as(anyelement, anycompatible, batmap_relation, batmap_relation, int8, bool, int8, int4, int8, text, text)
IS 'all (a, c) that share a b in the (b, a) and (b, c) pairs of two relations of text items, with the number of such b, as values of types';

CREATE TYPE batmap_join_state;

CREATE FUNCTION _batmap_join_state_in(cstring) RETURNS batmap_join_state
AS 'MODULE_PATHNAME', 'batmap_join_state_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_join_state_out(batmap_join_state) RETURNS cstring
AS 'MODULE_PATHNAME', 'batmap_join_state_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_join_state_recv(internal) RETURNS batmap_join_state
AS 'MODULE_PATHNAME', 'batmap_join_state_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_join_state_send(batmap_join_state) RETURNS bytea
AS 'MODULE_PATHNAME', 'batmap_join_state_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE batmap_join_state (
    INPUT = _batmap_join_state_in,
    OUTPUT = _batmap_join_state_out,
    RECEIVE = _batmap_join_state_recv,
    SEND = _batmap_join_state_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = double,
    STORAGE = external
);
COMMENT ON TYPE batmap_join_state IS 'state of batmap_join_project_agg';

CREATE FUNCTION _batmap_join_trans(batmap_join_state, int4, int4, int4) RETURNS batmap_join_state
AS 'MODULE_PATHNAME', 'batmap_join_trans_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_join_trans(batmap_join_state, int4, int4, int4) IS 'transition function of batmap_join_project_agg';

CREATE FUNCTION _batmap_join_trans(batmap_join_state, int8, int8, int8) RETURNS batmap_join_state
AS 'MODULE_PATHNAME', 'batmap_join_trans_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_join_trans(batmap_join_state, int8, int8, int8) IS 'transition function of batmap_join_project_agg';

CREATE FUNCTION _batmap_join_merge(batmap_join_state, batmap_join_state) RETURNS batmap_join_state
AS 'MODULE_PATHNAME', 'batmap_join_merge' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_join_merge(batmap_join_state, batmap_join_state) IS 'merges two states of batmap_join_project_agg';

CREATE FUNCTION _batmap_join_project_final(batmap_join_state) RETURNS batmap_pair[]
AS 'MODULE_PATHNAME', 'batmap_join_project_final' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_join_project_final(batmap_join_state) IS 'final function of batmap_join_project_agg';

CREATE AGGREGATE batmap_join_project_agg(a int4, b int4, c int4) (
    SFUNC = _batmap_join_trans, STYPE = batmap_join_state, SSPACE = 4096,
    COMBINEFUNC = _batmap_join_merge,
    FINALFUNC = _batmap_join_project_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_join_project_agg(int4, int4, int4)
IS 'all (a, c) that share a b in the rows (a, b, NULL) and (NULL, b, c) of a group, with the number of such b';

CREATE AGGREGATE batmap_join_project_agg(a int8, b int8, c int8) (
    SFUNC = _batmap_join_trans, STYPE = batmap_join_state, SSPACE = 4096,
    COMBINEFUNC = _batmap_join_merge,
    FINALFUNC = _batmap_join_project_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_join_project_agg(int8, int8, int8)
IS 'all (a, c) that share a b in the rows (a, b, NULL) and (NULL, b, c) of a group, with the number of such b';

-- Sets ------------------------------------------------------------------------------------------

CREATE TYPE batmap;

CREATE FUNCTION _batmap_in(cstring, oid, int4) RETURNS batmap
AS 'MODULE_PATHNAME', 'batmap_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_out(batmap) RETURNS cstring
AS 'MODULE_PATHNAME', 'batmap_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_recv(internal, oid, int4) RETURNS batmap
AS 'MODULE_PATHNAME', 'batmap_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_send(batmap) RETURNS bytea
AS 'MODULE_PATHNAME', 'batmap_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_typmod_in(cstring[]) RETURNS int4
AS 'MODULE_PATHNAME', 'batmap_typmod_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_typmod_out(int4) RETURNS cstring
AS 'MODULE_PATHNAME', 'batmap_typmod_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_typanalyze(internal) RETURNS bool
AS 'MODULE_PATHNAME', 'batmap_typanalyze' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_typanalyze(internal) IS 'collects the most common elements of a batmap column';

CREATE TYPE batmap (
    INPUT = _batmap_in,
    OUTPUT = _batmap_out,
    RECEIVE = _batmap_recv,
    SEND = _batmap_send,
    TYPMOD_IN = _batmap_typmod_in,
    TYPMOD_OUT = _batmap_typmod_out,
    ANALYZE = _batmap_typanalyze,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = int4,
    STORAGE = external
);
COMMENT ON TYPE batmap IS 'set of integers 0 <= x < N, stored compactly; batmap(N) declares N, and batmap(N, ''prepared'') stores the form in which sets meet';

CREATE FUNCTION _batmap_to_typmod(batmap, int4, bool) RETURNS batmap
AS 'MODULE_PATHNAME', 'batmap_to_typmod' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _batmap_to_typmod(batmap, int4, bool) IS 'the set as a column declares it; an element outside the universe is an error';

CREATE CAST (batmap AS batmap) WITH FUNCTION _batmap_to_typmod(batmap, int4, bool) AS IMPLICIT;
COMMENT ON CAST (batmap AS batmap) IS 'declares the universe and the form';

CREATE FUNCTION batmap_prepare(batmap) RETURNS batmap
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5000;
COMMENT ON FUNCTION batmap_prepare(batmap) IS 'the set in the form in which sets meet';

CREATE FUNCTION batmap_prepare(batmap, universe int8) RETURNS batmap
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5000;
COMMENT ON FUNCTION batmap_prepare(batmap, int8) IS 'the set in the form in which sets of this universe meet';

CREATE FUNCTION _batmap_from_array(int2[], int4, bool) RETURNS batmap
AS 'MODULE_PATHNAME', 'batmap_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_from_array(int2[], int4, bool) IS 'the set of the elements of an array';

CREATE CAST (int2[] AS batmap) WITH FUNCTION _batmap_from_array(int2[], int4, bool) AS ASSIGNMENT;
COMMENT ON CAST (int2[] AS batmap) IS 'elements of an array; duplicates count once';

CREATE FUNCTION _batmap_from_array(int4[], int4, bool) RETURNS batmap
AS 'MODULE_PATHNAME', 'batmap_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_from_array(int4[], int4, bool) IS 'the set of the elements of an array';

CREATE CAST (int4[] AS batmap) WITH FUNCTION _batmap_from_array(int4[], int4, bool) AS ASSIGNMENT;
COMMENT ON CAST (int4[] AS batmap) IS 'elements of an array; duplicates count once';

CREATE FUNCTION _batmap_from_array(int8[], int4, bool) RETURNS batmap
AS 'MODULE_PATHNAME', 'batmap_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_from_array(int8[], int4, bool) IS 'the set of the elements of an array';

CREATE CAST (int8[] AS batmap) WITH FUNCTION _batmap_from_array(int8[], int4, bool) AS ASSIGNMENT;
COMMENT ON CAST (int8[] AS batmap) IS 'elements of an array; duplicates count once';

CREATE FUNCTION _batmap_to_int4_array(batmap) RETURNS int4[]
AS 'MODULE_PATHNAME', 'batmap_to_int4_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_to_int4_array(batmap) IS 'the elements of a set, ascending';

CREATE CAST (batmap AS int4[]) WITH FUNCTION _batmap_to_int4_array(batmap) AS ASSIGNMENT;
COMMENT ON CAST (batmap AS int4[]) IS 'elements, ascending';

CREATE FUNCTION _batmap_to_int8_array(batmap) RETURNS int8[]
AS 'MODULE_PATHNAME', 'batmap_to_int8_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_to_int8_array(batmap) IS 'the elements of a set, ascending';

CREATE CAST (batmap AS int8[]) WITH FUNCTION _batmap_to_int8_array(batmap) AS ASSIGNMENT;
COMMENT ON CAST (batmap AS int8[]) IS 'elements, ascending';

CREATE FUNCTION _batmap_to_json(batmap) RETURNS json
AS 'MODULE_PATHNAME', 'batmap_to_json' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION _batmap_to_json(batmap) IS 'the elements of a set, ascending';

CREATE CAST (batmap AS json) WITH FUNCTION _batmap_to_json(batmap) AS ASSIGNMENT;
COMMENT ON CAST (batmap AS json) IS 'an array of the elements, ascending; to_json and to_jsonb use it';

CREATE FUNCTION _batmap_to_jsonb(batmap) RETURNS jsonb
AS 'MODULE_PATHNAME', 'batmap_to_jsonb' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION _batmap_to_jsonb(batmap) IS 'the elements of a set, ascending';

CREATE CAST (batmap AS jsonb) WITH FUNCTION _batmap_to_jsonb(batmap) AS ASSIGNMENT;
COMMENT ON CAST (batmap AS jsonb) IS 'an array of the elements, ascending';

CREATE FUNCTION _batmap_from_json(json, int4, bool) RETURNS batmap
AS 'MODULE_PATHNAME', 'batmap_from_json' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION _batmap_from_json(json, int4, bool) IS 'the set of the elements of a JSON array';

CREATE CAST (json AS batmap) WITH FUNCTION _batmap_from_json(json, int4, bool);
COMMENT ON CAST (json AS batmap) IS 'elements of an array of integers; duplicates count once';

CREATE FUNCTION _batmap_from_jsonb(jsonb, int4, bool) RETURNS batmap
AS 'MODULE_PATHNAME', 'batmap_from_jsonb' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION _batmap_from_jsonb(jsonb, int4, bool) IS 'the set of the elements of a JSON array';

CREATE CAST (jsonb AS batmap) WITH FUNCTION _batmap_from_jsonb(jsonb, int4, bool);
COMMENT ON CAST (jsonb AS batmap) IS 'elements of an array of integers; duplicates count once';

CREATE FUNCTION _batmap_from_bytea(bytea, int4, bool) RETURNS batmap
AS 'MODULE_PATHNAME', 'batmap_from_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_from_bytea(bytea, int4, bool) IS 'a set from its binary form, which is checked in full';

CREATE FUNCTION _batmap_to_bytea(batmap) RETURNS bytea
AS 'MODULE_PATHNAME', 'batmap_to_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _batmap_to_bytea(batmap) IS 'the binary form of a set';

CREATE CAST (bytea AS batmap) WITH FUNCTION _batmap_from_bytea(bytea, int4, bool);
COMMENT ON CAST (bytea AS batmap) IS 'from the binary form';

CREATE CAST (batmap AS bytea) WITH FUNCTION _batmap_to_bytea(batmap);
COMMENT ON CAST (batmap AS bytea) IS 'to the binary form';

CREATE FUNCTION batmap(elements int8[]) RETURNS batmap
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN elements::batmap;
COMMENT ON FUNCTION batmap(int8[]) IS 'the set of the elements of an array';

CREATE FUNCTION batmap(elements int8[], universe int8) RETURNS batmap
AS 'MODULE_PATHNAME', 'batmap_from_array_universe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION batmap(int8[], int8) IS 'the set of the elements of an array, as a subset of 0 <= x < universe';

CREATE FUNCTION batmap_range(lo int8, hi int8) RETURNS batmap
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION batmap_range(int8, int8) IS 'the set of all x with lo <= x < hi';

CREATE FUNCTION _batmap_set_unnest_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_set_unnest_support' LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_set_unnest_support(internal) IS 'planner support of batmap_unnest over sets';

CREATE FUNCTION batmap_unnest(batmap) RETURNS SETOF int8
AS 'MODULE_PATHNAME', 'batmap_set_unnest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 1000
    SUPPORT _batmap_set_unnest_support;
COMMENT ON FUNCTION batmap_unnest(batmap) IS 'the elements of a set, ascending';

CREATE FUNCTION batmap_from_roaring(bytea) RETURNS batmap
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION batmap_from_roaring(bytea) IS 'a set from portable 32-bit Roaring bytes';

CREATE FUNCTION batmap_from_roaring64(bytea) RETURNS batmap
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION batmap_from_roaring64(bytea) IS 'a set from portable 64-bit Roaring bytes';

CREATE FUNCTION batmap_to_roaring(batmap) RETURNS bytea
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION batmap_to_roaring(batmap) IS 'portable 32-bit Roaring bytes of a set';

CREATE FUNCTION batmap_to_roaring64(batmap) RETURNS bytea
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION batmap_to_roaring64(batmap) IS 'portable 64-bit Roaring bytes of a set';

-- Set algebra

CREATE FUNCTION _batmap_and(batmap, batmap) RETURNS batmap
AS 'MODULE_PATHNAME', 'batmap_and' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_and(batmap, batmap) IS 'intersection of two sets';

CREATE OPERATOR & (
    FUNCTION = _batmap_and, LEFTARG = batmap, RIGHTARG = batmap,
    COMMUTATOR = &
);
COMMENT ON OPERATOR & (batmap, batmap) IS 'intersection';

CREATE FUNCTION _batmap_or(batmap, batmap) RETURNS batmap
AS 'MODULE_PATHNAME', 'batmap_or' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_or(batmap, batmap) IS 'union of two sets';

CREATE OPERATOR | (
    FUNCTION = _batmap_or, LEFTARG = batmap, RIGHTARG = batmap,
    COMMUTATOR = |
);
COMMENT ON OPERATOR | (batmap, batmap) IS 'union';

CREATE FUNCTION _batmap_andnot(batmap, batmap) RETURNS batmap
AS 'MODULE_PATHNAME', 'batmap_andnot' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_andnot(batmap, batmap) IS 'difference of two sets';

CREATE OPERATOR - (
    FUNCTION = _batmap_andnot, LEFTARG = batmap, RIGHTARG = batmap
);
COMMENT ON OPERATOR - (batmap, batmap) IS 'difference';

CREATE FUNCTION _batmap_xor(batmap, batmap) RETURNS batmap
AS 'MODULE_PATHNAME', 'batmap_xor' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_xor(batmap, batmap) IS 'symmetric difference of two sets';

CREATE OPERATOR # (
    FUNCTION = _batmap_xor, LEFTARG = batmap, RIGHTARG = batmap,
    COMMUTATOR = #
);
COMMENT ON OPERATOR # (batmap, batmap) IS 'symmetric difference';

CREATE FUNCTION _batmap_add(batmap, int8) RETURNS batmap
AS 'MODULE_PATHNAME', 'batmap_add' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_add(batmap, int8) IS 'the set with an element added';

CREATE OPERATOR | (
    FUNCTION = _batmap_add, LEFTARG = batmap, RIGHTARG = int8
);
COMMENT ON OPERATOR | (batmap, int8) IS 'adds an element';

CREATE FUNCTION _batmap_remove(batmap, int8) RETURNS batmap
AS 'MODULE_PATHNAME', 'batmap_remove' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_remove(batmap, int8) IS 'the set with an element removed';

CREATE OPERATOR - (
    FUNCTION = _batmap_remove, LEFTARG = batmap, RIGHTARG = int8
);
COMMENT ON OPERATOR - (batmap, int8) IS 'removes an element';

-- Membership, inclusion and overlap

CREATE FUNCTION _batmap_sel(internal, oid, internal, int4) RETURNS float8
AS 'MODULE_PATHNAME', 'batmap_sel' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_sel(internal, oid, internal, int4) IS 'restriction selectivity of && @> <@ % over sets';

CREATE FUNCTION _batmap_joinsel(internal, oid, internal, int2, internal) RETURNS float8
AS 'MODULE_PATHNAME', 'batmap_joinsel' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_joinsel(internal, oid, internal, int2, internal) IS 'join selectivity of && @> <@ % over sets';

CREATE FUNCTION _batmap_overlaps(batmap, batmap) RETURNS bool
AS 'MODULE_PATHNAME', 'batmap_overlaps' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION _batmap_overlaps(batmap, batmap) IS 'do two sets have an element in common?';

CREATE OPERATOR && (
    FUNCTION = _batmap_overlaps, LEFTARG = batmap, RIGHTARG = batmap,
    COMMUTATOR = &&, RESTRICT = _batmap_sel, JOIN = _batmap_joinsel
);
COMMENT ON OPERATOR && (batmap, batmap) IS 'overlaps';

CREATE FUNCTION _batmap_contains(batmap, batmap) RETURNS bool
AS 'MODULE_PATHNAME', 'batmap_contains' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION _batmap_contains(batmap, batmap) IS 'does the first set contain all elements of the second?';

CREATE OPERATOR @> (
    FUNCTION = _batmap_contains, LEFTARG = batmap, RIGHTARG = batmap,
    COMMUTATOR = <@, RESTRICT = _batmap_sel, JOIN = _batmap_joinsel
);
COMMENT ON OPERATOR @> (batmap, batmap) IS 'contains';

CREATE FUNCTION _batmap_contained(batmap, batmap) RETURNS bool
AS 'MODULE_PATHNAME', 'batmap_contained' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION _batmap_contained(batmap, batmap) IS 'are all elements of the first set in the second?';

CREATE OPERATOR <@ (
    FUNCTION = _batmap_contained, LEFTARG = batmap, RIGHTARG = batmap,
    COMMUTATOR = @>, RESTRICT = _batmap_sel, JOIN = _batmap_joinsel
);
COMMENT ON OPERATOR <@ (batmap, batmap) IS 'is contained by';

CREATE FUNCTION _batmap_contains_element(batmap, int8) RETURNS bool
AS 'MODULE_PATHNAME', 'batmap_contains_element' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION _batmap_contains_element(batmap, int8) IS 'is the element in the set?';

CREATE OPERATOR @> (
    FUNCTION = _batmap_contains_element, LEFTARG = batmap, RIGHTARG = int8,
    COMMUTATOR = <@, RESTRICT = _batmap_sel, JOIN = _batmap_joinsel
);
COMMENT ON OPERATOR @> (batmap, int8) IS 'contains the element';

CREATE FUNCTION _batmap_element_contained(int8, batmap) RETURNS bool
AS 'MODULE_PATHNAME', 'batmap_element_contained' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION _batmap_element_contained(int8, batmap) IS 'is the element in the set?';

CREATE OPERATOR <@ (
    FUNCTION = _batmap_element_contained, LEFTARG = int8, RIGHTARG = batmap,
    COMMUTATOR = @>, RESTRICT = _batmap_sel, JOIN = _batmap_joinsel
);
COMMENT ON OPERATOR <@ (int8, batmap) IS 'is an element of';

CREATE FUNCTION _batmap_similar(batmap, batmap) RETURNS bool
AS 'MODULE_PATHNAME', 'batmap_similar' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION _batmap_similar(batmap, batmap) IS 'is the Jaccard index at least batmap.similarity_threshold?';

CREATE OPERATOR % (
    FUNCTION = _batmap_similar, LEFTARG = batmap, RIGHTARG = batmap,
    COMMUTATOR = %, RESTRICT = _batmap_sel, JOIN = _batmap_joinsel
);
COMMENT ON OPERATOR % (batmap, batmap) IS 'is like: the Jaccard index is at least batmap.similarity_threshold';

-- Equality and order depend on the elements alone, not on the universe

CREATE FUNCTION _batmap_eq(batmap, batmap) RETURNS bool
AS 'MODULE_PATHNAME', 'batmap_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION _batmap_eq(batmap, batmap) IS 'do two sets have the same elements?';

CREATE OPERATOR = (
    FUNCTION = _batmap_eq, LEFTARG = batmap, RIGHTARG = batmap,
    COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (batmap, batmap) IS 'equal';

CREATE FUNCTION _batmap_ne(batmap, batmap) RETURNS bool
AS 'MODULE_PATHNAME', 'batmap_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION _batmap_ne(batmap, batmap) IS 'do two sets have different elements?';

CREATE OPERATOR <> (
    FUNCTION = _batmap_ne, LEFTARG = batmap, RIGHTARG = batmap,
    COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (batmap, batmap) IS 'not equal';

CREATE FUNCTION _batmap_lt(batmap, batmap) RETURNS bool
AS 'MODULE_PATHNAME', 'batmap_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION _batmap_lt(batmap, batmap) IS 'less, in the order of the ascending elements';

CREATE OPERATOR < (
    FUNCTION = _batmap_lt, LEFTARG = batmap, RIGHTARG = batmap,
    COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (batmap, batmap) IS 'less';

CREATE FUNCTION _batmap_le(batmap, batmap) RETURNS bool
AS 'MODULE_PATHNAME', 'batmap_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION _batmap_le(batmap, batmap) IS 'less or equal, in the order of the ascending elements';

CREATE OPERATOR <= (
    FUNCTION = _batmap_le, LEFTARG = batmap, RIGHTARG = batmap,
    COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (batmap, batmap) IS 'less or equal';

CREATE FUNCTION _batmap_gt(batmap, batmap) RETURNS bool
AS 'MODULE_PATHNAME', 'batmap_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION _batmap_gt(batmap, batmap) IS 'greater, in the order of the ascending elements';

CREATE OPERATOR > (
    FUNCTION = _batmap_gt, LEFTARG = batmap, RIGHTARG = batmap,
    COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (batmap, batmap) IS 'greater';

CREATE FUNCTION _batmap_ge(batmap, batmap) RETURNS bool
AS 'MODULE_PATHNAME', 'batmap_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION _batmap_ge(batmap, batmap) IS 'greater or equal, in the order of the ascending elements';

CREATE OPERATOR >= (
    FUNCTION = _batmap_ge, LEFTARG = batmap, RIGHTARG = batmap,
    COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (batmap, batmap) IS 'greater or equal';

CREATE FUNCTION _batmap_cmp(batmap, batmap) RETURNS int4
AS 'MODULE_PATHNAME', 'batmap_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION _batmap_cmp(batmap, batmap) IS 'order of the ascending elements: -1, 0 or 1';

CREATE FUNCTION _batmap_hash(batmap) RETURNS int4
AS 'MODULE_PATHNAME', 'batmap_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_hash(batmap) IS 'hash of the elements';

CREATE FUNCTION _batmap_hash_extended(batmap, int8) RETURNS int8
AS 'MODULE_PATHNAME', 'batmap_hash_extended' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_hash_extended(batmap, int8) IS 'hash of the elements with a seed';

CREATE OPERATOR CLASS batmap_btree_ops DEFAULT FOR TYPE batmap USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
    FUNCTION 1 _batmap_cmp(batmap, batmap);
COMMENT ON OPERATOR CLASS batmap_btree_ops USING btree IS 'order of the ascending elements';

CREATE OPERATOR CLASS batmap_hash_ops DEFAULT FOR TYPE batmap USING hash AS
    OPERATOR 1 =,
    FUNCTION 1 _batmap_hash(batmap),
    FUNCTION 2 _batmap_hash_extended(batmap, int8);
COMMENT ON OPERATOR CLASS batmap_hash_ops USING hash IS 'equality of the elements';

-- GIN index over the elements

CREATE FUNCTION _batmap_gin_extract_value(batmap, internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_gin_extract_value' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_gin_extract_value(batmap, internal) IS 'GIN support';

CREATE FUNCTION _batmap_gin_extract_query(batmap, internal, int2, internal, internal, internal, internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_gin_extract_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_gin_extract_query(batmap, internal, int2, internal, internal, internal, internal) IS 'GIN support';

CREATE FUNCTION _batmap_gin_consistent(internal, int2, batmap, int4, internal, internal, internal, internal) RETURNS bool
AS 'MODULE_PATHNAME', 'batmap_gin_consistent' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_gin_consistent(internal, int2, batmap, int4, internal, internal, internal, internal) IS 'GIN support';

CREATE FUNCTION _batmap_gin_triconsistent(internal, int2, batmap, int4, internal, internal, internal) RETURNS "char"
AS 'MODULE_PATHNAME', 'batmap_gin_triconsistent' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_gin_triconsistent(internal, int2, batmap, int4, internal, internal, internal) IS 'GIN support';

CREATE OPERATOR CLASS batmap_gin_ops DEFAULT FOR TYPE batmap USING gin AS
    OPERATOR 1 &&, OPERATOR 2 @>, OPERATOR 3 <@, OPERATOR 4 =, OPERATOR 5 @> (batmap, int8), OPERATOR 6 %,
    FUNCTION 1 btint8cmp(int8, int8),
    FUNCTION 2 _batmap_gin_extract_value(batmap, internal),
    FUNCTION 3 _batmap_gin_extract_query(batmap, internal, int2, internal, internal, internal, internal),
    FUNCTION 4 _batmap_gin_consistent(internal, int2, batmap, int4, internal, internal, internal, internal),
    FUNCTION 6 _batmap_gin_triconsistent(internal, int2, batmap, int4, internal, internal, internal),
    STORAGE int8;
COMMENT ON OPERATOR CLASS batmap_gin_ops USING gin IS 'elements: && @> <@ = % and @> int8';

-- Counts and measures

CREATE FUNCTION batmap_cardinality(batmap) RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION batmap_cardinality(batmap) IS 'number of elements';

CREATE FUNCTION batmap_and_cardinality(batmap, batmap) RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION batmap_and_cardinality(batmap, batmap) IS 'number of common elements';

CREATE FUNCTION batmap_and_cardinality(VARIADIC batmap[]) RETURNS int8
AS 'MODULE_PATHNAME', 'batmap_and_cardinality_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION batmap_and_cardinality(batmap[]) IS 'number of elements of the intersection of all sets; NULL for no sets';

CREATE FUNCTION batmap_or_cardinality(batmap, batmap) RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION batmap_or_cardinality(batmap, batmap) IS 'number of elements of the union';

CREATE FUNCTION batmap_xor_cardinality(batmap, batmap) RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION batmap_xor_cardinality(batmap, batmap) IS 'number of elements that exactly one of the sets has';

CREATE FUNCTION batmap_andnot_cardinality(batmap, batmap) RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION batmap_andnot_cardinality(batmap, batmap) IS 'number of elements that only the first set has';

CREATE FUNCTION batmap_jaccard(batmap, batmap) RETURNS float8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION batmap_jaccard(batmap, batmap) IS 'common elements / elements of the union; 1 for two empty sets';

CREATE FUNCTION batmap_dice(batmap, batmap) RETURNS float8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION batmap_dice(batmap, batmap) IS '2 * common elements / sum of the sizes; 1 for two empty sets';

CREATE FUNCTION batmap_cosine(batmap, batmap) RETURNS float8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION batmap_cosine(batmap, batmap) IS 'common elements / root of the product of the sizes; 1 for two empty sets';

CREATE FUNCTION batmap_overlap(batmap, batmap) RETURNS float8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION batmap_overlap(batmap, batmap) IS 'common elements / size of the smaller set; 1 for two empty sets';

CREATE FUNCTION _batmap_distance_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_distance_support' LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_distance_support(internal) IS 'planner support of <%>';

CREATE FUNCTION _batmap_jaccard_distance(batmap, batmap) RETURNS float8
AS 'MODULE_PATHNAME', 'batmap_jaccard_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
    SUPPORT _batmap_distance_support;
COMMENT ON FUNCTION _batmap_jaccard_distance(batmap, batmap) IS '1 - Jaccard similarity';

CREATE OPERATOR <%> (
    FUNCTION = _batmap_jaccard_distance, LEFTARG = batmap, RIGHTARG = batmap,
    COMMUTATOR = <%>
);
COMMENT ON OPERATOR <%> (batmap, batmap) IS 'Jaccard distance';

-- A set beside an array of integers, on either side. The array is coerced to a type of its own first: an operator of int8[] itself
-- would be a better match than the server's own for int8[] = '{1,2}', where no set is meant. The planner puts the body in the place
-- of the operator, so that the array becomes a set first, and indexes and statistics serve it as they serve a set.

CREATE TYPE _batmap_array;

CREATE FUNCTION _batmap_array_in(cstring, oid, int4) RETURNS _batmap_array
AS 'MODULE_PATHNAME', 'batmap_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_array_out(_batmap_array) RETURNS cstring
AS 'MODULE_PATHNAME', 'batmap_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_array_recv(internal, oid, int4) RETURNS _batmap_array
AS 'MODULE_PATHNAME', 'batmap_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_array_send(_batmap_array) RETURNS bytea
AS 'MODULE_PATHNAME', 'batmap_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE _batmap_array (
    INPUT = _batmap_array_in,
    OUTPUT = _batmap_array_out,
    RECEIVE = _batmap_array_recv,
    SEND = _batmap_array_send,
    LIKE = batmap
);
COMMENT ON TYPE _batmap_array IS 'array of integers beside a set, as a set; for the operators of the extension only';

CREATE CAST (_batmap_array AS batmap) WITHOUT FUNCTION;
COMMENT ON CAST (_batmap_array AS batmap) IS 'the same bytes';

CREATE FUNCTION _batmap_array(int2[], int4, bool) RETURNS _batmap_array
AS 'MODULE_PATHNAME', 'batmap_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_array(int2[], int4, bool) IS 'the set of the elements of an array';

CREATE CAST (int2[] AS _batmap_array) WITH FUNCTION _batmap_array(int2[], int4, bool) AS IMPLICIT;
COMMENT ON CAST (int2[] AS _batmap_array) IS 'elements of an array; duplicates count once';

CREATE FUNCTION _batmap_array(int4[], int4, bool) RETURNS _batmap_array
AS 'MODULE_PATHNAME', 'batmap_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_array(int4[], int4, bool) IS 'the set of the elements of an array';

CREATE CAST (int4[] AS _batmap_array) WITH FUNCTION _batmap_array(int4[], int4, bool) AS IMPLICIT;
COMMENT ON CAST (int4[] AS _batmap_array) IS 'elements of an array; duplicates count once';

CREATE FUNCTION _batmap_array(int8[], int4, bool) RETURNS _batmap_array
AS 'MODULE_PATHNAME', 'batmap_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_array(int8[], int4, bool) IS 'the set of the elements of an array';

CREATE CAST (int8[] AS _batmap_array) WITH FUNCTION _batmap_array(int8[], int4, bool) AS IMPLICIT;
COMMENT ON CAST (int8[] AS _batmap_array) IS 'elements of an array; duplicates count once';

CREATE FUNCTION _batmap_and(batmap, _batmap_array) RETURNS batmap
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1 & $2::batmap;
COMMENT ON FUNCTION _batmap_and(batmap, _batmap_array) IS 'the operator & with the array as a set';

CREATE OPERATOR & (
    FUNCTION = _batmap_and, LEFTARG = batmap, RIGHTARG = _batmap_array,
    COMMUTATOR = &
);
COMMENT ON OPERATOR & (batmap, _batmap_array) IS 'intersection';

CREATE FUNCTION _batmap_and(_batmap_array, batmap) RETURNS batmap
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1::batmap & $2;
COMMENT ON FUNCTION _batmap_and(_batmap_array, batmap) IS 'the operator & with the array as a set';

CREATE OPERATOR & (
    FUNCTION = _batmap_and, LEFTARG = _batmap_array, RIGHTARG = batmap,
    COMMUTATOR = &
);
COMMENT ON OPERATOR & (_batmap_array, batmap) IS 'intersection';

CREATE FUNCTION _batmap_or(batmap, _batmap_array) RETURNS batmap
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1 | $2::batmap;
COMMENT ON FUNCTION _batmap_or(batmap, _batmap_array) IS 'the operator | with the array as a set';

CREATE OPERATOR | (
    FUNCTION = _batmap_or, LEFTARG = batmap, RIGHTARG = _batmap_array,
    COMMUTATOR = |
);
COMMENT ON OPERATOR | (batmap, _batmap_array) IS 'union';

CREATE FUNCTION _batmap_or(_batmap_array, batmap) RETURNS batmap
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1::batmap | $2;
COMMENT ON FUNCTION _batmap_or(_batmap_array, batmap) IS 'the operator | with the array as a set';

CREATE OPERATOR | (
    FUNCTION = _batmap_or, LEFTARG = _batmap_array, RIGHTARG = batmap,
    COMMUTATOR = |
);
COMMENT ON OPERATOR | (_batmap_array, batmap) IS 'union';

CREATE FUNCTION _batmap_andnot(batmap, _batmap_array) RETURNS batmap
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1 - $2::batmap;
COMMENT ON FUNCTION _batmap_andnot(batmap, _batmap_array) IS 'the operator - with the array as a set';

CREATE OPERATOR - (
    FUNCTION = _batmap_andnot, LEFTARG = batmap, RIGHTARG = _batmap_array
);
COMMENT ON OPERATOR - (batmap, _batmap_array) IS 'difference';

CREATE FUNCTION _batmap_andnot(_batmap_array, batmap) RETURNS batmap
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1::batmap - $2;
COMMENT ON FUNCTION _batmap_andnot(_batmap_array, batmap) IS 'the operator - with the array as a set';

CREATE OPERATOR - (
    FUNCTION = _batmap_andnot, LEFTARG = _batmap_array, RIGHTARG = batmap
);
COMMENT ON OPERATOR - (_batmap_array, batmap) IS 'difference';

CREATE FUNCTION _batmap_xor(batmap, _batmap_array) RETURNS batmap
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1 # $2::batmap;
COMMENT ON FUNCTION _batmap_xor(batmap, _batmap_array) IS 'the operator # with the array as a set';

CREATE OPERATOR # (
    FUNCTION = _batmap_xor, LEFTARG = batmap, RIGHTARG = _batmap_array,
    COMMUTATOR = #
);
COMMENT ON OPERATOR # (batmap, _batmap_array) IS 'symmetric difference';

CREATE FUNCTION _batmap_xor(_batmap_array, batmap) RETURNS batmap
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1::batmap # $2;
COMMENT ON FUNCTION _batmap_xor(_batmap_array, batmap) IS 'the operator # with the array as a set';

CREATE OPERATOR # (
    FUNCTION = _batmap_xor, LEFTARG = _batmap_array, RIGHTARG = batmap,
    COMMUTATOR = #
);
COMMENT ON OPERATOR # (_batmap_array, batmap) IS 'symmetric difference';

CREATE FUNCTION _batmap_overlaps(batmap, _batmap_array) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1 && $2::batmap;
COMMENT ON FUNCTION _batmap_overlaps(batmap, _batmap_array) IS 'the operator && with the array as a set';

CREATE OPERATOR && (
    FUNCTION = _batmap_overlaps, LEFTARG = batmap, RIGHTARG = _batmap_array,
    COMMUTATOR = &&
);
COMMENT ON OPERATOR && (batmap, _batmap_array) IS 'overlaps';

CREATE FUNCTION _batmap_overlaps(_batmap_array, batmap) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1::batmap && $2;
COMMENT ON FUNCTION _batmap_overlaps(_batmap_array, batmap) IS 'the operator && with the array as a set';

CREATE OPERATOR && (
    FUNCTION = _batmap_overlaps, LEFTARG = _batmap_array, RIGHTARG = batmap,
    COMMUTATOR = &&
);
COMMENT ON OPERATOR && (_batmap_array, batmap) IS 'overlaps';

CREATE FUNCTION _batmap_contains(batmap, _batmap_array) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1 @> $2::batmap;
COMMENT ON FUNCTION _batmap_contains(batmap, _batmap_array) IS 'the operator @> with the array as a set';

CREATE OPERATOR @> (
    FUNCTION = _batmap_contains, LEFTARG = batmap, RIGHTARG = _batmap_array,
    COMMUTATOR = <@
);
COMMENT ON OPERATOR @> (batmap, _batmap_array) IS 'contains';

CREATE FUNCTION _batmap_contains(_batmap_array, batmap) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1::batmap @> $2;
COMMENT ON FUNCTION _batmap_contains(_batmap_array, batmap) IS 'the operator @> with the array as a set';

CREATE OPERATOR @> (
    FUNCTION = _batmap_contains, LEFTARG = _batmap_array, RIGHTARG = batmap,
    COMMUTATOR = <@
);
COMMENT ON OPERATOR @> (_batmap_array, batmap) IS 'contains';

CREATE FUNCTION _batmap_contained(batmap, _batmap_array) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1 <@ $2::batmap;
COMMENT ON FUNCTION _batmap_contained(batmap, _batmap_array) IS 'the operator <@ with the array as a set';

CREATE OPERATOR <@ (
    FUNCTION = _batmap_contained, LEFTARG = batmap, RIGHTARG = _batmap_array,
    COMMUTATOR = @>
);
COMMENT ON OPERATOR <@ (batmap, _batmap_array) IS 'is contained by';

CREATE FUNCTION _batmap_contained(_batmap_array, batmap) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1::batmap <@ $2;
COMMENT ON FUNCTION _batmap_contained(_batmap_array, batmap) IS 'the operator <@ with the array as a set';

CREATE OPERATOR <@ (
    FUNCTION = _batmap_contained, LEFTARG = _batmap_array, RIGHTARG = batmap,
    COMMUTATOR = @>
);
COMMENT ON OPERATOR <@ (_batmap_array, batmap) IS 'is contained by';

CREATE FUNCTION _batmap_similar(batmap, _batmap_array) RETURNS bool
LANGUAGE sql STABLE STRICT PARALLEL SAFE RETURN $1 % $2::batmap;
COMMENT ON FUNCTION _batmap_similar(batmap, _batmap_array) IS 'the operator % with the array as a set';

CREATE OPERATOR % (
    FUNCTION = _batmap_similar, LEFTARG = batmap, RIGHTARG = _batmap_array,
    COMMUTATOR = %
);
COMMENT ON OPERATOR % (batmap, _batmap_array) IS 'is like';

CREATE FUNCTION _batmap_similar(_batmap_array, batmap) RETURNS bool
LANGUAGE sql STABLE STRICT PARALLEL SAFE RETURN $1::batmap % $2;
COMMENT ON FUNCTION _batmap_similar(_batmap_array, batmap) IS 'the operator % with the array as a set';

CREATE OPERATOR % (
    FUNCTION = _batmap_similar, LEFTARG = _batmap_array, RIGHTARG = batmap,
    COMMUTATOR = %
);
COMMENT ON OPERATOR % (_batmap_array, batmap) IS 'is like';

CREATE FUNCTION _batmap_eq(batmap, _batmap_array) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1 = $2::batmap;
COMMENT ON FUNCTION _batmap_eq(batmap, _batmap_array) IS 'the operator = with the array as a set';

CREATE OPERATOR = (
    FUNCTION = _batmap_eq, LEFTARG = batmap, RIGHTARG = _batmap_array,
    COMMUTATOR = =, NEGATOR = <>
);
COMMENT ON OPERATOR = (batmap, _batmap_array) IS 'equal';

CREATE FUNCTION _batmap_eq(_batmap_array, batmap) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1::batmap = $2;
COMMENT ON FUNCTION _batmap_eq(_batmap_array, batmap) IS 'the operator = with the array as a set';

CREATE OPERATOR = (
    FUNCTION = _batmap_eq, LEFTARG = _batmap_array, RIGHTARG = batmap,
    COMMUTATOR = =, NEGATOR = <>
);
COMMENT ON OPERATOR = (_batmap_array, batmap) IS 'equal';

CREATE FUNCTION _batmap_ne(batmap, _batmap_array) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1 <> $2::batmap;
COMMENT ON FUNCTION _batmap_ne(batmap, _batmap_array) IS 'the operator <> with the array as a set';

CREATE OPERATOR <> (
    FUNCTION = _batmap_ne, LEFTARG = batmap, RIGHTARG = _batmap_array,
    COMMUTATOR = <>, NEGATOR = =
);
COMMENT ON OPERATOR <> (batmap, _batmap_array) IS 'not equal';

CREATE FUNCTION _batmap_ne(_batmap_array, batmap) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1::batmap <> $2;
COMMENT ON FUNCTION _batmap_ne(_batmap_array, batmap) IS 'the operator <> with the array as a set';

CREATE OPERATOR <> (
    FUNCTION = _batmap_ne, LEFTARG = _batmap_array, RIGHTARG = batmap,
    COMMUTATOR = <>, NEGATOR = =
);
COMMENT ON OPERATOR <> (_batmap_array, batmap) IS 'not equal';

CREATE FUNCTION _batmap_lt(batmap, _batmap_array) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1 < $2::batmap;
COMMENT ON FUNCTION _batmap_lt(batmap, _batmap_array) IS 'the operator < with the array as a set';

CREATE OPERATOR < (
    FUNCTION = _batmap_lt, LEFTARG = batmap, RIGHTARG = _batmap_array,
    COMMUTATOR = >, NEGATOR = >=
);
COMMENT ON OPERATOR < (batmap, _batmap_array) IS 'less';

CREATE FUNCTION _batmap_lt(_batmap_array, batmap) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1::batmap < $2;
COMMENT ON FUNCTION _batmap_lt(_batmap_array, batmap) IS 'the operator < with the array as a set';

CREATE OPERATOR < (
    FUNCTION = _batmap_lt, LEFTARG = _batmap_array, RIGHTARG = batmap,
    COMMUTATOR = >, NEGATOR = >=
);
COMMENT ON OPERATOR < (_batmap_array, batmap) IS 'less';

CREATE FUNCTION _batmap_le(batmap, _batmap_array) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1 <= $2::batmap;
COMMENT ON FUNCTION _batmap_le(batmap, _batmap_array) IS 'the operator <= with the array as a set';

CREATE OPERATOR <= (
    FUNCTION = _batmap_le, LEFTARG = batmap, RIGHTARG = _batmap_array,
    COMMUTATOR = >=, NEGATOR = >
);
COMMENT ON OPERATOR <= (batmap, _batmap_array) IS 'less or equal';

CREATE FUNCTION _batmap_le(_batmap_array, batmap) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1::batmap <= $2;
COMMENT ON FUNCTION _batmap_le(_batmap_array, batmap) IS 'the operator <= with the array as a set';

CREATE OPERATOR <= (
    FUNCTION = _batmap_le, LEFTARG = _batmap_array, RIGHTARG = batmap,
    COMMUTATOR = >=, NEGATOR = >
);
COMMENT ON OPERATOR <= (_batmap_array, batmap) IS 'less or equal';

CREATE FUNCTION _batmap_gt(batmap, _batmap_array) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1 > $2::batmap;
COMMENT ON FUNCTION _batmap_gt(batmap, _batmap_array) IS 'the operator > with the array as a set';

CREATE OPERATOR > (
    FUNCTION = _batmap_gt, LEFTARG = batmap, RIGHTARG = _batmap_array,
    COMMUTATOR = <, NEGATOR = <=
);
COMMENT ON OPERATOR > (batmap, _batmap_array) IS 'greater';

CREATE FUNCTION _batmap_gt(_batmap_array, batmap) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1::batmap > $2;
COMMENT ON FUNCTION _batmap_gt(_batmap_array, batmap) IS 'the operator > with the array as a set';

CREATE OPERATOR > (
    FUNCTION = _batmap_gt, LEFTARG = _batmap_array, RIGHTARG = batmap,
    COMMUTATOR = <, NEGATOR = <=
);
COMMENT ON OPERATOR > (_batmap_array, batmap) IS 'greater';

CREATE FUNCTION _batmap_ge(batmap, _batmap_array) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1 >= $2::batmap;
COMMENT ON FUNCTION _batmap_ge(batmap, _batmap_array) IS 'the operator >= with the array as a set';

CREATE OPERATOR >= (
    FUNCTION = _batmap_ge, LEFTARG = batmap, RIGHTARG = _batmap_array,
    COMMUTATOR = <=, NEGATOR = <
);
COMMENT ON OPERATOR >= (batmap, _batmap_array) IS 'greater or equal';

CREATE FUNCTION _batmap_ge(_batmap_array, batmap) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1::batmap >= $2;
COMMENT ON FUNCTION _batmap_ge(_batmap_array, batmap) IS 'the operator >= with the array as a set';

CREATE OPERATOR >= (
    FUNCTION = _batmap_ge, LEFTARG = _batmap_array, RIGHTARG = batmap,
    COMMUTATOR = <=, NEGATOR = <
);
COMMENT ON OPERATOR >= (_batmap_array, batmap) IS 'greater or equal';

CREATE FUNCTION _batmap_jaccard_distance(batmap, _batmap_array) RETURNS float8
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1 <%> $2::batmap;
COMMENT ON FUNCTION _batmap_jaccard_distance(batmap, _batmap_array) IS 'the operator <%> with the array as a set';

CREATE OPERATOR <%> (
    FUNCTION = _batmap_jaccard_distance, LEFTARG = batmap, RIGHTARG = _batmap_array,
    COMMUTATOR = <%>
);
COMMENT ON OPERATOR <%> (batmap, _batmap_array) IS 'Jaccard distance';

CREATE FUNCTION _batmap_jaccard_distance(_batmap_array, batmap) RETURNS float8
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1::batmap <%> $2;
COMMENT ON FUNCTION _batmap_jaccard_distance(_batmap_array, batmap) IS 'the operator <%> with the array as a set';

CREATE OPERATOR <%> (
    FUNCTION = _batmap_jaccard_distance, LEFTARG = _batmap_array, RIGHTARG = batmap,
    COMMUTATOR = <%>
);
COMMENT ON OPERATOR <%> (_batmap_array, batmap) IS 'Jaccard distance';

CREATE FUNCTION batmap_is_empty(batmap) RETURNS bool
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION batmap_is_empty(batmap) IS 'is the set empty?';

CREATE FUNCTION batmap_min(batmap) RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION batmap_min(batmap) IS 'smallest element; NULL for the empty set';

CREATE FUNCTION batmap_max(batmap) RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION batmap_max(batmap) IS 'largest element; NULL for the empty set';

CREATE FUNCTION batmap_universe(batmap) RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION batmap_universe(batmap) IS 'size of the universe, 2^w: all elements are below it; of a compact set, the least such number from 65536 up';

CREATE FUNCTION batmap_stats(batmap, OUT container text, OUT universe int8, OUT cardinality int8, OUT bytes int8, OUT slots int8, OUT stash int8) RETURNS record
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION batmap_stats(batmap) IS 'how a set is stored';

-- Aggregates over sets

CREATE TYPE batmap_state;

CREATE FUNCTION _batmap_state_in(cstring) RETURNS batmap_state
AS 'MODULE_PATHNAME', 'batmap_state_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_state_out(batmap_state) RETURNS cstring
AS 'MODULE_PATHNAME', 'batmap_state_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_state_recv(internal) RETURNS batmap_state
AS 'MODULE_PATHNAME', 'batmap_state_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_state_send(batmap_state) RETURNS bytea
AS 'MODULE_PATHNAME', 'batmap_state_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE batmap_state (
    INPUT = _batmap_state_in,
    OUTPUT = _batmap_state_out,
    RECEIVE = _batmap_state_recv,
    SEND = _batmap_state_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = double,
    STORAGE = external
);
COMMENT ON TYPE batmap_state IS 'state of the aggregates over sets';

CREATE FUNCTION _batmap_agg_trans(batmap_state, int2) RETURNS batmap_state
AS 'MODULE_PATHNAME', 'batmap_agg_trans_int2' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_agg_trans(batmap_state, int2) IS 'transition function of batmap_agg';

CREATE FUNCTION _batmap_agg_trans(batmap_state, int2, int8) RETURNS batmap_state
AS 'MODULE_PATHNAME', 'batmap_agg_trans_int2_universe' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_agg_trans(batmap_state, int2, int8) IS 'transition function of batmap_agg with a universe';

CREATE FUNCTION _batmap_agg_trans(batmap_state, int4) RETURNS batmap_state
AS 'MODULE_PATHNAME', 'batmap_agg_trans_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_agg_trans(batmap_state, int4) IS 'transition function of batmap_agg';

CREATE FUNCTION _batmap_agg_trans(batmap_state, int4, int8) RETURNS batmap_state
AS 'MODULE_PATHNAME', 'batmap_agg_trans_int4_universe' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_agg_trans(batmap_state, int4, int8) IS 'transition function of batmap_agg with a universe';

CREATE FUNCTION _batmap_agg_trans(batmap_state, int8) RETURNS batmap_state
AS 'MODULE_PATHNAME', 'batmap_agg_trans_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_agg_trans(batmap_state, int8) IS 'transition function of batmap_agg';

CREATE FUNCTION _batmap_agg_trans(batmap_state, int8, int8) RETURNS batmap_state
AS 'MODULE_PATHNAME', 'batmap_agg_trans_int8_universe' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_agg_trans(batmap_state, int8, int8) IS 'transition function of batmap_agg with a universe';

CREATE FUNCTION _batmap_or_trans(batmap_state, batmap) RETURNS batmap_state
AS 'MODULE_PATHNAME', 'batmap_or_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_or_trans(batmap_state, batmap) IS 'transition function of batmap_or_agg';

CREATE FUNCTION _batmap_and_trans(batmap_state, batmap) RETURNS batmap_state
AS 'MODULE_PATHNAME', 'batmap_and_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_and_trans(batmap_state, batmap) IS 'transition function of batmap_and_agg';

CREATE FUNCTION _batmap_xor_trans(batmap_state, batmap) RETURNS batmap_state
AS 'MODULE_PATHNAME', 'batmap_xor_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_xor_trans(batmap_state, batmap) IS 'transition function of batmap_xor_agg';

CREATE FUNCTION _batmap_state_merge(batmap_state, batmap_state) RETURNS batmap_state
AS 'MODULE_PATHNAME', 'batmap_state_merge' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_state_merge(batmap_state, batmap_state) IS 'combines two states of one aggregate; NULL is a state without rows';

CREATE FUNCTION _batmap_agg_merge(batmap_state, batmap_state) RETURNS batmap_state
AS 'MODULE_PATHNAME', 'batmap_agg_merge' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_agg_merge(batmap_state, batmap_state) IS 'combines two states of batmap_agg with the same declared universe';

CREATE FUNCTION _batmap_state_final(batmap_state) RETURNS batmap
AS 'MODULE_PATHNAME', 'batmap_state_final' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_state_final(batmap_state) IS 'the set that a state has collected';

CREATE FUNCTION _batmap_state_cardinality(batmap_state) RETURNS int8
AS 'MODULE_PATHNAME', 'batmap_state_cardinality' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_state_cardinality(batmap_state) IS 'number of elements that a state has collected; 0 for NULL';

CREATE FUNCTION _batmap_state_and_cardinality(batmap_state) RETURNS int8
AS 'MODULE_PATHNAME', 'batmap_state_and_cardinality' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_state_and_cardinality(batmap_state) IS 'number of elements that a state has collected; NULL for NULL';

CREATE AGGREGATE batmap_agg(element int2) (
    SFUNC = _batmap_agg_trans, STYPE = batmap_state, SSPACE = 1024,
    COMBINEFUNC = _batmap_state_merge,
    FINALFUNC = _batmap_state_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_agg(int2) IS 'the set of the values; NULLs are ignored, NULL over no values';

CREATE AGGREGATE batmap_agg(element int2, universe int8) (
    SFUNC = _batmap_agg_trans, STYPE = batmap_state, SSPACE = 1024,
    COMBINEFUNC = _batmap_agg_merge,
    FINALFUNC = _batmap_state_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_agg(int2, int8) IS 'the set of the values as a subset of 0 <= x < universe';

CREATE AGGREGATE batmap_cardinality_agg(element int2) (
    SFUNC = _batmap_agg_trans, STYPE = batmap_state, SSPACE = 1024,
    COMBINEFUNC = _batmap_state_merge,
    FINALFUNC = _batmap_state_cardinality, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_cardinality_agg(int2) IS 'number of distinct values; 0 over no values';

CREATE AGGREGATE batmap_agg(element int4) (
    SFUNC = _batmap_agg_trans, STYPE = batmap_state, SSPACE = 1024,
    COMBINEFUNC = _batmap_state_merge,
    FINALFUNC = _batmap_state_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_agg(int4) IS 'the set of the values; NULLs are ignored, NULL over no values';

CREATE AGGREGATE batmap_agg(element int4, universe int8) (
    SFUNC = _batmap_agg_trans, STYPE = batmap_state, SSPACE = 1024,
    COMBINEFUNC = _batmap_agg_merge,
    FINALFUNC = _batmap_state_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_agg(int4, int8) IS 'the set of the values as a subset of 0 <= x < universe';

CREATE AGGREGATE batmap_cardinality_agg(element int4) (
    SFUNC = _batmap_agg_trans, STYPE = batmap_state, SSPACE = 1024,
    COMBINEFUNC = _batmap_state_merge,
    FINALFUNC = _batmap_state_cardinality, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_cardinality_agg(int4) IS 'number of distinct values; 0 over no values';

CREATE AGGREGATE batmap_agg(element int8) (
    SFUNC = _batmap_agg_trans, STYPE = batmap_state, SSPACE = 1024,
    COMBINEFUNC = _batmap_state_merge,
    FINALFUNC = _batmap_state_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_agg(int8) IS 'the set of the values; NULLs are ignored, NULL over no values';

CREATE AGGREGATE batmap_agg(element int8, universe int8) (
    SFUNC = _batmap_agg_trans, STYPE = batmap_state, SSPACE = 1024,
    COMBINEFUNC = _batmap_agg_merge,
    FINALFUNC = _batmap_state_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_agg(int8, int8) IS 'the set of the values as a subset of 0 <= x < universe';

CREATE AGGREGATE batmap_cardinality_agg(element int8) (
    SFUNC = _batmap_agg_trans, STYPE = batmap_state, SSPACE = 1024,
    COMBINEFUNC = _batmap_state_merge,
    FINALFUNC = _batmap_state_cardinality, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_cardinality_agg(int8) IS 'number of distinct values; 0 over no values';

CREATE AGGREGATE batmap_or_agg(batmap) (
    SFUNC = _batmap_or_trans, STYPE = batmap_state, SSPACE = 65536,
    COMBINEFUNC = _batmap_state_merge,
    FINALFUNC = _batmap_state_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_or_agg(batmap) IS 'union of the sets; NULLs are ignored, NULL over no sets';

CREATE AGGREGATE batmap_or_cardinality_agg(batmap) (
    SFUNC = _batmap_or_trans, STYPE = batmap_state, SSPACE = 65536,
    COMBINEFUNC = _batmap_state_merge,
    FINALFUNC = _batmap_state_cardinality, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_or_cardinality_agg(batmap) IS 'number of elements of the union of the sets; 0 over no sets';

CREATE AGGREGATE batmap_and_agg(batmap) (
    SFUNC = _batmap_and_trans, STYPE = batmap_state, SSPACE = 65536,
    COMBINEFUNC = _batmap_state_merge,
    FINALFUNC = _batmap_state_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_and_agg(batmap) IS 'intersection of the sets; NULLs are ignored, NULL over no sets';

CREATE AGGREGATE batmap_and_cardinality_agg(batmap) (
    SFUNC = _batmap_and_trans, STYPE = batmap_state, SSPACE = 65536,
    COMBINEFUNC = _batmap_state_merge,
    FINALFUNC = _batmap_state_and_cardinality, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_and_cardinality_agg(batmap) IS 'number of elements of the intersection of the sets; NULL over no sets';

CREATE AGGREGATE batmap_xor_agg(batmap) (
    SFUNC = _batmap_xor_trans, STYPE = batmap_state, SSPACE = 65536,
    COMBINEFUNC = _batmap_state_merge,
    FINALFUNC = _batmap_state_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_xor_agg(batmap) IS 'symmetric difference of the sets; NULLs are ignored, NULL over no sets';

CREATE AGGREGATE batmap_xor_cardinality_agg(batmap) (
    SFUNC = _batmap_xor_trans, STYPE = batmap_state, SSPACE = 65536,
    COMBINEFUNC = _batmap_state_merge,
    FINALFUNC = _batmap_state_cardinality, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_xor_cardinality_agg(batmap) IS 'number of elements of the symmetric difference of the sets; 0 over no sets';

-- All pairs of sets

CREATE FUNCTION _batmap_all_pairs_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_all_pairs_support' LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_all_pairs_support(internal) IS 'planner support of batmap_all_pairs';

CREATE FUNCTION batmap_all_pairs(
    query text,
    min_count int8 DEFAULT NULL,
    min_jaccard float8 DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT 'auto',
    device text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (id_a int8, id_b int8, intersection int8, jaccard float8)
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_all_pairs_support;
COMMENT ON FUNCTION batmap_all_pairs(text, int8, float8, int8, int4, int8, text, text, record)
IS 'all pairs of the (id, batmap) rows of a query whose intersection or Jaccard index is large enough';

CREATE FUNCTION batmap_all_pairs_of(
    query text,
    min_count int8 DEFAULT NULL,
    min_jaccard float8 DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT 'auto',
    device text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (id_a text, id_b text, intersection int8, jaccard float8)
AS 'MODULE_PATHNAME', 'batmap_all_pairs_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_all_pairs_support;
COMMENT ON FUNCTION batmap_all_pairs_of(text, int8, float8, int8, int4, int8, text, text, record)
IS 'all pairs of the (id, batmap) rows of a query whose intersection or Jaccard index is large enough, for text ids';

CREATE FUNCTION batmap_all_pairs_as(
    id_type anyelement,
    query text,
    min_count int8 DEFAULT NULL,
    min_jaccard float8 DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    method text DEFAULT 'auto',
    device text DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS TABLE (id_a anyelement, id_b anyelement, intersection int8, jaccard float8)
AS 'MODULE_PATHNAME', 'batmap_all_pairs_as_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 100000
    SUPPORT _batmap_all_pairs_support;
COMMENT ON FUNCTION batmap_all_pairs_as(anyelement, text, int8, float8, int8, int4, int8, text, text, record)
IS 'all pairs of the (id, batmap) rows of a query whose intersection or Jaccard index is large enough, for ids of any hashable type';

-- The sets that are most like a set

CREATE FUNCTION _batmap_similar_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_similar_support' LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_similar_support(internal) IS 'planner support of batmap_similar';

CREATE FUNCTION batmap_similar(
    to_set batmap,
    query text,
    min_jaccard float8 DEFAULT NULL,
    top_k int8 DEFAULT 10,
    params record DEFAULT NULL
)
RETURNS TABLE (id int8, intersection int8, jaccard float8)
AS 'MODULE_PATHNAME', 'batmap_similar_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10
    SUPPORT _batmap_similar_support;
COMMENT ON FUNCTION batmap_similar(batmap, text, float8, int8, record)
IS 'the (id, batmap) rows of a query that are most like a set, nearest first';

CREATE FUNCTION batmap_similar_of(
    to_set batmap,
    query text,
    min_jaccard float8 DEFAULT NULL,
    top_k int8 DEFAULT 10,
    params record DEFAULT NULL
)
RETURNS TABLE (id text, intersection int8, jaccard float8)
AS 'MODULE_PATHNAME', 'batmap_similar_text_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10
    SUPPORT _batmap_similar_support;
COMMENT ON FUNCTION batmap_similar_of(batmap, text, float8, int8, record)
IS 'the (id, batmap) rows of a query that are most like a set, nearest first, for text ids';

CREATE FUNCTION batmap_similar_as(
    id_type anyelement,
    to_set batmap,
    query text,
    min_jaccard float8 DEFAULT NULL,
    top_k int8 DEFAULT 10,
    params record DEFAULT NULL
)
RETURNS TABLE (id anyelement, intersection int8, jaccard float8)
AS 'MODULE_PATHNAME', 'batmap_similar_as_query' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10
    SUPPORT _batmap_similar_support;
COMMENT ON FUNCTION batmap_similar_as(anyelement, batmap, text, float8, int8, record)
IS 'the (id, batmap) rows of a query that are most like a set, nearest first, for ids of any hashable type';

-- Pair counts: they add up over disjoint sets of transactions -----------------------------------

CREATE TYPE batmap_pair_counts;

CREATE FUNCTION _batmap_pair_counts_in(cstring) RETURNS batmap_pair_counts
AS 'MODULE_PATHNAME', 'batmap_pair_counts_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_pair_counts_out(batmap_pair_counts) RETURNS cstring
AS 'MODULE_PATHNAME', 'batmap_pair_counts_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_pair_counts_recv(internal) RETURNS batmap_pair_counts
AS 'MODULE_PATHNAME', 'batmap_pair_counts_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_pair_counts_send(batmap_pair_counts) RETURNS bytea
AS 'MODULE_PATHNAME', 'batmap_pair_counts_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE batmap_pair_counts (
    INPUT = _batmap_pair_counts_in,
    OUTPUT = _batmap_pair_counts_out,
    RECEIVE = _batmap_pair_counts_recv,
    SEND = _batmap_pair_counts_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = double,
    STORAGE = external
);
COMMENT ON TYPE batmap_pair_counts IS 'counts of pairs, items and transactions; add up over disjoint sets of transactions';

CREATE FUNCTION _batmap_pair_counts_final(batmap_relation) RETURNS batmap_pair_counts
AS 'MODULE_PATHNAME', 'batmap_pair_counts_final' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_pair_counts_final(batmap_relation) IS 'final function of batmap_pair_counts_agg over rows';

CREATE AGGREGATE batmap_pair_counts_agg(tid int4, item int4) (
    SFUNC = _batmap_relation_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_pair_counts_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pair_counts_agg(int4, int4) IS 'counts the pairs of (tid, item) rows';

CREATE AGGREGATE batmap_pair_counts_agg(tid int4, item int8) (
    SFUNC = _batmap_relation_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_pair_counts_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pair_counts_agg(int4, int8) IS 'counts the pairs of (tid, item) rows';

CREATE AGGREGATE batmap_pair_counts_agg(tid int8, item int4) (
    SFUNC = _batmap_relation_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_pair_counts_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pair_counts_agg(int8, int4) IS 'counts the pairs of (tid, item) rows';

CREATE AGGREGATE batmap_pair_counts_agg(tid int8, item int8) (
    SFUNC = _batmap_relation_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_pair_counts_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pair_counts_agg(int8, int8) IS 'counts the pairs of (tid, item) rows';

CREATE AGGREGATE batmap_pair_counts_agg(tid int4, item text) (
    SFUNC = _batmap_relation_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_pair_counts_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pair_counts_agg(int4, text) IS 'counts the pairs of (tid, item) rows, with text items';

CREATE AGGREGATE batmap_pair_counts_agg(tid int4, item uuid) (
    SFUNC = _batmap_relation_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_pair_counts_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pair_counts_agg(int4, uuid) IS 'counts the pairs of (tid, item) rows, with text items, the texts of uuids';

CREATE AGGREGATE batmap_pair_counts_agg(tid int8, item text) (
    SFUNC = _batmap_relation_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_pair_counts_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pair_counts_agg(int8, text) IS 'counts the pairs of (tid, item) rows, with text items';

CREATE AGGREGATE batmap_pair_counts_agg(tid int8, item uuid) (
    SFUNC = _batmap_relation_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_relation_merge,
    FINALFUNC = _batmap_pair_counts_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pair_counts_agg(int8, uuid) IS 'counts the pairs of (tid, item) rows, with text items, the texts of uuids';

CREATE FUNCTION _batmap_pair_counts_basket_trans(batmap_relation, batmap) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_pair_counts_basket_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_pair_counts_basket_trans(batmap_relation, batmap)
IS 'transition function of batmap_pair_counts_agg over sets';

CREATE FUNCTION _batmap_pair_counts_basket_merge(batmap_relation, batmap_relation) RETURNS batmap_relation
AS 'MODULE_PATHNAME', 'batmap_pair_counts_basket_merge' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_pair_counts_basket_merge(batmap_relation, batmap_relation)
IS 'combines two states; the baskets of the second get new numbers';

CREATE FUNCTION _batmap_pair_counts_basket_final(batmap_relation) RETURNS batmap_pair_counts
AS 'MODULE_PATHNAME', 'batmap_pair_counts_basket_final' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_pair_counts_basket_final(batmap_relation) IS 'final function of batmap_pair_counts_agg over sets';

CREATE AGGREGATE batmap_pair_counts_agg(items batmap) (
    SFUNC = _batmap_pair_counts_basket_trans, STYPE = batmap_relation, SSPACE = 4096,
    COMBINEFUNC = _batmap_pair_counts_basket_merge,
    FINALFUNC = _batmap_pair_counts_basket_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pair_counts_agg(batmap) IS 'counts the pairs of baskets; each row is a basket, also if it repeats a set';

CREATE TYPE batmap_pair_counts_state;

CREATE FUNCTION _batmap_pair_counts_state_in(cstring) RETURNS batmap_pair_counts_state
AS 'MODULE_PATHNAME', 'batmap_pair_counts_state_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_pair_counts_state_out(batmap_pair_counts_state) RETURNS cstring
AS 'MODULE_PATHNAME', 'batmap_pair_counts_state_out' LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_pair_counts_state_recv(internal) RETURNS batmap_pair_counts_state
AS 'MODULE_PATHNAME', 'batmap_pair_counts_state_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_pair_counts_state_send(batmap_pair_counts_state) RETURNS bytea
AS 'MODULE_PATHNAME', 'batmap_pair_counts_state_send' LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE TYPE batmap_pair_counts_state (
    INPUT = _batmap_pair_counts_state_in,
    OUTPUT = _batmap_pair_counts_state_out,
    RECEIVE = _batmap_pair_counts_state_recv,
    SEND = _batmap_pair_counts_state_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = double,
    STORAGE = external
);
COMMENT ON TYPE batmap_pair_counts_state IS 'state of batmap_pair_counts_by_tid_agg';

CREATE FUNCTION _batmap_pair_counts_by_tid_trans(batmap_pair_counts_state, int4, int4) RETURNS batmap_pair_counts_state
AS 'MODULE_PATHNAME', 'batmap_pair_counts_by_tid_trans_int4_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_pair_counts_by_tid_trans(batmap_pair_counts_state, int4, int4)
IS 'transition function of batmap_pair_counts_by_tid_agg';

CREATE FUNCTION _batmap_pair_counts_by_tid_trans(batmap_pair_counts_state, int4, int8) RETURNS batmap_pair_counts_state
AS 'MODULE_PATHNAME', 'batmap_pair_counts_by_tid_trans_int4_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_pair_counts_by_tid_trans(batmap_pair_counts_state, int4, int8)
IS 'transition function of batmap_pair_counts_by_tid_agg';

CREATE FUNCTION _batmap_pair_counts_by_tid_trans(batmap_pair_counts_state, int8, int4) RETURNS batmap_pair_counts_state
AS 'MODULE_PATHNAME', 'batmap_pair_counts_by_tid_trans_int8_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_pair_counts_by_tid_trans(batmap_pair_counts_state, int8, int4)
IS 'transition function of batmap_pair_counts_by_tid_agg';

CREATE FUNCTION _batmap_pair_counts_by_tid_trans(batmap_pair_counts_state, int8, int8) RETURNS batmap_pair_counts_state
AS 'MODULE_PATHNAME', 'batmap_pair_counts_by_tid_trans_int8_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_pair_counts_by_tid_trans(batmap_pair_counts_state, int8, int8)
IS 'transition function of batmap_pair_counts_by_tid_agg';

CREATE FUNCTION _batmap_pair_counts_by_tid_merge(batmap_pair_counts_state, batmap_pair_counts_state)
RETURNS batmap_pair_counts_state
AS 'MODULE_PATHNAME', 'batmap_pair_counts_by_tid_merge' LANGUAGE C STABLE PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_pair_counts_by_tid_merge(batmap_pair_counts_state, batmap_pair_counts_state)
IS 'combine function of batmap_pair_counts_by_tid_agg';

CREATE FUNCTION _batmap_pair_counts_by_tid_final(batmap_pair_counts_state) RETURNS batmap_pair_counts
AS 'MODULE_PATHNAME', 'batmap_pair_counts_by_tid_final' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_pair_counts_by_tid_final(batmap_pair_counts_state)
IS 'final function of batmap_pair_counts_by_tid_agg';

CREATE AGGREGATE batmap_pair_counts_by_tid_agg(tid int4, item int4) (
    SFUNC = _batmap_pair_counts_by_tid_trans, STYPE = batmap_pair_counts_state, SSPACE = 4096,
    COMBINEFUNC = _batmap_pair_counts_by_tid_merge,
    FINALFUNC = _batmap_pair_counts_by_tid_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pair_counts_by_tid_agg(int4, int4)
IS 'counts the pairs of (tid, item) rows whose tids lie on one server each: servers send counts';

CREATE AGGREGATE batmap_pair_counts_by_tid_agg(tid int4, item int8) (
    SFUNC = _batmap_pair_counts_by_tid_trans, STYPE = batmap_pair_counts_state, SSPACE = 4096,
    COMBINEFUNC = _batmap_pair_counts_by_tid_merge,
    FINALFUNC = _batmap_pair_counts_by_tid_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pair_counts_by_tid_agg(int4, int8)
IS 'counts the pairs of (tid, item) rows whose tids lie on one server each: servers send counts';

CREATE AGGREGATE batmap_pair_counts_by_tid_agg(tid int8, item int4) (
    SFUNC = _batmap_pair_counts_by_tid_trans, STYPE = batmap_pair_counts_state, SSPACE = 4096,
    COMBINEFUNC = _batmap_pair_counts_by_tid_merge,
    FINALFUNC = _batmap_pair_counts_by_tid_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pair_counts_by_tid_agg(int8, int4)
IS 'counts the pairs of (tid, item) rows whose tids lie on one server each: servers send counts';

CREATE AGGREGATE batmap_pair_counts_by_tid_agg(tid int8, item int8) (
    SFUNC = _batmap_pair_counts_by_tid_trans, STYPE = batmap_pair_counts_state, SSPACE = 4096,
    COMBINEFUNC = _batmap_pair_counts_by_tid_merge,
    FINALFUNC = _batmap_pair_counts_by_tid_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE batmap_pair_counts_by_tid_agg(int8, int8)
IS 'counts the pairs of (tid, item) rows whose tids lie on one server each: servers send counts';

CREATE FUNCTION batmap_pair_counts_from(
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    candidates batmap_pair_counts DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS batmap_pair_counts
AS 'MODULE_PATHNAME', 'batmap_pair_counts_from' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000;
COMMENT ON FUNCTION batmap_pair_counts_from(text, int8, float8, int8[], int8[], batmap_pair_counts, name, name, record)
IS 'pair counts of the (tid, item) rows of a query, or of the pairs in candidates';

CREATE FUNCTION _batmap_pair_counts_merge(batmap_pair_counts, batmap_pair_counts) RETURNS batmap_pair_counts
AS 'MODULE_PATHNAME', 'batmap_pair_counts_merge' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_pair_counts_merge(batmap_pair_counts, batmap_pair_counts)
IS 'transition function of sum(batmap_pair_counts); NULLs are ignored';

CREATE FUNCTION _batmap_pair_counts_sum_final(batmap_pair_counts) RETURNS batmap_pair_counts
AS 'MODULE_PATHNAME', 'batmap_pair_counts_sum_final' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_pair_counts_sum_final(batmap_pair_counts) IS 'final function of sum(batmap_pair_counts)';

CREATE AGGREGATE sum(batmap_pair_counts) (
    SFUNC = _batmap_pair_counts_merge, STYPE = batmap_pair_counts, SSPACE = 65536,
    COMBINEFUNC = _batmap_pair_counts_merge,
    FINALFUNC = _batmap_pair_counts_sum_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE sum(batmap_pair_counts) IS 'sum of the counts of disjoint sets of transactions; NULLs are ignored';

CREATE FUNCTION _batmap_pair_counts_add(batmap_pair_counts, batmap_pair_counts) RETURNS batmap_pair_counts
AS 'MODULE_PATHNAME', 'batmap_pair_counts_add' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_pair_counts_add(batmap_pair_counts, batmap_pair_counts)
IS 'sum of the counts of two disjoint sets of transactions';

CREATE OPERATOR + (
    FUNCTION = _batmap_pair_counts_add, LEFTARG = batmap_pair_counts, RIGHTARG = batmap_pair_counts,
    COMMUTATOR = +
);
COMMENT ON OPERATOR + (batmap_pair_counts, batmap_pair_counts) IS 'sum';

CREATE FUNCTION _batmap_pair_counts_subtract(batmap_pair_counts, batmap_pair_counts) RETURNS batmap_pair_counts
AS 'MODULE_PATHNAME', 'batmap_pair_counts_subtract' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_pair_counts_subtract(batmap_pair_counts, batmap_pair_counts)
IS 'counts without those of some of their transactions';

CREATE OPERATOR - (
    FUNCTION = _batmap_pair_counts_subtract, LEFTARG = batmap_pair_counts, RIGHTARG = batmap_pair_counts
);
COMMENT ON OPERATOR - (batmap_pair_counts, batmap_pair_counts) IS 'difference; no count may become negative';

CREATE FUNCTION _batmap_pairs_counts_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_pairs_counts_support' LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_pairs_counts_support(internal) IS 'planner support of batmap_pairs over pair counts';

CREATE FUNCTION batmap_pairs(
    counts batmap_pair_counts,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL
)
RETURNS TABLE (item_a int8, item_b int8, support_count int8, count_a int8, count_b int8, total int8,
    support float8, confidence float8, confidence_ba float8, lift float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_pairs_counts' LANGUAGE C STABLE PARALLEL SAFE COST 1000 ROWS 100000
    SUPPORT _batmap_pairs_counts_support;
COMMENT ON FUNCTION batmap_pairs(batmap_pair_counts, int8, float8, int8[], int8[], int8, int4, text, int8)
IS 'frequent pairs of stored pair counts';

CREATE FUNCTION batmap_pairs_of(
    counts batmap_pair_counts,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL
)
RETURNS TABLE (item_a text, item_b text, support_count int8, count_a int8, count_b int8, total int8,
    support float8, confidence float8, confidence_ba float8, lift float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_pairs_text_counts' LANGUAGE C STABLE PARALLEL SAFE COST 1000 ROWS 100000
    SUPPORT _batmap_pairs_counts_support;
COMMENT ON FUNCTION batmap_pairs_of(batmap_pair_counts, int8, float8, text[], text[], int8, int4, text, int8)
IS 'frequent pairs of stored pair counts with text items';

CREATE FUNCTION batmap_pairs_as(
    item_type anyelement,
    counts batmap_pair_counts,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL
)
RETURNS TABLE (item_a anyelement, item_b anyelement, support_count int8, count_a int8, count_b int8, total int8,
    support float8, confidence float8, confidence_ba float8, lift float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_pairs_as_counts' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 100000
    SUPPORT _batmap_pairs_counts_support;
COMMENT ON FUNCTION batmap_pairs_as(anyelement, batmap_pair_counts, int8, float8, text[], text[], int8, int4, text, int8)
IS 'frequent pairs of stored pair counts with text items, as values of a type';

CREATE FUNCTION batmap_partners(
    counts batmap_pair_counts,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    items int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence',
    max_results int8 DEFAULT NULL
)
RETURNS TABLE (item int8, partner int8, rank int8, support_count int8, score float8)
AS 'MODULE_PATHNAME', 'batmap_partners_counts' LANGUAGE C STABLE PARALLEL SAFE COST 1000 ROWS 10000
    SUPPORT _batmap_partners_support;
COMMENT ON FUNCTION batmap_partners(batmap_pair_counts, int8, float8, int8[], int8[], int8, text, int8)
IS 'the best partners of each item in stored pair counts';

CREATE FUNCTION batmap_partners_of(
    counts batmap_pair_counts,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    items text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence',
    max_results int8 DEFAULT NULL
)
RETURNS TABLE (item text, partner text, rank int8, support_count int8, score float8)
AS 'MODULE_PATHNAME', 'batmap_partners_text_counts' LANGUAGE C STABLE PARALLEL SAFE COST 1000 ROWS 10000
    SUPPORT _batmap_partners_support;
COMMENT ON FUNCTION batmap_partners_of(batmap_pair_counts, int8, float8, text[], text[], int8, text, int8)
IS 'the best partners of each item in stored pair counts with text items';

CREATE FUNCTION batmap_partners_as(
    item_type anyelement,
    counts batmap_pair_counts,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    items text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence',
    max_results int8 DEFAULT NULL
)
RETURNS TABLE (item anyelement, partner anyelement, rank int8, support_count int8, score float8)
AS 'MODULE_PATHNAME', 'batmap_partners_as_counts' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10000
    SUPPORT _batmap_partners_support;
COMMENT ON FUNCTION batmap_partners_as(anyelement, batmap_pair_counts, int8, float8, text[], text[], int8, text, int8)
IS 'the best partners of each item in stored pair counts with text items, as values of a type';

CREATE FUNCTION batmap_pair_count(counts batmap_pair_counts, item_a int8, item_b int8) RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION batmap_pair_count(batmap_pair_counts, int8, int8) IS 'number of transactions that contain both items';

CREATE FUNCTION batmap_item_count(counts batmap_pair_counts, item int8) RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION batmap_item_count(batmap_pair_counts, int8) IS 'number of transactions that contain the item';

CREATE FUNCTION batmap_pair_count(counts batmap_pair_counts, item_a text, item_b text) RETURNS int8
AS 'MODULE_PATHNAME', 'batmap_pair_count_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION batmap_pair_count(batmap_pair_counts, text, text) IS 'number of transactions that contain both items';

CREATE FUNCTION batmap_item_count(counts batmap_pair_counts, item text) RETURNS int8
AS 'MODULE_PATHNAME', 'batmap_item_count_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION batmap_item_count(batmap_pair_counts, text) IS 'number of transactions that contain the item';

CREATE FUNCTION batmap_pair_counts_total(batmap_pair_counts) RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION batmap_pair_counts_total(batmap_pair_counts) IS 'number of transactions';

CREATE FUNCTION batmap_pair_counts_items(batmap_pair_counts) RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION batmap_pair_counts_items(batmap_pair_counts) IS 'number of items that occur';

CREATE FUNCTION batmap_pair_counts_pairs(batmap_pair_counts) RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION batmap_pair_counts_pairs(batmap_pair_counts) IS 'number of pairs that occur';

CREATE FUNCTION batmap_pair_counts_unnest(counts batmap_pair_counts, OUT item_a int8, OUT item_b int8, OUT support_count int8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 100000;
COMMENT ON FUNCTION batmap_pair_counts_unnest(batmap_pair_counts) IS 'the pairs that occur with their counts, sorted';

CREATE FUNCTION batmap_pair_counts_unnest_of(counts batmap_pair_counts, OUT item_a text, OUT item_b text, OUT support_count int8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 100000;
COMMENT ON FUNCTION batmap_pair_counts_unnest_of(batmap_pair_counts) IS 'the pairs of text items that occur with their counts, sorted';

-- Join counts: counts of the pairs of a join that add up over disjoint sets of b ------------------

CREATE TYPE batmap_join_counts;

CREATE FUNCTION _batmap_join_counts_in(cstring) RETURNS batmap_join_counts
AS 'MODULE_PATHNAME', 'batmap_join_counts_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_join_counts_out(batmap_join_counts) RETURNS cstring
AS 'MODULE_PATHNAME', 'batmap_join_counts_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_join_counts_recv(internal) RETURNS batmap_join_counts
AS 'MODULE_PATHNAME', 'batmap_join_counts_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_join_counts_send(batmap_join_counts) RETURNS bytea
AS 'MODULE_PATHNAME', 'batmap_join_counts_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE batmap_join_counts (
    INPUT = _batmap_join_counts_in,
    OUTPUT = _batmap_join_counts_out,
    RECEIVE = _batmap_join_counts_recv,
    SEND = _batmap_join_counts_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = double,
    STORAGE = external
);
COMMENT ON TYPE batmap_join_counts IS 'counts of the pairs (a, c) of a join over b; add up over disjoint sets of b';

CREATE FUNCTION batmap_join_counts_from(
    left_query text,
    right_query text,
    min_count int8 DEFAULT NULL,
    candidates batmap_join_counts DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS batmap_join_counts
AS 'MODULE_PATHNAME', 'batmap_join_counts_from' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000;
COMMENT ON FUNCTION batmap_join_counts_from(text, text, int8, batmap_join_counts, record)
IS 'counts of all (a, c) that share a b in the (a, b) and (b, c) rows of two queries, or of the pairs in candidates';

CREATE FUNCTION _batmap_join_counts_merge(batmap_join_counts, batmap_join_counts) RETURNS batmap_join_counts
AS 'MODULE_PATHNAME', 'batmap_join_counts_merge' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_join_counts_merge(batmap_join_counts, batmap_join_counts)
IS 'transition function of sum(batmap_join_counts); NULLs are ignored';

CREATE FUNCTION _batmap_join_counts_sum_final(batmap_join_counts) RETURNS batmap_join_counts
AS 'MODULE_PATHNAME', 'batmap_join_counts_sum_final' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_join_counts_sum_final(batmap_join_counts) IS 'final function of sum(batmap_join_counts)';

CREATE AGGREGATE sum(batmap_join_counts) (
    SFUNC = _batmap_join_counts_merge, STYPE = batmap_join_counts, SSPACE = 65536,
    COMBINEFUNC = _batmap_join_counts_merge,
    FINALFUNC = _batmap_join_counts_sum_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE sum(batmap_join_counts) IS 'sum of the counts of disjoint sets of b; NULLs are ignored';

CREATE FUNCTION _batmap_join_counts_add(batmap_join_counts, batmap_join_counts) RETURNS batmap_join_counts
AS 'MODULE_PATHNAME', 'batmap_join_counts_add' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_join_counts_add(batmap_join_counts, batmap_join_counts) IS 'sum of the counts of disjoint sets of b';

CREATE OPERATOR + (
    FUNCTION = _batmap_join_counts_add, LEFTARG = batmap_join_counts, RIGHTARG = batmap_join_counts,
    COMMUTATOR = +
);
COMMENT ON OPERATOR + (batmap_join_counts, batmap_join_counts) IS 'sum';

CREATE FUNCTION batmap_join_counts_total(batmap_join_counts) RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION batmap_join_counts_total(batmap_join_counts) IS 'number of b that occur in both tables';

CREATE FUNCTION batmap_join_counts_pairs(batmap_join_counts) RETURNS int8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION batmap_join_counts_pairs(batmap_join_counts) IS 'number of pairs';

CREATE FUNCTION _batmap_join_project_counts_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_join_project_counts_support' LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_join_project_counts_support(internal) IS 'planner support of batmap_join_project over join counts';

CREATE FUNCTION batmap_join_project(
    counts batmap_join_counts,
    min_count int8 DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    max_results int8 DEFAULT NULL
)
RETURNS TABLE (a int8, c int8, support_count int8)
AS 'MODULE_PATHNAME', 'batmap_join_project_counts' LANGUAGE C STABLE PARALLEL SAFE COST 1000 ROWS 100000
    SUPPORT _batmap_join_project_counts_support;
COMMENT ON FUNCTION batmap_join_project(batmap_join_counts, int8, int8, int4, int8) IS 'the (a, c) of stored join counts';

-- Itemset counts: counts of itemsets that add up over disjoint sets of transactions ------------

CREATE TYPE batmap_itemset_counts;

CREATE FUNCTION _batmap_itemset_counts_in(cstring) RETURNS batmap_itemset_counts
AS 'MODULE_PATHNAME', 'batmap_itemset_counts_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_itemset_counts_out(batmap_itemset_counts) RETURNS cstring
AS 'MODULE_PATHNAME', 'batmap_itemset_counts_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_itemset_counts_recv(internal) RETURNS batmap_itemset_counts
AS 'MODULE_PATHNAME', 'batmap_itemset_counts_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION _batmap_itemset_counts_send(batmap_itemset_counts) RETURNS bytea
AS 'MODULE_PATHNAME', 'batmap_itemset_counts_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE batmap_itemset_counts (
    INPUT = _batmap_itemset_counts_in,
    OUTPUT = _batmap_itemset_counts_out,
    RECEIVE = _batmap_itemset_counts_recv,
    SEND = _batmap_itemset_counts_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = double,
    STORAGE = external
);
COMMENT ON TYPE batmap_itemset_counts IS 'counts of itemsets and transactions; add up over disjoint sets of transactions';

CREATE FUNCTION batmap_itemset_candidates(
    query text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS batmap_itemset_counts
AS 'MODULE_PATHNAME', 'batmap_itemset_candidates' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000;
COMMENT ON FUNCTION batmap_itemset_candidates(text, int8, float8, int4, int8[], int8[], name, name, record)
IS 'the frequent itemsets of the (tid, item) rows of a query, as counts that add up';

CREATE FUNCTION batmap_itemset_count(
    query text,
    candidates batmap_itemset_counts,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    params record DEFAULT NULL
)
RETURNS batmap_itemset_counts
AS 'MODULE_PATHNAME', 'batmap_itemset_count' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000;
COMMENT ON FUNCTION batmap_itemset_count(text, batmap_itemset_counts, name, name, record)
IS 'counts of the itemsets in candidates among the (tid, item) rows of a query';

CREATE FUNCTION _batmap_itemset_counts_merge(batmap_itemset_counts, batmap_itemset_counts) RETURNS batmap_itemset_counts
AS 'MODULE_PATHNAME', 'batmap_itemset_counts_merge' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_itemset_counts_merge(batmap_itemset_counts, batmap_itemset_counts)
IS 'transition function of sum(batmap_itemset_counts); NULLs are ignored';

CREATE FUNCTION _batmap_itemset_counts_sum_final(batmap_itemset_counts) RETURNS batmap_itemset_counts
AS 'MODULE_PATHNAME', 'batmap_itemset_counts_sum_final' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_itemset_counts_sum_final(batmap_itemset_counts) IS 'final function of sum(batmap_itemset_counts)';

CREATE AGGREGATE sum(batmap_itemset_counts) (
    SFUNC = _batmap_itemset_counts_merge, STYPE = batmap_itemset_counts, SSPACE = 65536,
    COMBINEFUNC = _batmap_itemset_counts_merge,
    FINALFUNC = _batmap_itemset_counts_sum_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE sum(batmap_itemset_counts)
IS 'sum of the counts of disjoint sets of transactions, with the itemsets of all; NULLs are ignored';

CREATE FUNCTION _batmap_itemset_counts_add(batmap_itemset_counts, batmap_itemset_counts) RETURNS batmap_itemset_counts
AS 'MODULE_PATHNAME', 'batmap_itemset_counts_add' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION _batmap_itemset_counts_add(batmap_itemset_counts, batmap_itemset_counts)
IS 'sum of the counts of disjoint sets of transactions';

CREATE OPERATOR + (
    FUNCTION = _batmap_itemset_counts_add, LEFTARG = batmap_itemset_counts, RIGHTARG = batmap_itemset_counts,
    COMMUTATOR = +
);
COMMENT ON OPERATOR + (batmap_itemset_counts, batmap_itemset_counts) IS 'sum';

CREATE FUNCTION batmap_itemset_counts_total(batmap_itemset_counts) RETURNS int8
AS 'MODULE_PATHNAME', 'batmap_itemset_counts_total' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION batmap_itemset_counts_total(batmap_itemset_counts) IS 'number of transactions';

CREATE FUNCTION batmap_itemset_counts_items(batmap_itemset_counts) RETURNS int8
AS 'MODULE_PATHNAME', 'batmap_itemset_counts_items' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION batmap_itemset_counts_items(batmap_itemset_counts) IS 'number of items in the itemsets';

CREATE FUNCTION batmap_itemset_counts_itemsets(batmap_itemset_counts) RETURNS int8
AS 'MODULE_PATHNAME', 'batmap_itemset_counts_itemsets' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION batmap_itemset_counts_itemsets(batmap_itemset_counts) IS 'number of itemsets';

CREATE FUNCTION _batmap_itemsets_counts_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_itemsets_counts_support' LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_itemsets_counts_support(internal) IS 'planner support of batmap_itemsets over itemset counts';

CREATE FUNCTION batmap_itemsets(
    counts batmap_itemset_counts,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL
)
RETURNS TABLE (itemset int8[], length int4, support_count int8, support float8, total int8)
AS 'MODULE_PATHNAME', 'batmap_itemsets_counts' LANGUAGE C STABLE PARALLEL SAFE COST 1000 ROWS 100000
    SUPPORT _batmap_itemsets_counts_support;
COMMENT ON FUNCTION batmap_itemsets(batmap_itemset_counts, int8, float8, float8, int4, int4, text, int8[], int8[], int8, int8, interval)
IS 'frequent itemsets of stored itemset counts';

CREATE FUNCTION _batmap_rules_counts_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'batmap_rules_counts_support' LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_rules_counts_support(internal) IS 'planner support of batmap_rules over itemset counts';

CREATE FUNCTION batmap_rules(
    counts batmap_itemset_counts,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT NULL,
    max_rhs int4 DEFAULT 1,
    lhs_include int8[] DEFAULT NULL,
    lhs_exclude int8[] DEFAULT NULL,
    rhs_include int8[] DEFAULT NULL,
    rhs_exclude int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL
)
RETURNS TABLE (
    lhs int8[], rhs int8[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    support float8, confidence float8, lift float8, leverage float8, conviction float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_scored_rules_counts' LANGUAGE C STABLE PARALLEL SAFE COST 1000 ROWS 100000
    SUPPORT _batmap_rules_counts_support;
COMMENT ON FUNCTION batmap_rules(batmap_itemset_counts, int8, float8, float8, float8, int4, int4, int8[], int8[], int8[], int8[], int8[], int8, text, int8, interval)
IS 'association rules of stored itemset counts';

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

-- Kept counts -------------------------------------------------------------------------------------

CREATE FUNCTION _batmap_keep_changes() RETURNS trigger
AS 'MODULE_PATHNAME', 'batmap_keep_changes' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION _batmap_keep_changes() IS 'trigger function of kept tables: appends what has changed to the log';

CREATE FUNCTION batmap_keep(kept_table regclass, tid name, item name, filter text DEFAULT NULL) RETURNS void
AS 'MODULE_PATHNAME', 'batmap_keep' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION batmap_keep(regclass, name, name, text) IS 'counts the pairs of a table and keeps the counts fresh from then on';

CREATE FUNCTION batmap_unkeep(kept_table regclass) RETURNS void
AS 'MODULE_PATHNAME', 'batmap_unkeep' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION batmap_unkeep(regclass) IS 'drops the kept counts of a table';

CREATE FUNCTION batmap_merge_kept(kept_table regclass) RETURNS int8
AS 'MODULE_PATHNAME', 'batmap_merge_kept' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION batmap_merge_kept(regclass)
IS 'merges the changes of a table into its kept counts; returns their number. Readers and writers do not wait';

CREATE FUNCTION batmap_check_kept(kept_table regclass) RETURNS bool
AS 'MODULE_PATHNAME', 'batmap_check_kept' LANGUAGE C STABLE STRICT PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION batmap_check_kept(regclass) IS 'whether the kept counts of a table are those of its rows; counts them';

CREATE FUNCTION batmap_kept_counts(kept_table regclass, items int8[] DEFAULT NULL) RETURNS batmap_pair_counts
AS 'MODULE_PATHNAME', 'batmap_kept_counts' LANGUAGE C STABLE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION batmap_kept_counts(regclass, int8[]) IS 'the counts of a kept table as its rows are now: all pairs, or those with one of some items';

CREATE FUNCTION batmap_kept_counts_of(kept_table regclass, items text[] DEFAULT NULL) RETURNS batmap_pair_counts
AS 'MODULE_PATHNAME', 'batmap_kept_counts_of' LANGUAGE C STABLE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION batmap_kept_counts_of(regclass, text[])
IS 'the counts of a kept table with text items as its rows are now: all pairs, or those with one of some items';

CREATE FUNCTION _batmap_kept_of(kept_table regclass, OUT tid name, OUT item name, OUT filter text, OUT kept_rows regclass,
    OUT kept_counts regclass, OUT kept_log regclass)
AS 'MODULE_PATHNAME', 'batmap_kept_of' LANGUAGE C STABLE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION _batmap_kept_of(regclass) IS 'what the view batmap_kept shows of a table';

CREATE VIEW batmap_kept AS
    SELECT t.tgrelid::pg_catalog.regclass AS kept_table, k.tid, k.item, k.filter, k.kept_rows, k.kept_counts, k.kept_log,
           pg_catalog.pg_table_size(k.kept_counts) AS counts_bytes, pg_catalog.pg_table_size(k.kept_log) AS log_bytes
      FROM pg_catalog.pg_trigger t CROSS JOIN LATERAL _batmap_kept_of(t.tgrelid::pg_catalog.regclass) k
     WHERE t.tgname OPERATOR(pg_catalog.=) 'batmap_keep_rows' AND t.tgparentid OPERATOR(pg_catalog.=) 0
       AND t.tgfoid OPERATOR(pg_catalog.=) '_batmap_keep_changes'::pg_catalog.regproc;
COMMENT ON VIEW batmap_kept IS 'the tables whose pair counts are kept';
GRANT SELECT ON batmap_kept TO PUBLIC;

CREATE FUNCTION batmap_pairs(
    kept_table regclass,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL
)
RETURNS TABLE (item_a int8, item_b int8, support_count int8, count_a int8, count_b int8, total int8,
    support float8, confidence float8, confidence_ba float8, lift float8, score float8)
AS 'MODULE_PATHNAME', 'batmap_pairs_kept' LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 100000
    SUPPORT _batmap_pairs_counts_support;
COMMENT ON FUNCTION batmap_pairs(regclass, int8, float8, int8[], int8[], int8, int4, text, int8) IS 'frequent pairs of a kept table';

CREATE FUNCTION batmap_partners(
    kept_table regclass,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    items int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence',
    max_results int8 DEFAULT NULL
)
RETURNS TABLE (item int8, partner int8, rank int8, support_count int8, score float8)
AS 'MODULE_PATHNAME', 'batmap_partners_kept' LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 10000
    SUPPORT _batmap_partners_support;
COMMENT ON FUNCTION batmap_partners(regclass, int8, float8, int8[], int8[], int8, text, int8)
IS 'the best partners of each item in a kept table';

-- Rules of two items: SQL over the pairs.
CREATE FUNCTION _batmap_check_rules(min_count int8, min_support float8, min_confidence float8, min_lift float8, top_k int8, measure text)
RETURNS bool
AS 'MODULE_PATHNAME', 'batmap_check_rules' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_check_rules(int8, float8, float8, float8, int8, text)
IS 'true, or the error that batmap_rules raises for these arguments';

-- Exact types: a function that somebody else has put into the schema must not fit better.
CREATE FUNCTION _batmap_check_items(name text, items int8[]) RETURNS bool
AS 'MODULE_PATHNAME', 'batmap_check_nulls' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_check_items(text, int8[]) IS 'true, or an error if the items of this parameter contain NULL';
CREATE FUNCTION _batmap_check_items(name text, items text[]) RETURNS bool
AS 'MODULE_PATHNAME', 'batmap_check_nulls' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _batmap_check_items(text, text[]) IS 'true, or an error if the items of this parameter contain NULL';

CREATE FUNCTION batmap_rules(
    counts batmap_pair_counts,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    lhs_include int8[] DEFAULT NULL,
    lhs_exclude int8[] DEFAULT NULL,
    rhs_include int8[] DEFAULT NULL,
    rhs_exclude int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    measure text DEFAULT NULL
)
RETURNS TABLE (
    lhs int8[], rhs int8[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    support float8, confidence float8, lift float8, leverage float8, conviction float8, score float8)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 100000
BEGIN ATOMIC
    SELECT ARRAY[r.a], ARRAY[r.b], p.support_count, r.count_a, r.count_b, p.total, p.support, r.confidence, p.lift,
           coalesce(batmap_measure(text 'leverage', p.support_count, r.count_a, r.count_b, p.total), 'NaN'),
           coalesce(batmap_measure(text 'conviction', p.support_count, r.count_a, r.count_b, p.total), 'NaN'),
           CASE WHEN measure IS NOT NULL THEN s.score END
      FROM batmap_pairs(counts, min_count, min_support, coalesce(lhs_include, rhs_include), exclude, NULL::int8, NULL::int4, NULL::text,
                        NULL::int8) p
      CROSS JOIN LATERAL (VALUES (p.item_a, p.item_b, p.count_a, p.count_b, p.confidence),
                                 (p.item_b, p.item_a, p.count_b, p.count_a, p.confidence_ba)) r (a, b, count_a, count_b, confidence)
      CROSS JOIN LATERAL (SELECT CASE WHEN top_k IS NOT NULL OR measure IS NOT NULL THEN
          batmap_measure(coalesce(measure, 'confidence'), p.support_count, r.count_a, r.count_b, p.total) END AS score) s
     WHERE _batmap_check_rules(min_count, min_support, min_confidence, min_lift, top_k, measure)
       AND _batmap_check_items(text 'lhs_include', lhs_include) AND _batmap_check_items(text 'lhs_exclude', lhs_exclude)
       AND _batmap_check_items(text 'rhs_include', rhs_include) AND _batmap_check_items(text 'rhs_exclude', rhs_exclude)
       AND (r.confidence < min_confidence) IS NOT TRUE AND (p.lift < min_lift) IS NOT TRUE
       AND (lhs_include IS NULL OR r.a = ANY (lhs_include)) AND (lhs_exclude IS NULL OR r.a <> ALL (lhs_exclude))
       AND (rhs_include IS NULL OR r.b = ANY (rhs_include)) AND (rhs_exclude IS NULL OR r.b <> ALL (rhs_exclude))
       AND (top_k IS NULL OR s.score IS NOT NULL)
     ORDER BY CASE WHEN top_k IS NOT NULL THEN s.score END DESC, CASE WHEN top_k IS NOT NULL THEN p.support_count END DESC, r.a, r.b
     LIMIT CASE WHEN top_k < 1 THEN 1 ELSE top_k END;
END;
COMMENT ON FUNCTION batmap_rules(batmap_pair_counts, int8, float8, float8, float8, int8[], int8[], int8[], int8[], int8[], int8, text)
IS 'association rules of two items in stored pair counts';

CREATE FUNCTION batmap_rules_of(
    counts batmap_pair_counts,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    lhs_include text[] DEFAULT NULL,
    lhs_exclude text[] DEFAULT NULL,
    rhs_include text[] DEFAULT NULL,
    rhs_exclude text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    measure text DEFAULT NULL
)
RETURNS TABLE (
    lhs text[], rhs text[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    support float8, confidence float8, lift float8, leverage float8, conviction float8, score float8)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 100000
BEGIN ATOMIC
    SELECT ARRAY[r.a], ARRAY[r.b], p.support_count, r.count_a, r.count_b, p.total, p.support, r.confidence, p.lift,
           coalesce(batmap_measure(text 'leverage', p.support_count, r.count_a, r.count_b, p.total), 'NaN'),
           coalesce(batmap_measure(text 'conviction', p.support_count, r.count_a, r.count_b, p.total), 'NaN'),
           CASE WHEN measure IS NOT NULL THEN s.score END
      FROM batmap_pairs_of(counts, min_count, min_support, coalesce(lhs_include, rhs_include), exclude, NULL::int8, NULL::int4, NULL::text,
                           NULL::int8) p
      CROSS JOIN LATERAL (VALUES (p.item_a, p.item_b, p.count_a, p.count_b, p.confidence),
                                 (p.item_b, p.item_a, p.count_b, p.count_a, p.confidence_ba)) r (a, b, count_a, count_b, confidence)
      CROSS JOIN LATERAL (SELECT CASE WHEN top_k IS NOT NULL OR measure IS NOT NULL THEN
          batmap_measure(coalesce(measure, 'confidence'), p.support_count, r.count_a, r.count_b, p.total) END AS score) s
     WHERE _batmap_check_rules(min_count, min_support, min_confidence, min_lift, top_k, measure)
       AND _batmap_check_items(text 'lhs_include', lhs_include) AND _batmap_check_items(text 'lhs_exclude', lhs_exclude)
       AND _batmap_check_items(text 'rhs_include', rhs_include) AND _batmap_check_items(text 'rhs_exclude', rhs_exclude)
       AND (r.confidence < min_confidence) IS NOT TRUE AND (p.lift < min_lift) IS NOT TRUE
       AND (lhs_include IS NULL OR r.a = ANY (lhs_include)) AND (lhs_exclude IS NULL OR r.a <> ALL (lhs_exclude))
       AND (rhs_include IS NULL OR r.b = ANY (rhs_include)) AND (rhs_exclude IS NULL OR r.b <> ALL (rhs_exclude))
       AND (top_k IS NULL OR s.score IS NOT NULL)
     ORDER BY CASE WHEN top_k IS NOT NULL THEN s.score END DESC, CASE WHEN top_k IS NOT NULL THEN p.support_count END DESC, r.a COLLATE "C", r.b COLLATE "C"
     LIMIT CASE WHEN top_k < 1 THEN 1 ELSE top_k END;
END;
COMMENT ON FUNCTION batmap_rules_of(batmap_pair_counts, int8, float8, float8, float8, text[], text[], text[], text[], text[], int8, text)
IS 'association rules of two text items in stored pair counts';

CREATE FUNCTION batmap_recommend(
    basket int8[],
    counts batmap_pair_counts,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence'
)
RETURNS TABLE (
    item int8, score float8, lhs int8[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    confidence float8, lift float8)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    SELECT q.b, q.score, ARRAY[q.a], q.support_count, q.count_a, q.count_b, q.total, q.confidence, q.lift
      FROM (SELECT DISTINCT ON (r.b) r.a, r.b, s.score, p.support_count, r.count_a, r.count_b, p.total, r.confidence, p.lift
              FROM batmap_pairs(counts, CASE WHEN min_support IS NULL THEN coalesce(min_count, 1) ELSE min_count END, min_support,
                                   coalesce(basket, '{}'), NULL::int8[], NULL::int8, NULL::int4, NULL::text, NULL::int8) p
              CROSS JOIN LATERAL (VALUES (p.item_a, p.item_b, p.count_a, p.count_b, p.confidence),
                                         (p.item_b, p.item_a, p.count_b, p.count_a, p.confidence_ba)) r (a, b, count_a, count_b, confidence)
              CROSS JOIN LATERAL (SELECT batmap_measure(coalesce(measure, 'confidence'), p.support_count, r.count_a, r.count_b, p.total) AS score) s
             WHERE _batmap_check_rules(CASE WHEN min_support IS NULL THEN coalesce(min_count, 1) ELSE min_count END, min_support,
                                       min_confidence, min_lift, coalesce(top_k, 10), measure)
               AND _batmap_check_items(text 'basket', basket) AND _batmap_check_items(text 'include', include)
               AND _batmap_check_items(text 'exclude', exclude)
               AND (r.confidence < min_confidence) IS NOT TRUE AND (p.lift < min_lift) IS NOT TRUE
               AND r.a = ANY (basket) AND r.b <> ALL (basket) AND (exclude IS NULL OR r.b <> ALL (exclude))
               AND (include IS NULL OR r.b = ANY (include)) AND s.score IS NOT NULL
             ORDER BY r.b, s.score DESC, p.support_count DESC, r.a) q
     ORDER BY q.score DESC, q.support_count DESC, q.b
     LIMIT CASE WHEN top_k < 1 THEN 1 ELSE coalesce(top_k, 10) END;
END;
COMMENT ON FUNCTION batmap_recommend(int8[], batmap_pair_counts, int8, float8, float8, float8, int8[], int8[], int8, text)
IS 'items that stored pair counts recommend for a basket, best first, by rules of two items';

CREATE FUNCTION batmap_recommend_of(
    basket text[],
    counts batmap_pair_counts,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence'
)
RETURNS TABLE (
    item text, score float8, lhs text[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    confidence float8, lift float8)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    SELECT q.b, q.score, ARRAY[q.a], q.support_count, q.count_a, q.count_b, q.total, q.confidence, q.lift
      FROM (SELECT DISTINCT ON (r.b COLLATE "C") r.a, r.b, s.score, p.support_count, r.count_a, r.count_b, p.total, r.confidence, p.lift
              FROM batmap_pairs_of(counts, CASE WHEN min_support IS NULL THEN coalesce(min_count, 1) ELSE min_count END, min_support,
                                   coalesce(basket, '{}'), NULL::text[], NULL::int8, NULL::int4, NULL::text, NULL::int8) p
              CROSS JOIN LATERAL (VALUES (p.item_a, p.item_b, p.count_a, p.count_b, p.confidence),
                                         (p.item_b, p.item_a, p.count_b, p.count_a, p.confidence_ba)) r (a, b, count_a, count_b, confidence)
              CROSS JOIN LATERAL (SELECT batmap_measure(coalesce(measure, 'confidence'), p.support_count, r.count_a, r.count_b, p.total) AS score) s
             WHERE _batmap_check_rules(CASE WHEN min_support IS NULL THEN coalesce(min_count, 1) ELSE min_count END, min_support,
                                       min_confidence, min_lift, coalesce(top_k, 10), measure)
               AND _batmap_check_items(text 'basket', basket) AND _batmap_check_items(text 'include', include)
               AND _batmap_check_items(text 'exclude', exclude)
               AND (r.confidence < min_confidence) IS NOT TRUE AND (p.lift < min_lift) IS NOT TRUE
               AND r.a = ANY (basket) AND r.b <> ALL (basket) AND (exclude IS NULL OR r.b <> ALL (exclude))
               AND (include IS NULL OR r.b = ANY (include)) AND s.score IS NOT NULL
             ORDER BY r.b COLLATE "C", s.score DESC, p.support_count DESC, r.a COLLATE "C") q
     ORDER BY q.score DESC, q.support_count DESC, q.b COLLATE "C"
     LIMIT CASE WHEN top_k < 1 THEN 1 ELSE coalesce(top_k, 10) END;
END;
COMMENT ON FUNCTION batmap_recommend_of(text[], batmap_pair_counts, int8, float8, float8, float8, text[], text[], int8, text)
IS 'items that stored pair counts recommend for a basket, best first, by rules of two text items';

CREATE FUNCTION batmap_rules(
    kept_table regclass,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    lhs_include int8[] DEFAULT NULL,
    lhs_exclude int8[] DEFAULT NULL,
    rhs_include int8[] DEFAULT NULL,
    rhs_exclude int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    measure text DEFAULT NULL
)
RETURNS TABLE (
    lhs int8[], rhs int8[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    support float8, confidence float8, lift float8, leverage float8, conviction float8, score float8)
LANGUAGE sql STABLE PARALLEL UNSAFE ROWS 100000
BEGIN ATOMIC
    SELECT r.lhs, r.rhs, r.support_count, r.lhs_count, r.rhs_count, r.total, r.support, r.confidence, r.lift, r.leverage, r.conviction, r.score
      FROM batmap_rules(batmap_kept_counts(kept_table, coalesce(lhs_include, rhs_include)), min_count, min_support, min_confidence,
                        min_lift, lhs_include, lhs_exclude, rhs_include, rhs_exclude, exclude, top_k, measure) r;
END;
COMMENT ON FUNCTION batmap_rules(regclass, int8, float8, float8, float8, int8[], int8[], int8[], int8[], int8[], int8, text)
IS 'association rules of two items in a kept table';

CREATE FUNCTION batmap_recommend(
    basket int8[],
    kept_table regclass,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence'
)
RETURNS TABLE (
    item int8, score float8, lhs int8[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    confidence float8, lift float8)
LANGUAGE sql STABLE PARALLEL UNSAFE ROWS 10
BEGIN ATOMIC
    SELECT r.item, r.score, r.lhs, r.support_count, r.lhs_count, r.rhs_count, r.total, r.confidence, r.lift
      FROM batmap_recommend(basket, batmap_kept_counts(kept_table, coalesce(basket, '{}')), min_count, min_support, min_confidence,
                            min_lift, include, exclude, top_k, measure) r;
END;
COMMENT ON FUNCTION batmap_recommend(int8[], regclass, int8, float8, float8, float8, int8[], int8[], int8, text)
IS 'items that a kept table recommends for a basket, best first, by rules of two items';

-- Kept tables with text items: SQL over their counts.
CREATE FUNCTION batmap_pairs_of(
    kept_table regclass,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL
)
RETURNS TABLE (item_a text, item_b text, support_count int8, count_a int8, count_b int8, total int8,
    support float8, confidence float8, confidence_ba float8, lift float8, score float8)
LANGUAGE sql STABLE PARALLEL UNSAFE ROWS 100000
BEGIN ATOMIC
    SELECT p.item_a, p.item_b, p.support_count, p.count_a, p.count_b, p.total, p.support, p.confidence, p.confidence_ba, p.lift, p.score
      FROM batmap_pairs_of(batmap_kept_counts_of(kept_table, include), min_count, min_support, include, exclude, top_k, per_item_top_k,
                           measure, max_results) p;
END;
COMMENT ON FUNCTION batmap_pairs_of(regclass, int8, float8, text[], text[], int8, int4, text, int8)
IS 'frequent pairs of a kept table with text items';

CREATE FUNCTION batmap_partners_of(
    kept_table regclass,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    items text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence',
    max_results int8 DEFAULT NULL
)
RETURNS TABLE (item text, partner text, rank int8, support_count int8, score float8)
LANGUAGE sql STABLE PARALLEL UNSAFE ROWS 10000
BEGIN ATOMIC
    SELECT p.item, p.partner, p.rank, p.support_count, p.score
      FROM batmap_partners_of(batmap_kept_counts_of(kept_table, items), min_count, min_support, items, exclude, top_k, measure,
                              max_results) p;
END;
COMMENT ON FUNCTION batmap_partners_of(regclass, int8, float8, text[], text[], int8, text, int8)
IS 'the best partners of each item in a kept table with text items';

CREATE FUNCTION batmap_rules_of(
    kept_table regclass,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    lhs_include text[] DEFAULT NULL,
    lhs_exclude text[] DEFAULT NULL,
    rhs_include text[] DEFAULT NULL,
    rhs_exclude text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    measure text DEFAULT NULL
)
RETURNS TABLE (
    lhs text[], rhs text[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    support float8, confidence float8, lift float8, leverage float8, conviction float8, score float8)
LANGUAGE sql STABLE PARALLEL UNSAFE ROWS 100000
BEGIN ATOMIC
    SELECT r.lhs, r.rhs, r.support_count, r.lhs_count, r.rhs_count, r.total, r.support, r.confidence, r.lift, r.leverage, r.conviction, r.score
      FROM batmap_rules_of(batmap_kept_counts_of(kept_table, coalesce(lhs_include, rhs_include)), min_count, min_support, min_confidence,
                           min_lift, lhs_include, lhs_exclude, rhs_include, rhs_exclude, exclude, top_k, measure) r;
END;
COMMENT ON FUNCTION batmap_rules_of(regclass, int8, float8, float8, float8, text[], text[], text[], text[], text[], int8, text)
IS 'association rules of two items in a kept table with text items';

CREATE FUNCTION batmap_recommend_of(
    basket text[],
    kept_table regclass,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    include text[] DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    top_k int8 DEFAULT 10,
    measure text DEFAULT 'confidence'
)
RETURNS TABLE (
    item text, score float8, lhs text[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    confidence float8, lift float8)
LANGUAGE sql STABLE PARALLEL UNSAFE ROWS 10
BEGIN ATOMIC
    SELECT r.item, r.score, r.lhs, r.support_count, r.lhs_count, r.rhs_count, r.total, r.confidence, r.lift
      FROM batmap_recommend_of(basket, batmap_kept_counts_of(kept_table, coalesce(basket, '{}')), min_count, min_support,
                               min_confidence, min_lift, include, exclude, top_k, measure) r;
END;
COMMENT ON FUNCTION batmap_recommend_of(text[], regclass, int8, float8, float8, float8, text[], text[], int8, text)
IS 'items that a kept table with text items recommends for a basket, best first, by rules of two items';

-- Figures about runs -----------------------------------------------------------------------------

CREATE FUNCTION batmap_progress(
    OUT pid int4, OUT datid oid, OUT usesysid oid, OUT operation text, OUT phase text, OUT started timestamptz,
    OUT rows_read int8, OUT tasks_done int8, OUT tasks_total int8, OUT results int8, OUT threads int8, OUT memory int8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 100 ROWS 10;
COMMENT ON FUNCTION batmap_progress() IS 'runs in progress in all sessions, and the GPU process; needs shared_preload_libraries';

CREATE VIEW batmap_progress AS
    SELECT p.pid, p.datid, d.datname, p.usesysid, a.rolname AS usename, p.operation, p.phase, p.started, p.rows_read, p.tasks_done,
           p.tasks_total, p.results, p.threads, p.memory
      FROM batmap_progress() p
      LEFT JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) p.datid
      LEFT JOIN pg_catalog.pg_roles a ON a.oid OPERATOR(pg_catalog.=) p.usesysid;
COMMENT ON VIEW batmap_progress IS 'runs in progress in all sessions, and the GPU process; needs shared_preload_libraries';
GRANT SELECT ON batmap_progress TO PUBLIC;

CREATE FUNCTION batmap_usage(
    OUT all_sessions bool, OUT threads int8, OUT max_threads int8, OUT memory int8, OUT max_memory int8)
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 10;
COMMENT ON FUNCTION batmap_usage() IS 'helper threads and bytes that runs use, and the limits: of all sessions if the library is preloaded, else of this session';

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
    OUT truncated_runs int8,
    OUT read_ms float8,
    OUT group_ms float8,
    OUT count_ms float8,
    OUT answer_ms float8,
    OUT peak_memory int8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 1;
COMMENT ON FUNCTION batmap_last_run()
IS 'record of the last run of this session: method, sizes, times in ms, peak memory in bytes';

CREATE FUNCTION batmap_last_run_levels(
    OUT length int4, OUT candidates int8, OUT frequent int8, OUT milliseconds float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION batmap_last_run_levels()
IS 'number of itemsets or episodes of each length in the last run; no rows if it was of another kind';

CREATE FUNCTION batmap_devices(
    OUT device int4,
    OUT name text,
    OUT compute_capability text,
    OUT multiprocessors int4,
    OUT memory_bytes int8,
    OUT bit_kernel text,
    OUT context_ms float8,
    OUT upload_gb_s float8,
    OUT download_gb_s float8,
    OUT and_bits_per_ns float8,
    OUT increments_per_ns float8,
    OUT break_even_rows_cold int8,
    OUT break_even_rows int8,
    OUT process_pid int4,
    OUT process_sessions int4,
    OUT process_running int4,
    OUT process_waiting int4,
    OUT used_bytes int8,
    OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 1;
COMMENT ON FUNCTION batmap_devices()
IS 'GPUs that this session can use, with measured rates, the number of rows from which each pays off, and the use of the GPU process, or the reason why there is none';

-- Tables that lie on several servers --------------------------------------------------------------

CREATE FUNCTION batmap_distributed_pair_counts(
    source text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    servers text[] DEFAULT NULL,
    disjoint bool DEFAULT false
)
RETURNS batmap_pair_counts
AS 'MODULE_PATHNAME', 'batmap_distributed_pair_counts' LANGUAGE C STABLE PARALLEL UNSAFE COST 1000000;
COMMENT ON FUNCTION batmap_distributed_pair_counts(text, int8, float8, int8[], int8[], name, name, text[], bool)
IS 'exact counts of the frequent pairs of a table that lies on several servers';

CREATE FUNCTION batmap_distributed_pairs(
    source text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    servers text[] DEFAULT NULL,
    disjoint bool DEFAULT false
)
RETURNS TABLE (item_a int8, item_b int8, support_count int8, count_a int8, count_b int8, total int8,
    support float8, confidence float8, confidence_ba float8, lift float8, score float8)
LANGUAGE sql STABLE PARALLEL UNSAFE COST 1000000 ROWS 100000
BEGIN ATOMIC
    SELECT p.* FROM batmap_pairs(
        batmap_distributed_pair_counts(source,
            CASE WHEN min_count IS NULL AND min_support IS NULL AND (top_k IS NOT NULL OR per_item_top_k IS NOT NULL) THEN 1
                ELSE min_count END,
            min_support, include, exclude, tid_column, item_column, servers, disjoint),
        min_count => min_count, min_support => min_support, include => include, exclude => exclude, top_k => top_k,
        per_item_top_k => per_item_top_k, measure => measure, max_results => max_results) p;
END;
COMMENT ON FUNCTION batmap_distributed_pairs(text, int8, float8, int8[], int8[], int8, int4, text, int8, name, name, text[], bool)
IS 'frequent pairs of a table that lies on several servers';

CREATE FUNCTION batmap_distributed_itemset_counts(
    source text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    servers text[] DEFAULT NULL,
    disjoint bool DEFAULT false
)
RETURNS batmap_itemset_counts
AS 'MODULE_PATHNAME', 'batmap_distributed_itemset_counts' LANGUAGE C STABLE PARALLEL UNSAFE COST 1000000;
COMMENT ON FUNCTION batmap_distributed_itemset_counts(text, int8, float8, int4, int8[], int8[], name, name, text[], bool)
IS 'exact counts of the frequent itemsets of a table that lies on several servers';

-- Whether an itemset is closed or maximal is seen from those with one more item; a generator, from those with one less.
CREATE FUNCTION batmap_distributed_itemsets(
    source text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    max_support float8 DEFAULT NULL,
    min_length int4 DEFAULT NULL,
    max_length int4 DEFAULT NULL,
    target text DEFAULT 'all',
    include int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    servers text[] DEFAULT NULL,
    disjoint bool DEFAULT false
)
RETURNS TABLE (itemset int8[], length int4, support_count int8, support float8, total int8)
LANGUAGE sql STABLE PARALLEL UNSAFE COST 1000000 ROWS 100000
BEGIN ATOMIC
    SELECT i.* FROM batmap_itemsets(
        batmap_distributed_itemset_counts(source, min_count, min_support,
            CASE WHEN target IN ('closed', 'maximal') AND max_length BETWEEN 1 AND 1000000 THEN max_length + 1 ELSE max_length END,
            CASE WHEN target = 'generators' THEN NULL ELSE include END, exclude, tid_column, item_column, servers, disjoint),
        min_count => min_count, min_support => min_support, max_support => max_support, min_length => min_length,
        max_length => max_length, target => target, include => include, exclude => exclude, top_k => top_k,
        max_results => max_results, timeout => timeout) i;
END;
COMMENT ON FUNCTION batmap_distributed_itemsets(text, int8, float8, float8, int4, int4, text, int8[], int8[], int8, int8, interval, name, name, text[], bool)
IS 'frequent itemsets of a table that lies on several servers';

CREATE FUNCTION batmap_distributed_rules(
    source text,
    min_count int8 DEFAULT NULL,
    min_support float8 DEFAULT NULL,
    min_confidence float8 DEFAULT NULL,
    min_lift float8 DEFAULT NULL,
    max_lhs int4 DEFAULT NULL,
    max_rhs int4 DEFAULT 1,
    lhs_include int8[] DEFAULT NULL,
    lhs_exclude int8[] DEFAULT NULL,
    rhs_include int8[] DEFAULT NULL,
    rhs_exclude int8[] DEFAULT NULL,
    exclude int8[] DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    measure text DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    tid_column name DEFAULT NULL,
    item_column name DEFAULT NULL,
    servers text[] DEFAULT NULL,
    disjoint bool DEFAULT false
)
RETURNS TABLE (
    lhs int8[], rhs int8[], support_count int8, lhs_count int8, rhs_count int8, total int8,
    support float8, confidence float8, lift float8, leverage float8, conviction float8, score float8)
LANGUAGE sql STABLE PARALLEL UNSAFE COST 1000000 ROWS 100000
BEGIN ATOMIC
    SELECT r.* FROM batmap_rules(
        batmap_distributed_itemset_counts(source, min_count, min_support,
            CASE WHEN max_lhs BETWEEN 1 AND 1000000 AND max_rhs BETWEEN 1 AND 1000000 THEN max_lhs + max_rhs END,
            NULL::int8[], exclude, tid_column, item_column, servers, disjoint),
        min_count => min_count, min_support => min_support, min_confidence => min_confidence, min_lift => min_lift,
        max_lhs => max_lhs, max_rhs => max_rhs, lhs_include => lhs_include, lhs_exclude => lhs_exclude,
        rhs_include => rhs_include, rhs_exclude => rhs_exclude, exclude => exclude, top_k => top_k, measure => measure,
        max_results => max_results, timeout => timeout) r;
END;
COMMENT ON FUNCTION batmap_distributed_rules(text, int8, float8, float8, float8, int4, int4, int8[], int8[], int8[], int8[], int8[], int8, text, int8, interval, name, name, text[], bool)
IS 'association rules of a table that lies on several servers';

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

CREATE FUNCTION batmap_distributed_join_counts(
    left_source text,
    right_source text,
    min_count int8 DEFAULT NULL,
    a_column name DEFAULT NULL,
    left_b_column name DEFAULT NULL,
    right_b_column name DEFAULT NULL,
    c_column name DEFAULT NULL,
    servers text[] DEFAULT NULL,
    disjoint bool DEFAULT false
)
RETURNS batmap_join_counts
AS 'MODULE_PATHNAME', 'batmap_distributed_join_counts' LANGUAGE C STABLE PARALLEL UNSAFE COST 1000000;
COMMENT ON FUNCTION batmap_distributed_join_counts(text, text, int8, name, name, name, name, text[], bool)
IS 'exact counts of the frequent pairs of a join of two tables that lie on several servers';

CREATE FUNCTION batmap_distributed_join_project(
    left_source text,
    right_source text,
    min_count int8 DEFAULT NULL,
    top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL,
    max_results int8 DEFAULT NULL,
    a_column name DEFAULT NULL,
    left_b_column name DEFAULT NULL,
    right_b_column name DEFAULT NULL,
    c_column name DEFAULT NULL,
    servers text[] DEFAULT NULL,
    disjoint bool DEFAULT false
)
RETURNS TABLE (a int8, c int8, support_count int8)
LANGUAGE sql STABLE PARALLEL UNSAFE COST 1000000 ROWS 100000
BEGIN ATOMIC
    SELECT j.* FROM batmap_join_project(
        batmap_distributed_join_counts(left_source, right_source, min_count, a_column, left_b_column, right_b_column, c_column,
            servers, disjoint),
        min_count => min_count, top_k => top_k, per_item_top_k => per_item_top_k, max_results => max_results) j;
END;
COMMENT ON FUNCTION batmap_distributed_join_project(text, text, int8, int8, int4, int8, name, name, name, name, text[], bool)
IS 'all (a, c) that share a b in two tables that lie on several servers, with the number of such b';
