"""Python for the PostgreSQL extension batmap: set columns, frequent pairs, itemsets, rules and episodes.

`batmap.pairs(connection, query, min_count=10)` and its kin run the table functions. Each of these modules needs what its name says:
`batmap.psycopg`, `batmap.psycopg2` and `batmap.asyncpg` make sets of Python values of the type batmap, `batmap.sqlalchemy` and
`batmap.django` have a column type, and `batmap.plots` draws with matplotlib.
"""

from .mining import (
    TruncatedError,
    TruncatedWarning,
    episodes,
    itemsets,
    join_project,
    last_run,
    pairs,
    partners,
    recommend,
    rules,
)
from .values import from_binary, from_text, to_text

__version__ = "0.1.0"

__all__ = [
    "TruncatedError",
    "TruncatedWarning",
    "episodes",
    "from_binary",
    "from_text",
    "itemsets",
    "join_project",
    "last_run",
    "pairs",
    "partners",
    "recommend",
    "rules",
    "to_text",
]
