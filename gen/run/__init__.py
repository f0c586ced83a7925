"""Build fusions in private folders, run them on a device with the harness (gen/run/harness), and compare their results
with those of their references.
"""

from gen.run.checks import check, check_built, check_each, check_what_fits
from gen.run.objects import (BITS_AND_KIND, HARNESS, ROOT, Built, Manifest, build, call, compile_fusion,
                             compile_fusions, glue, harness)
from gen.run.options import (LAUNCH_SECONDS, LONG_SECONDS, START, Options, launch_limit, longest, process_limit,
                             runner_of, seconds_of)
from gen.run.process import Answer, Event, call_harness, ending, find_device, raise_for_start
from gen.run.results import EXIT_STATUS, CheckResult, counted, error_text, file_line, of_fusions, overall_status
from gen.run.runs import make_folder, run, run_built
from gen.run.sources import SUFFIXES, load, of_function, split
from gen.targets import RunError, c_compiler
