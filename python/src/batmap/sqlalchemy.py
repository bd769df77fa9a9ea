"""The type batmap for SQLAlchemy 2, with any driver: a column reads as `frozenset[int]`; any iterable of integers goes in.

    from batmap.sqlalchemy import Batmap

    class Basket(Base):
        __tablename__ = "baskets"
        receipt: Mapped[int] = mapped_column(primary_key=True)
        products: Mapped[frozenset[int]] = mapped_column(Batmap(100_000))
        __table_args__ = (Index("baskets_products", "products", postgresql_using="gin"),)

    session.scalars(select(Basket).where(Basket.products.contains({3, 8})))

Importing this module makes reflection know the type. Alembic writes it as `batmap.sqlalchemy.Batmap(universe=100000)`: put
`import batmap.sqlalchemy` into its script.py.mako, and into env.py, which reflects the database.

A set read from a row is immutable. To change a column, assign a new set, or let the server do it:
`update(Basket).values(products=Basket.products.union({7}))`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from sqlalchemy import Boolean, Float, cast
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.sql import operators
from sqlalchemy.sql.elements import BindParameter, ColumnElement
from sqlalchemy.types import BigInteger, UserDefinedType

from .values import from_text, to_text

__all__ = ["Batmap"]

_MAX_UNIVERSE = 1 << 62


class Batmap(UserDefinedType[frozenset[int]]):
    """A set of integers from 0 on, below `universe` where it is given.

    The server refuses elements that are not below it (SQLSTATE 22003).
    """

    cache_ok = True

    def __init__(self, universe: int | None = None) -> None:
        """@raise ValueError  `universe` is not from 1 to 2^62"""
        if universe is not None and not 1 <= universe <= _MAX_UNIVERSE:
            raise ValueError(f"universe must be from 1 to 2^62, not {universe}")
        self.universe = universe

    def get_col_spec(self, **_: Any) -> str:
        return "batmap" if self.universe is None else f"batmap({self.universe})"

    @property
    def python_type(self) -> type[Any]:
        return frozenset

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], str | None]:
        def to_driver(value: Any) -> str | None:
            return None if value is None else to_text(value)

        return to_driver

    def bind_expression(self, bindvalue: BindParameter[frozenset[int]]) -> ColumnElement[frozenset[int]]:
        """The value as a batmap of any universe: a question may ask for more than a column can hold."""
        return cast(bindvalue, Batmap())

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], frozenset[int] | None]:
        def from_driver(value: Any) -> frozenset[int] | None:
            return from_text(value) if isinstance(value, str) else value  # a registered driver gives sets

        return from_driver

    def literal_processor(self, dialect: Dialect) -> Callable[[Any], str]:
        def to_literal(value: Any) -> str:
            return f"'{to_text(value)}'"

        return to_literal

    class Comparator(UserDefinedType.Comparator[frozenset[int]]):
        """What a column, or another expression of the type, can be asked. `other` is a set, a list or an expression.

        Of Python's operators `|`, `&` and `-` make sets, and `==`, `!=`, `<` and the like compare, as in SQL.
        """

        def contains(self, other: Any, **_: Any) -> ColumnElement[bool]:
            """`@>`: all elements of `other`"""
            return self._ask("@>", other)

        def contained_by(self, other: Any) -> ColumnElement[bool]:
            """`<@`: no elements but those of `other`"""
            return self._ask("<@", other)

        def overlaps(self, other: Any) -> ColumnElement[bool]:
            """`&&`: an element in common with `other`"""
            return self._ask("&&", other)

        def has_element(self, element: int | ColumnElement[int]) -> ColumnElement[bool]:
            """`@> element`: one integer"""
            if not _is_expression(element):
                element = cast(operator.index(element), BigInteger)
            return self.expr.op("@>", is_comparison=True, return_type=Boolean())(element)

        def union(self, other: Any) -> ColumnElement[frozenset[int]]:
            """`|`"""
            return self._make("|", other)

        def intersection(self, other: Any) -> ColumnElement[frozenset[int]]:
            """`&`"""
            return self._make("&", other)

        def difference(self, other: Any) -> ColumnElement[frozenset[int]]:
            """`-`"""
            return self._make("-", other)

        def symmetric_difference(self, other: Any) -> ColumnElement[frozenset[int]]:
            """`#`"""
            return self._make("#", other)

        def jaccard_distance(self, other: Any) -> ColumnElement[float]:
            """`<%>`: 0 for equal sets, 1 for sets without a common element"""
            return self.expr.op("<%>", return_type=Float())(_as_set(other))

        def _ask(self, symbol: str, other: Any) -> ColumnElement[bool]:
            return self.expr.op(symbol, is_comparison=True, return_type=Boolean())(_as_set(other))

        def _make(self, symbol: str, other: Any) -> ColumnElement[frozenset[int]]:
            return self.expr.op(symbol, return_type=Batmap())(_as_set(other))

        def operate(self, op: operators.OperatorType, *other: Any, **kwargs: Any) -> ColumnElement[Any]:
            symbol = _SYMBOLS.get(op)
            if symbol is not None and len(other) == 1:
                return self._make(symbol, other[0])
            if op in _COMPARISONS and len(other) == 1 and other[0] is not None:
                other = (_as_set(other[0]),)
            return super().operate(op, *other, **kwargs)

    comparator_factory = Comparator


# Between conditions `&` and `|` mean AND and OR; between sets they make sets. SQLAlchemy has no `^`.
_SYMBOLS: dict[Any, str] = {
    operator.or_: "|",
    operator.and_: "&",
    operator.sub: "-",
}
_COMPARISONS = {operators.eq, operators.ne, operators.lt, operators.le, operators.gt, operators.ge}


def _is_expression(value: Any) -> bool:
    return isinstance(value, ColumnElement) or hasattr(value, "__clause_element__")


def _as_set(value: Any) -> Any:
    """A value of Python as a parameter of the type; expressions stay as they are."""
    if _is_expression(value):
        return value
    return BindParameter(None, value, type_=Batmap(), unique=True)


ischema_names["batmap"] = Batmap
