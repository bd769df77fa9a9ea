\echo Use "ALTER EXTENSION batmap UPDATE TO '0.2.0-dev'" to load this file. \quit

-- What changes in the SQL objects of 0.1.0: every change of sql/batmap.sql has its statements here, too.

CREATE FUNCTION batmap(elements int8[]) RETURNS batmap
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN elements::batmap;
COMMENT ON FUNCTION batmap(int8[]) IS 'the set of the elements of an array';

-- Operators of sets and arrays: the array is coerced to a type of its own first.

DROP OPERATOR & (batmap, int8[]);
DROP OPERATOR & (int8[], batmap);
DROP OPERATOR | (batmap, int8[]);
DROP OPERATOR | (int8[], batmap);
DROP OPERATOR - (batmap, int8[]);
DROP OPERATOR - (int8[], batmap);
DROP OPERATOR # (batmap, int8[]);
DROP OPERATOR # (int8[], batmap);
DROP OPERATOR && (batmap, int8[]);
DROP OPERATOR && (int8[], batmap);
DROP OPERATOR @> (batmap, int8[]);
DROP OPERATOR @> (int8[], batmap);
DROP OPERATOR <@ (batmap, int8[]);
DROP OPERATOR <@ (int8[], batmap);
DROP OPERATOR % (batmap, int8[]);
DROP OPERATOR % (int8[], batmap);
DROP OPERATOR = (batmap, int8[]);
DROP OPERATOR = (int8[], batmap);
DROP OPERATOR <> (batmap, int8[]);
DROP OPERATOR <> (int8[], batmap);
DROP OPERATOR < (batmap, int8[]);
DROP OPERATOR < (int8[], batmap);
DROP OPERATOR <= (batmap, int8[]);
DROP OPERATOR <= (int8[], batmap);
DROP OPERATOR > (batmap, int8[]);
DROP OPERATOR > (int8[], batmap);
DROP OPERATOR >= (batmap, int8[]);
DROP OPERATOR >= (int8[], batmap);
DROP OPERATOR <%> (batmap, int8[]);
DROP OPERATOR <%> (int8[], batmap);
DROP FUNCTION _batmap_and(batmap, int8[]);
DROP FUNCTION _batmap_and(int8[], batmap);
DROP FUNCTION _batmap_or(batmap, int8[]);
DROP FUNCTION _batmap_or(int8[], batmap);
DROP FUNCTION _batmap_andnot(batmap, int8[]);
DROP FUNCTION _batmap_andnot(int8[], batmap);
DROP FUNCTION _batmap_xor(batmap, int8[]);
DROP FUNCTION _batmap_xor(int8[], batmap);
DROP FUNCTION _batmap_overlaps(batmap, int8[]);
DROP FUNCTION _batmap_overlaps(int8[], batmap);
DROP FUNCTION _batmap_contains(batmap, int8[]);
DROP FUNCTION _batmap_contains(int8[], batmap);
DROP FUNCTION _batmap_contained(batmap, int8[]);
DROP FUNCTION _batmap_contained(int8[], batmap);
DROP FUNCTION _batmap_similar(batmap, int8[]);
DROP FUNCTION _batmap_similar(int8[], batmap);
DROP FUNCTION _batmap_eq(batmap, int8[]);
DROP FUNCTION _batmap_eq(int8[], batmap);
DROP FUNCTION _batmap_ne(batmap, int8[]);
DROP FUNCTION _batmap_ne(int8[], batmap);
DROP FUNCTION _batmap_lt(batmap, int8[]);
DROP FUNCTION _batmap_lt(int8[], batmap);
DROP FUNCTION _batmap_le(batmap, int8[]);
DROP FUNCTION _batmap_le(int8[], batmap);
DROP FUNCTION _batmap_gt(batmap, int8[]);
DROP FUNCTION _batmap_gt(int8[], batmap);
DROP FUNCTION _batmap_ge(batmap, int8[]);
DROP FUNCTION _batmap_ge(int8[], batmap);
DROP FUNCTION _batmap_jaccard_distance(batmap, int8[]);
DROP FUNCTION _batmap_jaccard_distance(int8[], batmap);

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

-- The column score of rules: the measure, which is NULL if none is named. Where two columns are named, min_count is a float8, as below.

