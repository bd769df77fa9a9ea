\echo Use "ALTER EXTENSION batmap UPDATE TO '0.2.0-dev'" to load this file. \quit

-- What changes in the SQL objects of 0.1.0: every change of sql/batmap.sql has its statements here, too.

CREATE FUNCTION batmap(elements int8[]) RETURNS batmap
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN elements::batmap;
COMMENT ON FUNCTION batmap(int8[]) IS 'the set of the elements of an array';
