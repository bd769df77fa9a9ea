from django.contrib.postgres.indexes import GinIndex
from django.db import models

from batmap.django import BatmapField


class Basket(models.Model):
    receipt = models.IntegerField(primary_key=True)
    products = BatmapField(universe=100_000)
    others = BatmapField(null=True, blank=True)

    class Meta:
        indexes = [GinIndex(fields=["products"], name="shop_products")]
