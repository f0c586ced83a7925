"""Puts the root on sys.path for every test; pytest itself adds this folder, which has what tests of several rooms share, and the room of the test."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
