"""The field of Django: tables, migrations, lookups and forms."""

import sys

import django
import pytest
from django.conf import settings
from django.core import checks, serializers
from django.core.exceptions import ValidationError
from django.core.management import call_command

from batmap.django import BatmapField, BatmapFormField


@pytest.fixture(scope="module")
def migrations(database, tmp_path_factory):
    """The folder of the migrations of the application `shop`, with the one that Django writes for its model, applied."""
    folder = tmp_path_factory.mktemp("django") / "shop_migrations"
    folder.mkdir()
    (folder / "__init__.py").touch()
    sys.path.insert(0, str(folder.parent))
    connection = {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": database.host,
        "PORT": database.port,
        "NAME": database.name,
        "USER": database.role,
    }
    settings.configure(
        DATABASES={"default": connection, "bound": {**connection, "OPTIONS": {"server_side_binding": True}}},
        INSTALLED_APPS=["shop"],
        MIGRATION_MODULES={"shop": "shop_migrations"},
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        USE_TZ=True,
    )
    django.setup()
    call_command("makemigrations", "shop", verbosity=0)
    call_command("migrate", verbosity=0)
    yield folder
    from django.db import connections

    call_command("migrate", "shop", "zero", verbosity=0)
    connections.close_all()
    sys.path.remove(str(folder.parent))


@pytest.fixture
def app(migrations):
    from shop.models import Basket

    return Basket


@pytest.fixture
def baskets(app):
    app.objects.all().delete()
    app.objects.create(receipt=1, products={1, 5, 9}, others=[2])
    app.objects.bulk_create([app(receipt=2, products=[5, 70000]), app(receipt=3, products=set(), others=range(3))])
    return app.objects.order_by("receipt")


def receipts(query):
    return [basket.receipt for basket in query]


def test_values(baskets):
    rows = list(baskets.values_list("products", "others"))
    assert rows == [({1, 5, 9}, {2}), ({5, 70000}, None), (frozenset(), {0, 1, 2})]
    assert isinstance(rows[0][0], frozenset)
    basket = baskets.get(receipt=1)
    basket.products |= {7}
    basket.save()
    assert baskets.get(receipt=1).products == {1, 5, 7, 9}


def test_lookups(baskets):
    from django.db.models import F

    assert receipts(baskets.filter(products__contains={1, 5})) == [1]
    assert receipts(baskets.filter(products__contains=[5])) == [1, 2]
    assert receipts(baskets.filter(products__contained_by={1, 5, 9, 10})) == [1, 3]
    assert receipts(baskets.filter(products__overlap={9, 70000, 999999999})) == [1, 2]
    assert receipts(baskets.filter(products__overlap=F("others"))) == []
    assert receipts(baskets.filter(products__has_element=5)) == [1, 2]
    assert receipts(baskets.filter(products__has_element=F("receipt"))) == [1]
    assert receipts(baskets.filter(products=[70000, 5])) == [2]
    assert receipts(baskets.exclude(products={70000, 5})) == [1, 3]
    assert receipts(baskets.filter(others__isnull=True)) == [2]
    assert receipts(baskets.filter(products__len=2)) == [2]
    assert receipts(baskets.filter(products__len__gte=2)) == [1, 2]


def test_parameters_that_the_server_binds(baskets, app):
    there = app.objects.using("bound")
    there.create(receipt=4, products={6}, others=[])
    there.bulk_create([app(receipt=5, products=[6, 7])])
    assert receipts(there.filter(products__contains={6}).order_by("receipt")) == [4, 5]
    assert receipts(there.filter(products__has_element=7)) == [5]
    assert receipts(there.filter(products=[6])) == [4]


def test_changes_in_the_server(baskets, app):
    from django.db.models import F, Func

    union = Func(F("products"), F("others"), template="%(expressions)s", arg_joiner=" | ", output_field=BatmapField())
    assert baskets.filter(receipt=1).update(products=union) == 1
    assert baskets.get(receipt=1).products == {1, 2, 5, 9}
    assert baskets.filter(receipt=3).update(products=F("others"), others=None) == 1
    assert list(baskets.filter(receipt=3).values_list("products", "others")) == [({0, 1, 2}, None)]


