"""A developer's way with a set column: a table that exists, a migration, a model, an index, a trigger, a dump and its restore, and
the mistakes that are made on the way, with what they are answered.
"""

import os
import subprocess
import sys
import textwrap

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

import batmap.psycopg
from batmap.sqlalchemy import Batmap


@pytest.fixture
def databases(database):
    """Two empty databases of the role of the tests."""
    names = [f"{database.name}_{number}" for number in (1, 2)]
    with psycopg.connect(autocommit=True) as admin:
        for name in names:
            admin.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), sql.Identifier(database.role)))
    yield [type(database)(name, database.role) for name in names]
    with psycopg.connect(autocommit=True) as admin:
        for name in names:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


class Base(DeclarativeBase):
    pass


class Product(Base):
    __tablename__ = "products"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    buyers: Mapped[frozenset[int]] = mapped_column(Batmap(1_000_000))
    __table_args__ = (sa.Index("products_buyers", "buyers", postgresql_using="gin"),)


class Sale(Base):
    __tablename__ = "sales"
    id: Mapped[int] = mapped_column(primary_key=True)
    buyer: Mapped[int]
    product: Mapped[int] = mapped_column(sa.ForeignKey("products.id"))


TRIGGER = """
CREATE FUNCTION add_buyers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE public.products p SET buyers = p.buyers | added.buyers
    FROM (SELECT product, public.batmap_agg(buyer) AS buyers FROM added GROUP BY product) added
    WHERE p.id = added.product;
    RETURN NULL;
END $$;
CREATE TRIGGER added AFTER INSERT ON sales REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION add_buyers();
"""


def test_a_set_column_from_ddl_to_restore(databases):
    first, second = databases

    # Without the extension the type is not there.
    with first.connect(autocommit=True) as conn:
        with pytest.raises(psycopg.ProgrammingError, match="the database has no type batmap; run CREATE EXTENSION batmap in it"):
            batmap.psycopg.register(conn)
        with pytest.raises(psycopg.errors.UndefinedFunction, match="batmap_pairs"):
            batmap.pairs(conn, "SELECT 1, 2", min_count=1)

        # A table as it was: arrays of buyers. The migration makes sets of them.
        conn.execute("CREATE TABLE products (id serial PRIMARY KEY, name text NOT NULL, buyers int[] NOT NULL)")
        conn.execute("INSERT INTO products (name, buyers) VALUES ('tea', '{3,1,3}'), ('jam', '{}'), ('big', '{2000000}')")
        conn.execute("CREATE EXTENSION batmap")
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="universe"):
            conn.execute("ALTER TABLE products ALTER buyers TYPE batmap(0)")
        with pytest.raises(
            psycopg.errors.NumericValueOutOfRange, match=r"element 2000000 is out of range for type batmap\(1000000\)"
        ):
            conn.execute("ALTER TABLE products ALTER buyers TYPE batmap(1000000)")
        conn.execute("DELETE FROM products WHERE name = 'big'")
        conn.execute("ALTER TABLE products ALTER buyers TYPE batmap(1000000)")
        conn.execute("CREATE INDEX products_buyers ON products USING gin (buyers)")
        conn.execute("CREATE TABLE sales (id serial PRIMARY KEY, buyer int NOT NULL, product int NOT NULL REFERENCES products)")
        conn.execute(TRIGGER)

    # The model, over the tables that are there.
    engine = sa.create_engine(first.url("psycopg"))
    reflected = sa.Table("products", sa.MetaData(), autoload_with=engine)
    assert reflected.c.buyers.type.universe == Product.__table__.c.buyers.type.universe == 1_000_000
    with Session(engine) as session:
        tea = session.scalars(sa.select(Product).where(Product.name == "tea")).one()
        assert tea.buyers == {1, 3}
        session.add_all([Sale(buyer=buyer, product=tea.id) for buyer in (7, 7, 8)])
        session.add(Product(name="coffee", buyers=range(0, 900_000, 3)))
        session.commit()
        assert tea.buyers == {1, 3, 7, 8}  # the trigger was quicker
        assert session.scalars(sa.select(Product.name).where(Product.buyers.contains({3, 9}))).all() == ["coffee"]
        common = sa.func.batmap_and_cardinality(Product.buyers, sa.literal({1, 3, 9}, Batmap()))
        assert session.execute(sa.select(Product.name, common).order_by(Product.id)).all() == [
            ("tea", 2),
            ("jam", 0),
            ("coffee", 2),
        ]

        # Mistakes.
        for statement, values, error, message in REFUSED:
            with pytest.raises(sa.exc.DBAPIError) as caught, session.begin_nested():
                session.execute(sa.text(statement), values)
            assert isinstance(caught.value.orig, error), (statement, caught.value)
            assert message in str(caught.value.orig), statement
    engine.dispose()

    # A dump, and its restore by the role that owns the database.
    archive = subprocess.run(
        ["pg_dump", "--format=custom", "--username", first.role, first.name], check=True, capture_output=True
    ).stdout
    subprocess.run(
        ["pg_restore", "--exit-on-error", "--no-owner", "--username", second.role, "--dbname", second.name],
        input=archive,
        check=True,
    )
    engine = sa.create_engine(second.url("psycopg2"))
    with Session(engine) as session:
        found = {product.name: product.buyers for product in session.scalars(sa.select(Product))}
        assert found == {"tea": {1, 3, 7, 8}, "jam": frozenset(), "coffee": set(range(0, 900_000, 3))}
        session.add(Sale(buyer=9, product=1))
        session.commit()
        session.execute(sa.text("SET LOCAL enable_seqscan = off"))
        plan = session.execute(sa.text("EXPLAIN SELECT name FROM products WHERE buyers @> '{9}'")).scalars().all()
        assert any("products_buyers" in line for line in plan)
        assert set(session.scalars(sa.select(Product.name).where(Product.buyers.has_element(9)))) == {"tea", "coffee"}
        assert repr(sa.inspect(engine).get_columns("products")[2]["type"]) == "Batmap(universe=1000000)"
    engine.dispose()


