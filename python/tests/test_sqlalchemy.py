"""The type of SQLAlchemy: tables, reflection, operators and Alembic, over each driver."""

import asyncio

import pytest
import sqlalchemy as sa
from alembic.autogenerate import produce_migrations, render_python_code
from alembic.migration import MigrationContext
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from batmap.sqlalchemy import Batmap


class Base(DeclarativeBase):
    pass


class Basket(Base):
    __tablename__ = "baskets"
    receipt: Mapped[int] = mapped_column(primary_key=True)
    products: Mapped[frozenset[int]] = mapped_column(Batmap(100_000))
    others: Mapped[frozenset[int]] = mapped_column(Batmap, nullable=True)
    __table_args__ = (sa.Index("baskets_products", "products", postgresql_using="gin"),)


@pytest.fixture(params=["psycopg", "psycopg2"])
def engine(request, database):
    engine = sa.create_engine(database.url(request.param))
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    yield engine
    Base.metadata.drop_all(engine)
    engine.dispose()


@pytest.fixture
def session(engine):
    with Session(engine) as session:
        session.add_all(
            [
                Basket(receipt=1, products={1, 5, 9}, others=[2]),
                Basket(receipt=2, products=[5, 70000]),
                Basket(receipt=3, products=set(), others=range(3)),
            ]
        )
        session.commit()
        yield session


def test_values(session):
    rows = session.execute(sa.select(Basket.products, Basket.others).order_by(Basket.receipt)).all()
    assert rows == [({1, 5, 9}, {2}), ({5, 70000}, None), (frozenset(), {0, 1, 2})]
    assert isinstance(rows[0][0], frozenset)


def test_values_of_a_driver_that_knows_sets(database):
    import batmap.psycopg

    engine = sa.create_engine(database.url("psycopg"))
    sa.event.listen(engine, "connect", lambda connection, _: batmap.psycopg.register(connection))
    with engine.connect() as connection:
        assert connection.scalar(sa.select(sa.literal({3, 1}, Batmap()).op("|")(sa.literal([2], Batmap())))) == {
            1,
            2,
            3,
        }
    engine.dispose()


CONDITIONS = [
    (Basket.products.contains({1, 5}), [1]),
    (Basket.products.contains([5]), [1, 2]),
    (Basket.products.contained_by({1, 5, 9, 10}), [1, 3]),
    (Basket.products.overlaps({9, 70000, 999999999}), [1, 2]),
    (Basket.products.has_element(5), [1, 2]),
    (Basket.products.has_element(Basket.receipt), [1]),
    (Basket.products == {70000, 5}, [2]),
    (Basket.products != {70000, 5}, [1, 3]),
    (Basket.products < [2], [1, 3]),
    (Basket.products.overlaps(Basket.others), []),
    (Basket.products.in_([{1, 5, 9}, set()]), [1, 3]),
    (Basket.others.is_(None), [2]),
    (Basket.others == None, [2]),  # noqa: E711
    (Basket.products.jaccard_distance({1, 5}) < 0.5, [1]),
    (sa.func.batmap_cardinality(Basket.products & {1, 9}) == 2, [1]),
    (sa.and_(Basket.products.has_element(5), Basket.products.overlaps([9])), [1]),
]


@pytest.mark.parametrize("condition, receipts", CONDITIONS, ids=lambda value: str(value)[:40])
def test_conditions(session, condition, receipts):
    assert session.scalars(sa.select(Basket.receipt).where(condition).order_by(Basket.receipt)).all() == receipts


def test_sets_made_of_sets(session):
    products = Basket.products
    made = sa.select(
        products | {2},
        products & [1, 2],
        products - {1},
        products.symmetric_difference([1, 2]),
        products.union({3}).intersection({3, 5}).difference({9}),
        products.jaccard_distance([1, 5]),
    )
    row = session.execute(made.where(Basket.receipt == 1)).one()
    assert row[:5] == ({1, 2, 5, 9}, {1}, {5, 9}, {2, 5, 9}, {3, 5})
    assert row[5] == pytest.approx(1 / 3)


def test_changes_in_the_server(session):
    session.execute(sa.update(Basket).where(Basket.products.has_element(5)).values(products=Basket.products.union({7})))
    session.commit()
    assert session.get(Basket, 2).products == {5, 7, 70000}


def test_refusals(session):
    session.add(Basket(receipt=9, products={131072}))
    with pytest.raises(sa.exc.DataError, match="element 131072 is out of range for type batmap"):
        session.commit()
    session.rollback()
    with pytest.raises(sa.exc.StatementError, match="a batmap holds integers from 0 on, not 'x'"):
        session.execute(sa.insert(Basket).values(receipt=9, products={"x"}))
    session.rollback()
    with pytest.raises(TypeError):
        Basket.products.has_element("x")
    for universe in (0, -1, 2**62 + 1):
        with pytest.raises(ValueError, match="universe must be from 1 to 2"):
            Batmap(universe)


def test_index_is_used(session):
    for receipt in range(10, 400):
        session.add(Basket(receipt=receipt, products={receipt}))
    session.commit()
    session.execute(sa.text("ANALYZE baskets"))
    session.execute(sa.text("SET LOCAL enable_seqscan = off"))
    condition = sa.select(Basket.receipt).where(Basket.products.contains({77}))
    plan = session.execute(sa.text("EXPLAIN " + str(condition.compile(session.bind, compile_kwargs={"literal_binds": True}))))
    assert any("baskets_products" in line for (line,) in plan)
    assert session.scalars(condition).all() == [77]


def test_reflection(engine):
    columns = {column["name"]: column["type"] for column in sa.inspect(engine).get_columns("baskets")}
    assert repr(columns["products"]) == "Batmap(universe=100000)"
    assert repr(columns["others"]) == "Batmap()"
    table = sa.Table("baskets", sa.MetaData(), autoload_with=engine)
    assert "products batmap(100000) NOT NULL" in str(sa.schema.CreateTable(table).compile(engine))
    assert [index.dialect_options["postgresql"]["using"] for index in table.indexes] == ["gin"]


def test_alembic_writes_the_type_and_sees_no_difference(engine):
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "include_name": only_baskets})
        assert produce_migrations(context, Base.metadata).upgrade_ops.is_empty()
        wider = sa.MetaData()
        table = Basket.__table__.to_metadata(wider)
        table.append_column(sa.Column("added", Batmap(500)))
        table.c.products.type = Batmap(200_000)
        script = render_python_code(produce_migrations(context, wider).upgrade_ops)
    assert "sa.Column('added', batmap.sqlalchemy.Batmap(universe=500), nullable=True)" in script
    assert "existing_type=batmap.sqlalchemy.Batmap(universe=100000)" in script
    assert "type_=batmap.sqlalchemy.Batmap(universe=200000)" in script


def only_baskets(name, kind, parents):
    return kind != "table" or name == "baskets"


def test_asyncpg(database):
    async def script():
        engine = create_async_engine(database.url("asyncpg"))
        async with engine.begin() as connection:
            await connection.run_sync(Base.metadata.create_all)
            await connection.execute(sa.insert(Basket), [{"receipt": 1, "products": {1, 5}}, {"receipt": 2, "products": [2]}])
            found = await connection.execute(sa.select(Basket.products).where(Basket.products.overlaps({5, 6})))
            rows = found.all()
            await connection.run_sync(Base.metadata.drop_all)
        await engine.dispose()
        return rows

    assert asyncio.run(script()) == [({1, 5},)]
