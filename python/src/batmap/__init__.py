"""Python for the PostgreSQL extension batmap: set columns, frequent pairs, itemsets, rules and episodes.

`batmap.pairs(connection, query, min_count=10)` and its kin run the table functions. Each of these modules needs what its name says:
`batmap.psycopg`, `batmap.psycopg2` and `batmap.asyncpg` make sets of Python values of the type batmap, `batmap.sqlalchemy` and
`batmap.django` have a column type, and `batmap.plots` draws with matplotlib.
"""

from .mining import (
    KeptTable,
    TruncatedError,
    TruncatedWarning,
    all_pairs,
    check_kept,
    count_pairs,
    edge_triangles,
    episodes,
    itemset_spectrum,
    itemsets,
    join_project,
    keep,
    kept,
    last_run,
    merge_kept,
    pairs,
    partners,
    recommend,
    rules,
    similar,
    triangles,
    unkeep,
    window_pairs,
)
from .values import from_binary, from_text, to_text

__version__ = "0.2.0.dev0"

__all__ = [
    "KeptTable",
    "TruncatedError",
    "TruncatedWarning",
    "all_pairs",
    "check_kept",
    "count_pairs",
    "edge_triangles",
    "episodes",
    "from_binary",
    "from_text",
    "itemset_spectrum",
    "itemsets",
    "join_project",
    "keep",
    "kept",
    "last_run",
    "merge_kept",
    "pairs",
    "partners",
    "recommend",
    "rules",
    "similar",
    "to_text",
    "triangles",
    "unkeep",
    "window_pairs",
]
