"""The Python of the documents prints what they show. A fenced block `python` runs, after those before it in its document; a block
without a word behind its fence that follows at once is its output. `python no-run` is for what needs a project around it.
"""

import contextlib
import io
import re
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

TREE = Path(__file__).resolve().parents[2]
DOCUMENTS = [TREE / "docs" / "python.md", TREE / "python" / "README.md"]
BLOCK = re.compile(r"^```(.*)\n((?:(?!^```).*\n)*)^```\n", re.MULTILINE)


def examples(text):
    """The blocks that run: the line, the code, and the output that is shown, or None."""
    blocks = list(BLOCK.finditer(text))
    assert len(blocks) * 2 == len(re.findall(r"^```", text, re.MULTILINE))
    for block, following in zip(blocks, [*blocks[1:], None]):
        kind = block[1].strip()
        assert kind in ("", "python", "python no-run"), f"{kind!r} is not a kind of block"
        if kind == "python":
            shown = following is not None and following[1].strip() == "" and text[block.end() : following.start()].strip() == ""
            yield text.count("\n", 0, block.start()) + 1, block[2], following[2] if shown else None


@pytest.fixture
def here(database, monkeypatch, tmp_path):
    """A folder with the documents, and a database with the extension that a connection without arguments reaches."""
    name = f"{database.name}_documents"
    with psycopg.connect(autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), sql.Identifier(database.role)))
    monkeypatch.setenv("PGDATABASE", name)
    monkeypatch.setenv("PGUSER", database.role)
    (tmp_path / "docs").symlink_to(TREE / "docs")
    monkeypatch.chdir(tmp_path)
    with psycopg.connect() as connection:
        connection.execute("CREATE EXTENSION batmap")
    yield
    monkeypatch.undo()
    with psycopg.connect(autocommit=True) as admin:
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.mark.skipif(not DOCUMENTS[0].exists(), reason="docs/python.md is not there: not in a checkout of the extension")
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents(here, document):
    if document.parent.name == "python":
        with psycopg.connect() as connection:
            connection.execute("CREATE TABLE lines AS SELECT 1 AS receipt, 'tea' AS product")
    names = {"__name__": "__main__"}
    ran = 0
    for line, code, shown in examples(document.read_text()):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * line + code, str(document), "exec"), names)
        if shown is not None:
            assert plain(printed.getvalue()) == plain(shown), f"{document.name}:{line}"
        ran += 1
    assert ran > 0


def plain(text):
    return [line.rstrip() for line in text.splitlines()]
