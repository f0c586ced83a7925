"""Put the root on sys.path for every test. pytest itself adds this folder, which has the code that several folders share, and the folder of the test."""

import gc
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

gc.set_threshold(100000, 50, 100)  # tests make few reference cycles

MARKERS = {
    "peer": "is run by `ninja test-peer`, not by `ninja test`",
    "drawn": "draws by SETT_SEED and SETT_COUNT: test-peer runs it again with other numbers",
    "whole": "every case of a set that others wrote, of which test-peer runs a sample",
    "i686": "runs programs for this machine", "armhf": "runs programs for this machine", "s390x": "runs programs for this machine",
}


def pytest_configure(config: pytest.Config) -> None:
    for name, what in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {what}")
    if "not peer" in config.option.markexpr:    # `ninja test` compiles in half of the time and wants no warning; test-peer compiles as users do
        os.environ.setdefault("SETT_LEVEL", "-O1 -pedantic -Wall -Wextra -Werror")


@pytest.fixture(scope="session", autouse=True)
def objects(tmp_path_factory: pytest.TempPathFactory) -> None:
    """References are compiled once for all targets that they are compared with."""
    os.environ["SETT_OBJECTS"] = str(tmp_path_factory.mktemp("objects"))


def pytest_sessionfinish() -> None:
    gc.freeze()    # pytest collects garbage several times after this