# A statement, its values, the error, and its message or hint.
INSERT = "INSERT INTO products (name, buyers) VALUES ('x', :buyers)"
REFUSED = [
    (
        INSERT,
        {"buyers": "{1000000}"},
        psycopg.errors.NumericValueOutOfRange,
        "element 1000000 is out of range for type batmap(1000000)",
    ),
    (
        INSERT,
        {"buyers": [1000000]},
        psycopg.errors.NumericValueOutOfRange,
        "element 1000000 is out of range for type batmap(1000000)",
    ),
    (
        INSERT,
        {"buyers": "{-1}"},
        psycopg.errors.NumericValueOutOfRange,
        "HINT:  Elements are integers from 0 to 4611686018427387903",
    ),
    (INSERT, {"buyers": "{tea}"}, psycopg.errors.InvalidTextRepresentation, "HINT:  A set is written as {1,5,9}"),
    (INSERT, {"buyers": "1,2"}, psycopg.errors.InvalidTextRepresentation, "malformed batmap"),
    (INSERT, {"buyers": [1, None]}, psycopg.errors.NullValueNotAllowed, "HINT:  Use array_remove(..., NULL)"),
    (INSERT, {"buyers": 5}, psycopg.errors.DatatypeMismatch, 'column "buyers" is of type batmap but expression is of type'),
    (INSERT, {"buyers": None}, psycopg.errors.NotNullViolation, 'null value in column "buyers"'),
    (
        "SELECT id FROM products WHERE buyers @> ARRAY['tea']",
        {},
        psycopg.errors.UndefinedFunction,
        "operator does not exist: batmap @> text[]",
    ),
    ("SELECT id FROM products WHERE buyers @> 'tea'", {}, psycopg.errors.InvalidTextRepresentation, "malformed batmap"),
    ("SELECT id FROM products WHERE 5 = ANY (buyers)", {}, psycopg.errors.WrongObjectType, "requires array on right side"),
    (
        "CREATE TABLE other (s batmap(x))",
        {},
        psycopg.errors.InvalidTextRepresentation,
        'invalid input syntax for type bigint: "x"',
    ),
    (
        "CREATE TABLE other (s batmap(1, 2))",
        {},
        psycopg.errors.InvalidParameterValue,
        "second modifier of type batmap must be prepared, not 2",
    ),
    ("CREATE INDEX ON sales USING gin (buyer)", {}, psycopg.errors.UndefinedObject, "has no default operator class"),
]

# What a project of Django has in its files: settings, a model, and two migrations, the second of which makes sets of arrays.
PROJECT = """
import sys, types
import django
from django.conf import settings
from django.core.management import call_command

host, port, name, user = sys.argv[1:]
settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "HOST": host, "PORT": port, "NAME": name, "USER": user}},
    INSTALLED_APPS=["tags"], MIGRATION_MODULES={"tags": "tags.migrations"}, DEFAULT_AUTO_FIELD="django.db.models.AutoField")
django.setup()
call_command("migrate", "tags", "0001", verbosity=0)
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("INSERT INTO tags_document (tags) VALUES ('{5,1}'), ('{7}')")
call_command("migrate", verbosity=0)
call_command("makemigrations", "--check", verbosity=0)
from tags.models import Document
print(sorted(Document.objects.get(tags__has_element=5).tags), Document.objects.filter(tags__overlap={1, 7}).count())
"""
FILES = {
    "project.py": PROJECT,
    "tags/__init__.py": "",
    "tags/models.py": """
from batmap.django import BatmapField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

class Document(models.Model):
    tags = BatmapField(universe=1000)

    class Meta:
        indexes = [GinIndex(fields=["tags"], name="document_tags")]
""",
    "tags/migrations/__init__.py": "",
    "tags/migrations/0001_initial.py": """
from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

class Migration(migrations.Migration):
    initial = True
    operations = [
        migrations.CreateModel("Document", [
            ("id", models.AutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("tags", ArrayField(models.IntegerField())),
        ]),
    ]
""",
    "tags/migrations/0002_sets.py": """
from batmap.django import BatmapField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import CreateExtension
from django.db import migrations

class Migration(migrations.Migration):
    dependencies = [("tags", "0001_initial")]
    operations = [
        CreateExtension("batmap"),
        migrations.AlterField("document", "tags", BatmapField(universe=1000)),
        migrations.AddIndex("document", GinIndex(fields=["tags"], name="document_tags")),
    ]
""",
}


def test_a_migration_of_django_from_arrays_to_sets(databases, tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    target = databases[0]
    ran = subprocess.run(
        [sys.executable, "project.py", target.host, str(target.port), target.name, target.role],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(tmp_path)]))},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "[1, 5] 2\n"
