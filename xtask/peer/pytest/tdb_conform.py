"""A plugin of pytest: says what became of each test, one line each, and ends a test that takes too long.

Lines go to the file that the environment variable TDB_CONFORM_REPORT names: an outcome, a tab, and the id of the test.
`started` comes before a test runs, so that a test that ends the process can be told. What was reported already is not
run again. The variable TDB_CONFORM_PACKAGE names the package that the tests are about.
"""

import faulthandler
import importlib
import os
import random
import sys
import zlib

import pytest

REPORT = os.environ["TDB_CONFORM_REPORT"]
SECONDS = float(os.environ.get("TDB_CONFORM_SECONDS", "240"))


def _say(outcome, test):
    with open(REPORT, "a", encoding="utf-8") as file:
        # An id may have any character.
        file.write(f"{outcome}\t{test.encode('unicode_escape').decode()}\n")


def _done():
    try:
        with open(REPORT, encoding="utf-8") as file:
            return {line.rstrip("\n").split("\t", 1)[1] for line in file}
    except FileNotFoundError:
        return set()


def pytest_configure(config):
    # Before any test does.
    importlib.import_module(os.environ["TDB_CONFORM_PACKAGE"])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    done = _done()
    items[:] = [item for item in items if item.nodeid.encode("unicode_escape").decode() not in done]


def pytest_collectreport(report):
    if report.failed:
        _say("failed", report.nodeid)


def _seed(test):
    """Tests that draw numbers draw the same with each library: some pass for some numbers only."""
    seed = zlib.crc32(test.encode())
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    _say("started", item.nodeid)
    _seed(item.nodeid)
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def pytest_runtest_logreport(report):
    if report.failed:
        _say("failed", report.nodeid)
    elif report.skipped:
        # A test that the suite itself expects to fail passes by failing.
        _say("passed" if hasattr(report, "wasxfail") else "skipped", report.nodeid)
    elif report.when == "call":
        _say("passed", report.nodeid)
