-- Everything that the catalog says about the objects of the extension and about what belongs to them (array types, rows of operator
-- families, ...), a line for each property. A database that was updated has the lines of a fresh one.

SET search_path = pg_catalog;
WITH RECURSIVE member AS (
    SELECT d.classid, d.objid FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
     WHERE e.extname = 'batmap' AND d.deptype = 'e'
    UNION
    SELECT d.classid, d.objid FROM member m JOIN pg_depend d ON d.refclassid = m.classid AND d.refobjid = m.objid
     WHERE d.deptype IN ('i', 'a')
), property AS (
    SELECT 'pg_extension'::regclass::oid AS class, oid AS object,
           format('%s %s %s %s', extversion, extrelocatable, extnamespace::regnamespace, extconfig::text) AS line
      FROM pg_extension WHERE extname = 'batmap'
    UNION ALL
    SELECT 'pg_proc'::regclass, p.oid, jsonb_pretty(to_jsonb(p) - ARRAY['oid', 'pronamespace', 'proowner', 'prolang', 'provariadic', 'prorettype',
               'proargtypes', 'proallargtypes', 'proargdefaults', 'prosqlbody', 'protrftypes'] ||
               jsonb_build_object('schema', p.pronamespace::regnamespace, 'owner', p.proowner::regrole, 'language', l.lanname,
                   'arguments', pg_get_function_arguments(p.oid), 'result', pg_get_function_result(p.oid), 'body', pg_get_function_sqlbody(p.oid)))
      FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
    UNION ALL
    SELECT 'pg_proc'::regclass, aggfnoid, jsonb_pretty(to_jsonb(a) - ARRAY['aggfnoid', 'aggtranstype', 'aggmtranstype', 'aggsortop'] ||
               jsonb_build_object('state', aggtranstype::regtype, 'moving state', aggmtranstype::regtype, 'sort', aggsortop::regoperator))
      FROM pg_aggregate a
    UNION ALL
    SELECT 'pg_type'::regclass, t.oid, jsonb_pretty(to_jsonb(t) - ARRAY['oid', 'typnamespace', 'typowner', 'typrelid', 'typelem', 'typarray',
               'typbasetype', 'typcollation', 'typdefaultbin'] ||
               jsonb_build_object('schema', t.typnamespace::regnamespace, 'owner', t.typowner::regrole, 'element', t.typelem::regtype, 'array', t.typarray::regtype,
                   'base', t.typbasetype::regtype, 'collation', t.typcollation::regcollation))
      FROM pg_type t
    UNION ALL
    SELECT 'pg_class'::regclass, c.oid, jsonb_pretty(jsonb_build_object('schema', c.relnamespace::regnamespace, 'owner', c.relowner::regrole, 'kind', c.relkind,
               'privileges', c.relacl, 'options', c.reloptions, 'view', CASE WHEN c.relkind = 'v' THEN pg_get_viewdef(c.oid) END,
               'columns', (SELECT string_agg(format('%s %s %s', a.attname, format_type(a.atttypid, a.atttypmod), a.attacl), ', ' ORDER BY a.attnum)
                             FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0)))
      FROM pg_class c
    UNION ALL
    SELECT 'pg_operator'::regclass, o.oid, jsonb_pretty(to_jsonb(o) - ARRAY['oid', 'oprnamespace', 'oprowner', 'oprleft', 'oprright', 'oprresult', 'oprcom',
               'oprnegate'] ||
               jsonb_build_object('schema', oprnamespace::regnamespace, 'owner', oprowner::regrole, 'left', oprleft::regtype, 'right', oprright::regtype,
                   'result', oprresult::regtype, 'commutator', oprcom::regoperator, 'negator', oprnegate::regoperator))
      FROM pg_operator o
    UNION ALL
    SELECT 'pg_opclass'::regclass, c.oid, jsonb_pretty(to_jsonb(c) - ARRAY['oid', 'opcmethod', 'opcnamespace', 'opcowner', 'opcfamily', 'opcintype', 'opckeytype'] ||
               jsonb_build_object('schema', opcnamespace::regnamespace, 'owner', opcowner::regrole, 'input', opcintype::regtype, 'key', opckeytype::regtype))
      FROM pg_opclass c
    UNION ALL
    SELECT 'pg_amop'::regclass, o.oid, format('%s %s %s %s %s', amoplefttype::regtype, amoprighttype::regtype, amopstrategy, amoppurpose, amopopr::regoperator)
      FROM pg_amop o
    UNION ALL
    SELECT 'pg_amproc'::regclass, p.oid, format('%s %s %s %s', amproclefttype::regtype, amprocrighttype::regtype, amprocnum, amproc::regprocedure)
      FROM pg_amproc p
    UNION ALL
    SELECT 'pg_cast'::regclass, c.oid, format('%s %s %s', castfunc::regprocedure, castcontext, castmethod) FROM pg_cast c
    UNION ALL
    SELECT classoid, objoid, format('comment of part %s: %s', objsubid, description) FROM pg_description
    UNION ALL
    SELECT classoid, objoid, format('first privileges of part %s: %s', objsubid, initprivs) FROM pg_init_privs
    UNION ALL
    SELECT classid, objid, format('depends (%s) on %s', deptype, pg_describe_object(refclassid, refobjid, refobjsubid)) FROM pg_depend
)
SELECT pg_describe_object(m.classid, m.objid, 0) || ': ' || regexp_replace(p.line, '\s+', ' ', 'g') AS line
  FROM (SELECT * FROM member UNION SELECT 'pg_extension'::regclass, oid FROM pg_extension WHERE extname = 'batmap') m
  JOIN property p ON p.class = m.classid AND p.object = m.objid
 WHERE p.object >= 16384
 ORDER BY (pg_describe_object(m.classid, m.objid, 0) || p.line) COLLATE "C";
