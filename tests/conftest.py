"""Put the repository's root on sys.path for every test. pytest itself adds the folder of the test and this folder. This
folder has code that tests of several folders share.
"""

import gc
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from shares import is_kept

gc.set_threshold(100000, 50, 100)  # tests make few reference cycles, so the collector runs rarely

MARKERS = {
    "peer": "is run by `ninja test-peer`, not by `ninja test`",
    "drawn": "draws by SETT_SEED and SETT_COUNT: test-peer runs it again with other numbers",
    "whole": "takes too long for test-peer, such as every case of a set that others wrote",
    "i686": "runs programs for this machine", "armhf": "runs programs for this machine", "s390x": "runs programs for this machine",
}


def pytest_configure(config: pytest.Config) -> None:
    for name, what in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {what}")
    if "not peer" in config.option.markexpr:    # `ninja test` compiles with -O1, which halves the time, and takes warnings as errors; test-peer compiles as users do
        os.environ.setdefault("SETT_LEVEL", "-O1 -pedantic -Wall -Wextra -Werror")


@pytest.hookimpl(trylast=True)    # after the selection by marks
def pytest_collection_modifyitems(config: pytest.Config, items: "list[pytest.Item]") -> None:
    """Keep about one of SETT_SHARE cases of each test function, and always its first case."""
    number_of = Counter()    # type: Counter[str]
    kept, others = [], []
    for item in items:
        function = item.nodeid.partition("[")[0]
        (kept if is_kept(number_of[function]) else others).append(item)
        number_of[function] += 1
    items[:] = kept
    if others:
        config.hook.pytest_deselected(items=others)


@pytest.fixture(scope="session", autouse=True)
def objects(tmp_path_factory: pytest.TempPathFactory) -> None:
    """References are compiled once for all targets that they are compared with."""
    os.environ["SETT_OBJECTS"] = str(tmp_path_factory.mktemp("objects"))


def pytest_sessionfinish() -> None:
    gc.freeze()    # keeps pytest's later garbage collections short
