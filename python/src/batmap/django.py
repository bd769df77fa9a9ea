"""The type batmap for Django: a field that reads as `frozenset[int]` and takes any iterable of integers, and its lookups.

    from batmap.django import BatmapField
    from django.contrib.postgres.indexes import GinIndex

    class Basket(models.Model):
        products = BatmapField(universe=100_000)

        class Meta:
            indexes = [GinIndex(fields=["products"], name="basket_products")]

    Basket.objects.filter(products__contains={3, 8})

Lookups: `contains`, `contained_by` and `overlap` (with a set, a list or a field), `has_element` (one integer), `len` (the number of
elements), `exact` and `isnull`. A migration creates the extension by `CreateExtension("batmap")` of
django.contrib.postgres.operations; that application need not be installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.core import checks
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.lookups import PostgresOperatorLookup

from .values import from_text, to_text

__all__ = ["BatmapField", "BatmapFormField"]

_MAX_UNIVERSE = 1 << 62


if TYPE_CHECKING:
    _Field = models.Field[Any, Any]
else:
    _Field = models.Field


class BatmapFormField(forms.CharField):
    """Numbers with commas between them: `1, 5, 9`."""

    default_error_messages = {"invalid_elements": "Enter numbers from 0 on, with commas between them."}

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, (set, frozenset)):
            return ", ".join(map(str, sorted(value)))
        return value

    def to_python(self, value: Any) -> Any:
        if isinstance(value, (set, frozenset)):
            return frozenset(value)
        parts = [part.strip() for part in (super().to_python(value) or "").strip("{} ").split(",")]
        if parts == [""]:
            return frozenset()
        if not all(part.isascii() and part.isdigit() for part in parts):
            raise ValidationError(self.error_messages["invalid_elements"], code="invalid_elements")
        return frozenset(map(int, parts))

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return bool(frozenset(initial or ()) != self.to_python(data))
        except ValidationError:
            return True


class BatmapField(_Field):
    """A set of integers from 0 on, below `universe` where it is given.

    The server refuses elements that are not below it (SQLSTATE 22003, django.db.DataError).
    """

    description = "A set of integers (batmap)"
    empty_strings_allowed = False
    default_error_messages = {
        "invalid": "“%(value)s” is not a set of integers.",
        "out_of_range": "%(element)s is not from 0 to %(last)s.",
    }

    def __init__(self, *args: Any, universe: int | None = None, **kwargs: Any) -> None:
        self.universe = universe
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        if self.universe is not None:
            kwargs["universe"] = self.universe
        return name, path, args, kwargs

    def check(self, **kwargs: Any) -> list[Any]:
        errors: list[Any] = super().check(**kwargs)
        wrong = self.universe is not None and not (isinstance(self.universe, int) and 1 <= self.universe <= _MAX_UNIVERSE)
        if wrong:
            errors.append(
                checks.Error(
                    f"universe must be an integer from 1 to 2^62, not {self.universe!r}",
                    hint="Give the number of integers that a set may hold, or leave universe out.",
                    obj=self,
                    id="batmap.E001",
                )
            )
        return errors

    def db_type(self, connection: Any) -> str:
        return "batmap" if self.universe is None else f"batmap({self.universe})"

    def cast_db_type(self, connection: Any) -> str:
        return "batmap"  # a question may ask for more than a column can hold

    def get_internal_type(self) -> str:
        return "BatmapField"

    def get_placeholder(self, value: Any, compiler: Any, connection: Any) -> str:
        """Up to Django 6.0"""
        return "(%s)::batmap"

    def get_placeholder_sql(self, value: Any, compiler: Any, connection: Any) -> Any:
        """From Django 6.1 on"""
        sql, values = compiler.compile(value) if hasattr(value, "as_sql") else ("%s", (value,))
        return f"({sql})::batmap", values

    def get_prep_value(self, value: Any) -> Any:
        value = super().get_prep_value(value)
        if value is None or isinstance(value, str) or hasattr(value, "resolve_expression"):
            return value
        return to_text(value)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> frozenset[int] | None:
        return from_text(value) if isinstance(value, str) else value  # a registered driver gives sets

    def to_python(self, value: Any) -> frozenset[int] | None:
        if value is None or isinstance(value, frozenset):
            return value
        try:
            return from_text(value if isinstance(value, str) else to_text(value))
        except (TypeError, ValueError):
            raise ValidationError(self.error_messages["invalid"], code="invalid", params={"value": value}) from None

    def validate(self, value: Any, model_instance: Any) -> None:
        super().validate(value, model_instance)
        last = (self.universe or _MAX_UNIVERSE) - 1
        for element in value or ():
            if not 0 <= element <= last:
                params = {"element": element, "last": last}
                raise ValidationError(self.error_messages["out_of_range"], code="out_of_range", params=params)

    def value_to_string(self, obj: Any) -> str:
        value = self.value_from_object(obj)
        return "" if value is None else to_text(sorted(value))

    def formfield(self, **kwargs: Any) -> Any:
        return super().formfield(**{"form_class": BatmapFormField, **kwargs})


class _SetLookup(PostgresOperatorLookup):
    """A lookup whose right side is a set."""

    def process_rhs(self, compiler: Any, connection: Any) -> Any:
        sql, values = super().process_rhs(compiler, connection)
        return (f"{sql}::batmap" if self.rhs_is_direct_value() else sql), values


@BatmapField.register_lookup
class _Contains(_SetLookup):
    lookup_name = "contains"
    postgres_operator = "@>"


@BatmapField.register_lookup
class _ContainedBy(_SetLookup):
    lookup_name = "contained_by"
    postgres_operator = "<@"


@BatmapField.register_lookup
class _Overlap(_SetLookup):
    lookup_name = "overlap"
    postgres_operator = "&&"


@BatmapField.register_lookup
class _Exact(_SetLookup):
    lookup_name = "exact"
    postgres_operator = "="


@BatmapField.register_lookup
class _HasElement(PostgresOperatorLookup):
    """One element, which an index finds, too."""

    lookup_name = "has_element"
    postgres_operator = "@>"
    prepare_rhs = False

    def process_rhs(self, compiler: Any, connection: Any) -> Any:
        sql, values = super().process_rhs(compiler, connection)
        return f"({sql})::int8", values

    def get_db_prep_lookup(self, value: Any, connection: Any) -> Any:
        if not hasattr(value, "__index__"):
            raise TypeError(f"has_element takes one integer, not {value!r}; contains takes a set")
        return "%s", [int(value)]


@BatmapField.register_lookup
class _Len(models.Transform):
    lookup_name = "len"
    function = "batmap_cardinality"
    output_field = models.BigIntegerField()
