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