def test_refusals(baskets, app):
    from django.db import DataError, transaction

    with pytest.raises(DataError, match="element 100000 is out of range for type batmap"), transaction.atomic():
        app.objects.create(receipt=9, products={100000})
    with pytest.raises(TypeError, match="a batmap holds integers from 0 on, not 'x'"):
        app.objects.create(receipt=9, products={"x"})
    with pytest.raises(TypeError, match="has_element takes one integer, not \\[5\\]; contains takes a set"):
        baskets.filter(products__has_element=[5]).count()
    with pytest.raises(ValidationError, match="100000 is not from 0 to 99999"):
        app(receipt=9, products={100000}).full_clean()
    with pytest.raises(ValidationError, match="“x” is not a set of integers"):
        app(receipt=9, products="x").full_clean()


def test_the_connection_of_django_answers(baskets):
    from django.db import connection, transaction

    import batmap

    query = "SELECT receipt, products::int[] FROM shop_basket WHERE receipt < $1"
    assert [row[:3] for row in batmap.pairs(connection, query, min_count=1, params=(2,), as_frame=False)] == [
        (1, 5, 1),
        (1, 9, 1),
        (5, 9, 1),
    ]
    with transaction.atomic():
        named = batmap.pairs(connection, "SELECT receipt, name FROM named_lines", min_count=4, as_frame=False)
        assert [row[:3] for row in named] == [("bread", "butter", 4)]


def test_index_is_used(baskets, app):
    from django.db import connection, transaction

    app.objects.bulk_create(app(receipt=receipt, products={receipt}) for receipt in range(10, 400))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        assert "shop_products" in baskets.filter(products__contains={77}).explain()
        assert "shop_products" in baskets.filter(products__has_element=77).explain()


def test_checks_of_the_universe(app):
    assert app.check() == []
    for wrong in (0, 2**62 + 1, "100"):
        field = BatmapField(universe=wrong)
        field.set_attributes_from_name("products")
        field.model = app
        assert [error.id for error in field.check()] == ["batmap.E001"]
        assert isinstance(field.check()[0], checks.Error)


def test_migrations(migrations, app):
    from django.db import connection

    text = (migrations / "0001_initial.py").read_text()
    assert "import batmap.django" in text and "batmap.django.BatmapField(universe=100000)" in text
    assert "GinIndex(fields=['products'], name='shop_products')" in text
    assert declared_type(connection) == "batmap(100000)"
    call_command("makemigrations", "shop", "--check", verbosity=0)  # exits where something has changed

    (migrations / "0002_wider.py").write_text(
        """import batmap.django
from django.db import migrations

class Migration(migrations.Migration):
    dependencies = [("shop", "0001_initial")]
    operations = [migrations.AlterField("basket", "products", batmap.django.BatmapField(universe=200_000))]
"""
    )
    call_command("migrate", verbosity=0)
    assert declared_type(connection) == "batmap(200000)"
    call_command("migrate", "shop", "0001", verbosity=0)
    assert declared_type(connection) == "batmap(100000)"
    (migrations / "0002_wider.py").unlink()


def declared_type(connection):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT format_type(atttypid, atttypmod) FROM pg_attribute "
            "WHERE attrelid = 'shop_basket'::regclass AND attname = 'products'"
        )
        return cursor.fetchone()[0]


def test_serialization(baskets):
    text = serializers.serialize("json", baskets)
    assert '"products": "{1,5,9}"' in text
    assert [row.object.products for row in serializers.deserialize("json", text)] == [{1, 5, 9}, {5, 70000}, set()]


def test_form(app):
    from django.forms import modelform_factory

    form = modelform_factory(app, fields=["receipt", "products", "others"])
    assert isinstance(form.base_fields["products"], BatmapFormField)
    filled = form({"receipt": 20, "products": "1, 5,9", "others": ""})
    assert filled.is_valid(), filled.errors
    assert (filled.cleaned_data["products"], filled.cleaned_data["others"]) == ({1, 5, 9}, set())
    assert 'value="1, 5, 9"' in str(form(instance=app(receipt=1, products={9, 5, 1}))["products"])
    for wrong in ("1, x", "-1", "1,,2", "1.5"):
        assert form({"receipt": 20, "products": wrong}).errors["products"] == ["Enter numbers from 0 on, with commas between them."]
    assert form({"receipt": 20, "products": "100000"}).errors["products"] == ["100000 is not from 0 to 99999."]