DROP FUNCTION batmap_distributed_rules(text, int8, float8, float8, float8, int4, int4, int8[], int8[], int8[], int8[], int8[], int8, text, int8, interval, name, name, text[], bool);
DROP FUNCTION batmap_rules(regclass, int8, float8, float8, float8, int8[], int8[], int8[], int8[], int8[], int8, text);
DROP FUNCTION batmap_rules_of(batmap_pair_counts, int8, float8, float8, float8, text[], text[], text[], text[], text[], int8, text);
DROP FUNCTION batmap_rules(batmap_pair_counts, int8, float8, float8, float8, int8[], int8[], int8[], int8[], int8[], int8, text);
DROP FUNCTION batmap_rules(batmap_itemset_counts, int8, float8, float8, float8, int4, int4, int8[], int8[], int8[], int8[], int8[], int8, text, int8, interval);
DROP FUNCTION batmap_rules_as(anyelement, batmap_relation, int8, float8, float8, float8, int4, int4, text[], text[], text[], text[], text[], int8, text, int8, interval, text);
DROP FUNCTION batmap_rules_of(batmap_relation, int8, float8, float8, float8, int4, int4, text[], text[], text[], text[], text[], int8, text, int8, interval, text);
DROP FUNCTION batmap_rules_as(anyelement, text, int8, float8, float8, float8, int4, int4, text[], text[], text[], text[], text[], int8, text, int8, interval, text, name, name, record);
DROP FUNCTION batmap_rules_of(text, text, text, int8, float8, float8, float8, int4, int4, text[], text[], text[], text[], text[], int8, text, int8, interval, text, record);
DROP FUNCTION batmap_rules_of(regclass, name, name, int8, float8, float8, float8, int4, int4, text[], text[], text[], text[], text[], int8, text, int8, interval, text);
DROP FUNCTION batmap_rules_of(text, int8, float8, float8, float8, int4, int4, text[], text[], text[], text[], text[], int8, text, int8, interval, text, name, name, record);
DROP FUNCTION batmap_rules(batmap_relation, int8, float8, float8, float8, int4, int4, int8[], int8[], int8[], int8[], int8[], int8, text, int8, interval, text);
DROP FUNCTION batmap_rules(text, text, text, int8, float8, float8, float8, int4, int4, int8[], int8[], int8[], int8[], int8[], int8, text, int8, interval, text, record);
DROP FUNCTION batmap_rules(regclass, name, name, int8, float8, float8, float8, int4, int4, int8[], int8[], int8[], int8[], int8[], int8, text, int8, interval, text);
DROP FUNCTION batmap_rules(text, int8, float8, float8, float8, int4, int4, int8[], int8[], int8[], int8[], int8[], int8, text, int8, interval, text, name, name, record);

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

CREATE OR REPLACE FUNCTION batmap_recommend(
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

CREATE OR REPLACE FUNCTION batmap_recommend_of(
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

DROP FUNCTION _batmap_check_items(text, anyarray);

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

-- Where two columns are named, min_count is a float8, so that the server finds this form for a bare number.

DROP FUNCTION batmap_recommend_of(text[], text, text, text, int8, float8, float8, float8, int4, text[], text[], int8, text, record);
DROP FUNCTION batmap_recommend_of(text[], regclass, name, name, int8, float8, float8, float8, int4, text[], text[], int8, text);
DROP FUNCTION batmap_recommend(int8[], text, text, text, int8, float8, float8, float8, int4, int8[], int8[], int8, text, record);
DROP FUNCTION batmap_recommend(int8[], regclass, name, name, int8, float8, float8, float8, int4, int8[], int8[], int8, text);
DROP FUNCTION batmap_itemset_estimate_of(text, text, text, int8, float8, float8, int4, int4, text[], text[], interval, record);
DROP FUNCTION batmap_itemset_estimate_of(regclass, name, name, int8, float8, float8, int4, int4, text[], text[], interval);
DROP FUNCTION batmap_itemset_estimate(text, text, text, int8, float8, float8, int4, int4, int8[], int8[], interval, record);
DROP FUNCTION batmap_itemset_estimate(regclass, name, name, int8, float8, float8, int4, int4, int8[], int8[], interval);
DROP FUNCTION batmap_itemset_spectrum_of(text, text, text, int8, float8, float8, int4, int4, text, text[], text[], record);
DROP FUNCTION batmap_itemset_spectrum_of(regclass, name, name, int8, float8, float8, int4, int4, text, text[], text[]);
DROP FUNCTION batmap_itemset_spectrum(text, text, text, int8, float8, float8, int4, int4, text, int8[], int8[], record);
DROP FUNCTION batmap_itemset_spectrum(regclass, name, name, int8, float8, float8, int4, int4, text, int8[], int8[]);
DROP FUNCTION batmap_itemsets_of(text, text, text, int8, float8, float8, int4, int4, text, text[], text[], int8, int8, interval, text, text, record);
DROP FUNCTION batmap_itemsets_of(regclass, name, name, int8, float8, float8, int4, int4, text, text[], text[], int8, int8, interval, text, text);
DROP FUNCTION batmap_itemsets(text, text, text, int8, float8, float8, int4, int4, text, int8[], int8[], int8, int8, interval, text, text, record);
DROP FUNCTION batmap_itemsets(regclass, name, name, int8, float8, float8, int4, int4, text, int8[], int8[], int8, int8, interval, text, text);

CREATE OR REPLACE FUNCTION batmap_itemsets(
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

CREATE OR REPLACE FUNCTION batmap_itemsets_of(
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

CREATE OR REPLACE FUNCTION batmap_itemset_spectrum(
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

CREATE OR REPLACE FUNCTION batmap_itemset_spectrum_of(
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

CREATE OR REPLACE FUNCTION batmap_itemset_estimate(
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

CREATE OR REPLACE FUNCTION batmap_itemset_estimate_of(
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

CREATE OR REPLACE FUNCTION batmap_recommend(
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

CREATE OR REPLACE FUNCTION batmap_recommend_of(
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

-- Sets from JSON.

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
