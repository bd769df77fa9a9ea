"""The package as pip installs it."""

import importlib.metadata
import pathlib
import subprocess
import sys

import pytest

import batmap

SOURCES = pathlib.Path(batmap.__file__).parent


def test_the_version_is_that_of_the_extension(conn):
    installed = conn.execute("SELECT extversion FROM pg_extension WHERE extname = 'batmap'").fetchone()[0]
    assert installed.replace("-dev", ".dev0") == batmap.__version__


def test_everything_is_installed():
    try:
        installed = importlib.metadata.distribution("batmap")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package is not installed, only on the path")
    assert installed.version == batmap.__version__
    files = {str(file) for file in installed.files}
    assert {f"batmap/{path.name}" for path in SOURCES.iterdir() if path.is_file()} <= files
    assert "batmap/py.typed" in files and any(file.endswith("LICENSE") for file in files)


def test_it_needs_nothing():
    """Without site-packages only the standard library is there."""
    script = f"import sys; sys.path.insert(0, {str(SOURCES.parent)!r}); import batmap; print(batmap.to_text([1]))"
    ran = subprocess.run([sys.executable, "-B", "-I", "-S", "-c", script], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "{1}\n"), ran.stderr
