\echo Use "ALTER EXTENSION batmap UPDATE TO '0.2.0-dev'" to load this file. \quit

-- What changes in the SQL objects of 0.1.0: every change of sql/batmap.sql has its statements here, too.
