# The background workers that merge kept counts where the library is preloaded: they merge what is long enough, wait for nobody and
# block nobody, survive what happens to tables, extensions and databases, and stop.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('merge_workers');
$node->init;
$node->append_conf('postgresql.conf', q{
    shared_preload_libraries = 'batmap'
    batmap.merge_interval = 1
    batmap.merge_rows = 10
    default_transaction_isolation = 'serializable'
    default_transaction_read_only = on
});
$node->start;

sub sql { my ($text, $database) = @_; return $node->safe_psql($database // 'shop', "SET default_transaction_read_only = off;\n$text") }
sub soon { my ($query, $database) = @_; return $node->poll_query_until($database // 'shop', $query) }
sub log_of { my ($table) = @_; return "SELECT count(*) FROM ${table}_kept_log" }

is($node->safe_psql('postgres', q{SELECT count(*), max(datname), max(state) IS NOT NULL FROM pg_stat_activity WHERE backend_type = 'batmap merge launcher'}),
    '1||t', 'the launcher is there, in no database');
sql($_, 'postgres') for 'CREATE ROLE owner LOGIN', 'CREATE DATABASE shop OWNER owner';

sql(q{
    CREATE EXTENSION batmap;
    CREATE SCHEMA "Sales" AUTHORIZATION owner;
    CREATE FUNCTION "Sales".as_owner() RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN current_user = 'owner'; END $$;
    SET ROLE owner;
    CREATE TABLE "Sales".lines (tid int, item int);
    CREATE TABLE "Sales".words (tid text PRIMARY KEY, item text);
    CREATE TABLE "Sales".locked (tid int PRIMARY KEY, item int);
    CREATE TABLE "Sales".broken (tid int PRIMARY KEY, item int);
    CREATE INDEX ON "Sales".lines (tid);
});
sql(qq{SET ROLE owner; SELECT $_}) for q{batmap_keep('"Sales".lines', 'tid', 'item', '"Sales".as_owner()')}, q{batmap_keep('"Sales".words', 'tid', 'item')},
    q{batmap_keep('"Sales".locked', 'tid', 'item')}, q{batmap_keep('"Sales".broken', 'tid', 'item')};

# -- What is merged

sql(q{INSERT INTO "Sales".lines SELECT i / 3, i % 7 FROM generate_series(1, 50) i; INSERT INTO "Sales".words VALUES ('a', 'x'), ('b', 'x')});
ok(soon(q{SELECT count(*) = 0 FROM "Sales".lines_kept_log}), 'a log with 50 rows is merged');
is(sql(log_of('"Sales".words')), '2', 'one with 2 rows waits');
is(sql(q{SELECT batmap_check_kept('"Sales".lines'), batmap_check_kept('"Sales".words')}), 't|t', 'the counts are right');
sql('ALTER DATABASE shop SET batmap.merge_rows = 2');
ok(soon(q{SELECT count(*) = 0 FROM "Sales".words_kept_log}), 'a database can have a size of its own');

# -- The role that a database sets for its sessions does not merge. A rewritten table is counted again, without rows in its log.

sql('ALTER DATABASE shop SET role = pg_read_all_data', 'postgres');
my $old_file = sql(q{SELECT low FROM "Sales".lines_kept_counts WHERE part = 2});
sql(q{SET ROLE owner; INSERT INTO "Sales".words VALUES ('r', 'x'), ('s', 'x')});
sql(q{SET ROLE owner; CLUSTER "Sales".lines USING lines_tid_idx});
ok(soon(q{SELECT count(*) = 0 FROM "Sales".words_kept_log}), 'a worker is no other role');
ok(soon(qq{SELECT low <> $old_file FROM "Sales".lines_kept_counts WHERE part = 2}), 'a rewritten table is counted again');
sql('ALTER DATABASE shop RESET role', 'postgres');

# -- Locks: what is locked is left for later; the other tables are merged

my $holder = $node->background_psql('shop');
$holder->query_safe('SET default_transaction_read_only = off');
$holder->query_safe(q{BEGIN; LOCK TABLE "Sales".locked IN ACCESS EXCLUSIVE MODE; INSERT INTO "Sales".locked SELECT i, 1 FROM generate_series(1, 20) i});
sql(q{INSERT INTO "Sales".lines SELECT i / 3, i % 5 FROM generate_series(1, 20) i});
ok(soon(q{SELECT count(*) = 0 FROM "Sales".lines_kept_log}), 'a locked table does not hold up another one');
$holder->query_safe('COMMIT');
ok(soon(q{SELECT count(*) = 0 FROM "Sales".locked_kept_log}), 'and is merged when it is free');
$holder->query_safe(q{BEGIN; SELECT batmap_merge_kept('"Sales".lines')});
sql(q{INSERT INTO "Sales".lines SELECT i / 3, i % 5 FROM generate_series(1, 20) i; INSERT INTO "Sales".words SELECT 'c' || i, 'y' FROM generate_series(1, 9) i});
ok(soon(q{SELECT count(*) = 0 FROM "Sales".words_kept_log}), 'nor does a merge in another session');
is(sql(log_of('"Sales".lines')), '20', 'for which no worker waits');
$holder->query_safe('ROLLBACK');
$holder->quit;

# -- Errors are logged, and other tables are merged

my $mark = -s $node->logfile;
sql(q{SET ROLE owner; ALTER TABLE "Sales".broken_kept_log ADD extra int});
sql(q{INSERT INTO "Sales".lines SELECT i / 3, i % 3 FROM generate_series(1, 20) i});
ok(soon(q{SELECT count(*) = 0 FROM "Sales".lines_kept_log}), 'a companion that is not in order does not hold up other tables');
ok($node->wait_for_log(qr/CONTEXT:  merging kept counts of Sales.broken/, $mark), 'the log names the table');
sql(q{SET ROLE owner; ALTER TABLE "Sales".broken_kept_log DROP extra; DROP TABLE "Sales".broken});

# -- Databases come and go; each statement may have to wait for a merge, which is short

sub server { my ($statement) = @_; return $node->psql('postgres', "SET default_transaction_read_only = off;\n$statement") }
for my $turn (1 .. 3)
{
    is(server("CREATE DATABASE copy TEMPLATE shop"), 0, "a copy of the database is made ($turn)");
    sql(q{INSERT INTO "Sales".lines SELECT i / 3, i % 3 FROM generate_series(1, 30) i}, 'copy');
    ok(soon(q{SELECT count(*) = 0 FROM "Sales".lines_kept_log}, 'copy'), 'and merged') if $turn == 1;
    is(server('DROP DATABASE copy'), 0, 'and dropped');
}
is(server('CREATE DATABASE plain'), 0, 'a database without the extension');
sql('DROP EXTENSION batmap CASCADE; CREATE EXTENSION batmap; CREATE TABLE again (tid int PRIMARY KEY, item text)');
sql(q{SELECT batmap_keep('again', 'tid', 'item'); INSERT INTO again SELECT i, 'y' FROM generate_series(1, 9) i});
ok(soon(q{SELECT count(*) = 0 FROM again_kept_log}), 'merging goes on after DROP EXTENSION and CREATE EXTENSION');

# -- A worker that takes long holds up its own database only

is(server('CREATE DATABASE slow'), 0, 'one more database');
sql(q{
    CREATE EXTENSION batmap;
    CREATE TABLE lines (tid int PRIMARY KEY, item int);
    CREATE FUNCTION waits_in_workers() RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
        IF (SELECT backend_type FROM pg_stat_activity WHERE pid = pg_backend_pid()) = 'batmap merge worker' THEN PERFORM pg_sleep(1000); END IF;
        RETURN true; END $$;
    SELECT batmap_keep('lines', 'tid', 'item', 'item > 0 OR waits_in_workers()');
    INSERT INTO lines SELECT i, 0 FROM generate_series(1, 20) i}, 'slow');
ok($node->wait_for_log(qr/takes long: other databases go on/), 'the launcher stops waiting');
sql(q{INSERT INTO again SELECT 200 + i, 'y' FROM generate_series(1, 9) i});
ok(soon(q{SELECT count(*) = 0 FROM again_kept_log}), 'and other databases are merged');
my $slow = q{FROM pg_stat_activity WHERE backend_type = 'batmap merge worker' AND datname = 'slow'};
is($node->safe_psql('postgres', "SELECT count(*) $slow"), '1', 'while one worker is in the slow one');
sql(q{
    CREATE ROLE quick;
    CREATE SCHEMA quick AUTHORIZATION quick;
    SET ROLE quick;
    CREATE TABLE quick.lines (tid int PRIMARY KEY, item int);
    SELECT batmap_keep('quick.lines', 'tid', 'item');
    INSERT INTO quick.lines SELECT i, i % 3 FROM generate_series(1, 20) i}, 'slow');
ok(soon(q{SELECT count(*) = 0 FROM quick.lines_kept_log}, 'slow'), 'a merge that takes too long is given up: tables of other owners are merged');
is($node->safe_psql('slow', log_of('lines')), '20', 'and its table is not');
sql(q{CREATE OR REPLACE FUNCTION waits_in_workers() RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT true'}, 'slow');
$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) $slow");
ok(soon(q{SELECT count(*) = 0 FROM lines_kept_log}, 'slow'), 'which is merged when its filter is mended');

# -- Workers are ended that go on when their time is up. Owners of such merges come last: this takes a minute.

if (($ENV{BATMAP_TEST_GRID} // '') eq 'full')
{
    is(server('CREATE DATABASE stuck'), 0, 'one more database');
    sql(q{
        CREATE EXTENSION batmap;
        CREATE FUNCTION stays() RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
            WHILE current_setting('lock_timeout') = '1s' LOOP  -- set in workers only
                BEGIN PERFORM pg_sleep(0.1); EXCEPTION WHEN query_canceled THEN NULL; END;
            END LOOP;
            RETURN true; END $$}, 'stuck');
    for my $owner ('stays_1', 'stays_2', 'goes')
    {
        my $filter = $owner eq 'goes' ? 'true' : 'item > 0 OR public.stays()';
        sql(qq{
            CREATE ROLE $owner;
            CREATE SCHEMA $owner AUTHORIZATION $owner;
            SET ROLE $owner;
            CREATE TABLE $owner.lines (tid int PRIMARY KEY, item int);
            SELECT batmap_keep('$owner.lines', 'tid', 'item', '$filter');
            INSERT INTO $owner.lines SELECT i, 0 FROM generate_series(1, 20) i}, 'stuck');
    }
    for my $turn (1 .. 2)
    {
        ok(soon(q{SELECT count(*) = 0 FROM goes.lines_kept_log}, 'stuck'), "tables of others are merged ($turn)");
        sql(q{INSERT INTO goes.lines SELECT 20 + i, 0 FROM generate_series(1, 20) i}, 'stuck') if $turn == 1;
    }
    is($node->safe_psql('stuck', log_of('stays_1.lines')), '20', 'and theirs are not');
    is($node->psql('postgres', 'SET default_transaction_read_only = off; DROP DATABASE stuck WITH (FORCE)'), 0, 'the database is dropped');
}

# -- The launcher ends and comes back; with the interval 0 it sleeps

my $launcher = q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'batmap merge launcher'};
my $pid = $node->safe_psql('postgres', $launcher);
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
ok(soon("SELECT EXISTS ($launcher) AND NOT EXISTS ($launcher AND pid = $pid)", 'postgres'), 'a launcher that was ended is started again');
$node->append_conf('postgresql.conf', 'batmap.merge_interval = 0');
$node->reload;
ok(soon("SELECT state = 'idle' AND current_setting('batmap.merge_interval') = '0' FROM pg_stat_activity WHERE backend_type = 'batmap merge launcher'", 'postgres'), 'it sleeps if the interval is 0');
$node->append_conf('postgresql.conf', 'batmap.merge_interval = 1');
$node->reload;
sql(q{INSERT INTO again SELECT 100 + i, 'y' FROM generate_series(1, 9) i});
ok(soon(q{SELECT count(*) = 0 FROM again_kept_log}), 'and goes on when it is set again');
$node->stop('fast');
unlike(PostgreSQL::Test::Utils::slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal/, 'nothing has crashed');

done_testing();
