"""The harness finds faults that are planted in hand-written kernels, references and bounds. It runs on the default
OpenCL device.
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List, Optional
from unittest import mock

import pytest

from drawn import device_or_skip
from gen import hlo, run
from gen.pipeline import Oracle
from gen.reference.assembly import File
from gen.run import bench, checks, cost, proofs, rivals

HEADER = r"""
#include <stddef.h>
enum {{ {name}_PARAMS = {params}, {name}_RESULTS = 1 }};
#define {name}_opencl_SCRATCH_BYTES 0
int {name}_ref(const void *const *params, void *const *results);
#ifdef CL_VERSION_1_2
typedef struct {{ cl_program program; cl_kernel kernel[1]; }} {name}_opencl;
static const char *const {name}_opencl_source[] = {{ {source} }};
static inline cl_int {name}_opencl_create({name}_opencl *self, cl_context context, cl_device_id device)
{{
  cl_int error = CL_SUCCESS;
  self->kernel[0] = NULL;
  self->program = clCreateProgramWithSource(context, {lines}, (const char **)(size_t){name}_opencl_source, NULL, &error);
  if (!error) error = clBuildProgram(self->program, 1, &device, "-cl-std=CL1.2", NULL, NULL);
  if (!error) self->kernel[0] = clCreateKernel(self->program, "f", &error);
  return error;
}}
static inline cl_int {name}_opencl_run({name}_opencl *self, cl_command_queue queue, const cl_mem *params, const cl_mem *results, cl_mem scratch)
{{
  const size_t global[] = {{ {items} }};
  cl_int error = CL_SUCCESS;
  cl_uint i;
  for (i = 0; !error && i < {params}; ++i) error = clSetKernelArg(self->kernel[0], i, sizeof params[i], &params[i]);
  if (!error) error = clSetKernelArg(self->kernel[0], i, sizeof results[0], &results[0]);
  if (!error) error = clEnqueueNDRangeKernel(queue, self->kernel[0], 1, NULL, global, NULL, 0, NULL, NULL);
  return error;
}}
static inline void {name}_opencl_release({name}_opencl *self)
{{
  if (self->kernel[0]) clReleaseKernel(self->kernel[0]);
  if (self->program) clReleaseProgram(self->program);
}}
#endif
"""

C_TYPE = {"f32": "float", "f64": "double", "s32": "int", "u64": "unsigned long long", "f16": "unsigned short",
          "bf16": "unsigned short", "pred": "unsigned char", "s8": "signed char"}
CL_TYPE = {**C_TYPE, "u64": "ulong"}
BYTES = {"f32": 4, "f64": 8, "s32": 4, "u64": 8, "f16": 2, "bf16": 2, "pred": 1, "s8": 1}
N = 1000


def statement_loop(type_name: str, params: int, statement: str) -> str:
    """Return the body of a C function that executes the statement for every i."""
    ins = "".join(f"  {type_name} *p{k} = ({type_name} *)(size_t)params[{k}];\n" for k in range(params))
    return f"{{\n{ins}  for (size_t i = 0; i < n; ++i) {{ {statement} }}\n  return 0;\n}}\n"


def make(folder: str, name: str, body: str, wanted: str = "r0[i] = p0[i];", dtype: str = "f32", params: int = 1,
         bound: Optional[str] = None, exact: bool = False, n: int = N, items: Optional[int] = None) -> run.Built:
    """Build a fusion of `n` elements by hand. body: the kernel's statement for element i; wanted: the reference's
    statement; bound: the statement that sets the bound b[i].
    """
    work = Path(folder) / name
    work.mkdir()
    arguments = ", ".join([*(f"__global {CL_TYPE[dtype]} *p{k}" for k in range(params)), f"__global {CL_TYPE[dtype]} *r0"])
    source = f"__kernel void f({arguments})\n{{\n  size_t i = get_global_id(0);\n  {body}\n}}\n"
    strings = [f'"{line}\\n"' for line in source.splitlines()]
    (work / f"{name}.h").write_text(HEADER.format(name=name, params=params, source=", ".join(strings), lines=len(strings),
                                                  items=items or n))
    c = C_TYPE[dtype]
    reference = statement_loop(c, params, wanted).replace("{\n", f"{{\n  const size_t n = {n};\n  {c} *r0 = ({c} *)results[0];\n", 1)
    oracle = Oracle(name, File([], {}, [f"int {name}_ref(const void *const *params, void *const *results)\n{reference}"]))
    if bound:
        text = statement_loop(c, params, bound).replace("{\n", f"{{\n  const size_t n = {n};\n  double *b = bounds[0];\n", 1)
        oracle = replace(oracle, bound=File([], {}, [f"int {name}_bound(const void *const *params, double *const *bounds)\n{text}"]))
    buffer: Dict[str, Any] = {"dtype": dtype, "bytes": n * BYTES[dtype], "elements": n, "positions": n, "shape": f"{dtype}[{n}]{{0}}"}
    manifest = {"name": name, "hero": "loop", "params": [buffer] * params, "results": [{**buffer, "exact": exact}],
                "bytes_read": params * n * BYTES[dtype], "bytes_written": n * BYTES[dtype], "targets": {"opencl": {}}}
    return run.Built(work, manifest, oracle=oracle)


def crash(statement: str) -> str:
    return f"r0[i] = p0[i]; if (i == 9) {statement}"


FLIPPED = {"f32": "as_float(as_int(p0[i]) ^ (i == 999))", "f64": "as_double(as_long(p0[i]) ^ (i == 999))"}
EVERY = {"pred": "1", "s8": "fmax(p0[i] + 128, 127 - p0[i])", "s32": "fmax(p0[i] + 0x1p31, 0x1p31 - 1 - p0[i])",
         "u64": "fmax((double)p0[i], (double)(~0ull - p0[i]))"}    # bounds so wide that they allow every integer
# Conditions under which a kernel is wrong, each for a single special value: NaN, infinities, -0, subnormals, the
# largest finite number.
SPECIAL = {**dict.fromkeys(("isnan(p0[i])", "p0[i] == INFINITY", "p0[i] == -INFINITY", "as_uint(p0[i]) == 0x80000000u",
                            "as_uint(p0[i]) == 1u", "fabs(p0[i]) == FLT_MAX"), "f32"),
           **dict.fromkeys(("p0[i] == INT_MIN", "p0[i] == INT_MAX", "p0[i] == -1", "p0[i] == 32", "p0[i] == 0"), "s32")}

# Kernels by name, with the arguments of `make`. All are checked by one process, except those that end it.
PLANTED: "Dict[str, Dict[str, Any]]" = {
    **{f"right {d}": {"body": "r0[i] = p0[i];", "dtype": d, "exact": True} for d in C_TYPE},
    "no parameters": {"body": "r0[i] = i;", "wanted": "r0[i] = (float)i;", "params": 0},
    "another NaN, another zero": {"body": "r0[i] = isnan(p0[i]) ? as_float(0xffc01234) : p0[i] == 0 ? -p0[i] : p0[i];"},
    "a moved zero": {"body": "r0[i] = p0[i] == 0 ? -p0[i] : p0[i];", "exact": True},
    "a moved NaN": {"body": "r0[i] = isnan(p0[i]) ? as_float(0x7fc01234) : p0[i];", "exact": True},
    "one wrong element": {"body": "r0[i] = i == 617 ? p0[i] + 1 : p0[i];", "dtype": "s32"},
    **{f"wrong bit {d}": {"body": f"r0[i] = {FLIPPED.get(d, '(p0[i] ^ (i == 999))')};", "dtype": d, "exact": True} for d in C_TYPE},
    "not written": {"body": "if (i != 999) r0[i] = p0[i];"},
    "not written, unbounded": {"body": "if (i != 5) r0[i] = p0[i];", "bound": "b[i] = INFINITY;"},
    "past the end": {"body": "r0[i] = p0[i]; if (i == 999) r0[1000] = 0;"},
    "before the start": {"body": "r0[i] = p0[i]; if (i == 0) r0[-3] = 0;"},
    "a changed input": {"body": "r0[i] = p0[i]; if (i == 400) p0[i] = 77.0f;"},
    "runs that differ": {"body": "r0[i] = i == 3 ? r0[i] * 2 : p0[i];", "dtype": "s32"},
    "within the bound": {"body": "r0[i] = p0[i] * (1.0f + 2e-7f);", "bound": "b[i] = isfinite(p0[i]) ? fabs(p0[i]) * 5e-7 + 1e-45 : 0;"},
    "outside the bound": {"body": "r0[i] = p0[i] * (1.0f + 2e-7f);", "bound": "b[i] = isfinite(p0[i]) ? fabs(p0[i]) * 0.9e-7 + 1e-45 : 0;"},
    "a NaN for a number": {"body": "r0[i] = i == 8 ? NAN : p0[i];", "bound": "b[i] = 1e30;"},
    "a bound that is NaN": {"body": "r0[i] = p0[i];", "bound": "b[i] = i == 4 ? NAN : 0;"},
    "unbounded elements": {"body": "r0[i] = i < 100 ? 5.0f : p0[i];", "bound": "b[i] = i < 100 ? INFINITY : 0;"},
    **{f"every {d}, less {less}": {"body": "r0[i] = p0[i];", "dtype": d, "bound": f"b[i] = i < 100 ? ({bound}) * {1 - less} : 0;"}
       for d, bound in EVERY.items() for less in (0, 1e-9)},
    "a pred of 2": {"body": "r0[i] = p0[i] ? 2 : 0;", "dtype": "pred", "bound": "b[i] = INFINITY;"},
    **{value: {"body": f"r0[i] = {value} ? 7 : p0[i];", "dtype": d, "exact": d == "f32"} for value, d in SPECIAL.items()},
    "a build error": {"body": "r0[i] = no_such_function(p0[i]);"},
    "a wrong reference": {"body": "r0[i] = p0[i];", "wanted": "r0[i] = no_such_name;"},
    "far past the end": {"body": "r0[i] = p0[i]; if (i == 999) r0[1024] = 0;"},
    "a crash": {"body": crash("*(__global int *)(size_t)8 = 1;")},
    "a crash of the reference": {"body": "r0[i] = p0[i];", "wanted": crash("*(volatile int *)8 = 1;")},
    "a hang": {"body": "volatile __global float *q = r0; q[i] = 0; while (i == 9 && q[i] == 0) {} "},
}


class Harness(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        device_or_skip("opencl")
        with tempfile.TemporaryDirectory(prefix="sett_test_") as work:
            builts = [make(work, f"t{k}", **arguments) for k, arguments in enumerate(PLANTED.values())]
            cls.results = dict(zip(PLANTED, run.check_built(builts, "opencl", run.Options(limit=1))))

    def setUp(self) -> None:
        self.work = tempfile.TemporaryDirectory(prefix="sett_test_")
        self.addCleanup(self.work.cleanup)

    def checks(self, builts: List[run.Built], **options: Any) -> List[run.CheckResult]:
        return run.check_built(builts, "opencl", run.Options(**options))

    def passes(self, name: str) -> run.CheckResult:
        result = self.results[name]
        self.assertEqual((result.status, result.reason), ("PASS", ""))
        return result

    def fails(self, words: str, name: str) -> str:
        result = self.results[name]
        self.assertEqual(result.status, "FAIL")
        self.assertRegex(result.reason, words)
        return result.reason

    # ---- correct kernels pass ----

    def test_a_right_kernel_passes_with_every_dtype(self) -> None:
        for dtype in C_TYPE:
            with self.subTest(dtype):
                result = self.passes(f"right {dtype}")
                self.assertEqual((result.max_abs, result.unbounded), (0, 0))
                self.assertEqual(result.compared, N * result.rounds)
                self.assertGreaterEqual(result.rounds, 3)

    def test_no_parameters(self) -> None:
        self.assertEqual(self.passes("no parameters").rounds, 1)

    def test_any_nan_is_any_nan_and_the_sign_of_zero_is_free_in_arithmetic(self) -> None:
        self.passes("another NaN, another zero")

    def test_but_not_in_a_move(self) -> None:
        self.fails("result 0, element", "a moved zero")
        self.fails("result 0, element", "a moved NaN")

    # ---- planted faults ----

    def test_one_wrong_element(self) -> None:
        reason = self.fails(r"result 0, element 617\b.*1 of 1000 elements", "one wrong element")
        self.assertRegex(reason, r"kernel -?\d+ \(0x[0-9a-f]{8}\), reference -?\d+ \(0x[0-9a-f]{8}\), bound 0")

    def test_one_wrong_bit_of_every_dtype(self) -> None:
        for dtype in C_TYPE:
            with self.subTest(dtype):
                self.fails(r"result 0, element 999\b", f"wrong bit {dtype}")

    def test_an_element_that_is_not_written(self) -> None:
        self.fails(r"result 0, element 999\b.* not written", "not written")

    def test_not_even_where_the_bound_is_infinite(self) -> None:
        self.fails(r"result 0, element 5\b.* not written", "not written, unbounded")

    def test_a_write_past_the_end(self) -> None:
        self.fails(r"wrote past the end of result 0, at byte 400[0-3]\b", "past the end")

    def test_a_write_far_past_the_end(self) -> None:
        self.fails(r"segmentation fault: write at byte 4096 of result 0, which has 4000|past the end", "far past the end")

    def test_a_write_before_the_start(self) -> None:
        self.fails(r"wrote before the start of result 0, at byte -12\b", "before the start")

    def test_a_changed_input(self) -> None:
        self.fails(r"changed parameter 0 at byte 1600", "a changed input")

    def test_results_that_differ_from_run_to_run(self) -> None:
        self.fails(r"element 3\b.* differs between two runs", "runs that differ")

    # ---- bounds ----

    def test_an_error_within_the_bound_is_reported_and_passes(self) -> None:
        result = self.passes("within the bound")
        self.assertGreater(result.max_abs, 0)
        self.assertGreaterEqual(result.max_ulp, 1)
        self.assertLessEqual(result.max_share, 1)
        said = re.search(r"\(\d+ values compared; worst: result 0, element (\d+) \[\1\]: kernel (\S+), reference (\S+), (\S+) apart where (\S+) is allowed\)$", run.error_text([result]))
        self.assertIsNotNone(said, run.error_text([result]))
        kernel, reference, apart, allowed = map(float, said.groups()[1:])
        self.assertLess(abs(abs(kernel - reference) - apart), 0.1 * apart)
        self.assertLess(abs(apart / allowed - result.max_share), 0.1)

    def test_an_error_outside_the_bound(self) -> None:
        self.fails(r"result 0, element \d+", "outside the bound")

    def test_a_nan_where_a_number_is_due(self) -> None:
        self.fails(r"element 8\b.*kernel -?nan", "a NaN for a number")

    def test_a_bound_that_is_nan_is_a_fault(self) -> None:
        self.fails(r"element 4\b.*bound -?nan", "a bound that is NaN")

    def test_unbounded_elements_are_counted(self) -> None:
        result = self.passes("unbounded elements")
        self.assertEqual(result.unbounded * 10, result.compared)
        self.assertEqual(result.unbounded_integers, 0)
        self.assertLess(0, result.unbounded_moderate)
        self.assertLess(result.unbounded_moderate, result.unbounded)
        counts = f"{result.compared - result.unbounded} values compared, all equal; {result.unbounded} were not compared (10%, {result.unbounded_moderate} of ordinary inputs): "
        self.assertIn(f"0 ({counts}rounding decides", run.error_text([result]))
        self.assertEqual(result.line(), f"  PASS {result.fusion} loop 0, {result.rounds} rounds")

    def test_bounds_that_allow_every_integer_are_counted(self) -> None:
        """If a bound allows every value, the value counts as not compared. If it excludes one value, it counts as
        compared.
        """
        for dtype in EVERY:
            for less in (0, 1e-9):
                with self.subTest(dtype, less=less):
                    result = self.passes(f"every {dtype}, less {less}")
                    self.assertEqual(result.unbounded * 10, 0 if less else result.compared)
                    self.assertEqual(result.unbounded_integers, result.unbounded)

    def test_a_pred_is_zero_or_one(self) -> None:
        self.fails(r"kernel 2\b", "a pred of 2")

    # ---- faults that must not end the calling process ----

    def test_a_crash(self) -> None:
        self.fails(r"segmentation fault", "a crash")

    def test_a_crash_of_the_reference(self) -> None:
        self.fails(r"in reference or bound", "a crash of the reference")

    def test_a_hang(self) -> None:
        self.fails(r"the kernel did not end within 1 s of processor time; --limit SECONDS", "a hang")

    def test_a_build_error_shows_the_log(self) -> None:
        self.fails(r"(?s)does not build.*no_such_function", "a build error")

    def test_a_reference_that_does_not_compile(self) -> None:
        self.fails(r"(?s)does not compile.*no_such_name", "a wrong reference")

    def test_the_rest_goes_on_after_a_crash(self) -> None:
        builts = [make(self.work.name, "a", "r0[i] = p0[i];"),
                  make(self.work.name, "b", "r0[i] = p0[i]; if (i == 9) *(__global int *)(size_t)8 = 1;"),
                  make(self.work.name, "c", "r0[i] = p0[i] + 1;"), make(self.work.name, "d", "r0[i] = p0[i];")]
        results = self.checks(builts)
        self.assertEqual([(r.fusion, r.status) for r in results], [("a", "PASS"), ("b", "FAIL"), ("c", "FAIL"), ("d", "PASS")])
        line = run.file_line("x.hlo", "opencl", results)
        self.assertRegex(line, r"^FAIL x\.hlo opencl 2/4 loop 0 \(\d+ values compared, all equal\): segmentation fault")

    def test_a_function_that_is_not_there(self) -> None:
        """If a C kernel calls a missing function, the error names the function, and the other kernels in the library
        are checked.
        """
        builts = []
        for name in ("a", "b"):
            text = f"HloModule {name}\nENTRY e {{ x = f32[100] parameter(0)  ROOT r = f32[100] negate(x) }}\n"
            builts.append(run.build(hlo.fusions(hlo.parse(text, f"{name}.hlo"))[0], Path(self.work.name) / name, "c", run.Options()))
        kernels = builts[0].folder / f"{builts[0].name}.c"
        kernels.write_text(kernels.read_text().replace("static void run(", "static int wrong(void) { return no_such_function(1); }\nstatic void run("))
        results = run.check_built(builts, "c", run.Options())
        self.assertEqual([r.status for r in results], ["FAIL", "PASS"])
        self.assertIn("no_such_function", results[0].reason)

    def test_whose_fault_a_line_tells(self) -> None:
        """A message that names a kernel is attributed to the right fusion, although the kernel's name may begin with the
        names of two fusions (a and ab).
        """
        builts = [make(self.work.name, name, "r0[i] = p0[i];") for name in ("a", "ab")]
        named = [checks._named_in(f"cuda_on_cpu: {line}", builts) for line in ("sett_ab_0: a race", "after sett_a: a race", "sett_c: a race")]
        self.assertEqual(named, [builts[1], builts[0], None])

    def test_fusions_of_one_name(self) -> None:
        """Two fusions with one name are in separate libraries, each with its own kernel and reference."""
        folders = [Path(self.work.name) / name for name in "xyz"]
        for folder in folders:
            folder.mkdir()
        builts = [make(str(folders[0]), "a", "r0[i] = p0[i];"), make(str(folders[1]), "a", "r0[i] = 2 * p0[i];", "r0[i] = 2 * p0[i];"),
                  make(str(folders[2]), "a", "r0[i] = 2 * p0[i];")]
        self.assertEqual([r.status for r in self.checks(builts)], ["PASS", "PASS", "FAIL"])
        self.assertEqual(len({built.library for built in builts}), 3)

    # ---- inputs ----

    def test_special_values_are_among_the_inputs(self) -> None:
        for value in SPECIAL:
            with self.subTest(value):
                self.fails("result 0, element", value)

    def test_inputs_of_benches_are_normally_distributed(self) -> None:
        main = Path(self.work.name) / "normal.c"
        main.write_text(r"""
            #include "data.h"
            #include <math.h>
            #include <stdio.h>
            int main(void)
            {
              static float x[100000];
              const struct sett_buffer type = {sizeof x, 100000, 32, SETT_FLOAT, 0, 0, {0}, {0}, 0, 0};
              double sum = 0, squares = 0, most = 0;
              data_fill(&type, x, DATA_NORMAL, 1);
              for (int i = 0; i < 100000; ++i) sum += x[i], squares += (double)x[i] * x[i], most = fmax(most, fabs(x[i]));
              printf("%f %f %f\n", sum / 100000, squares / 100000, most);
            }""")
        harness = Path(run.__file__).parent / "harness"
        program = str(main.with_suffix(""))
        subprocess.run([run.c_compiler(), "-I", str(harness), str(main), str(harness / "data.c"), "-lm", "-o", program], check=True)
        mean, variance, most = map(float, subprocess.run([program], check=True, capture_output=True, text=True).stdout.split())
        self.assertLess(abs(mean), 0.03)
        self.assertLess(abs(variance - 4), 0.1)
        self.assertTrue(6 < most < 7)

    def test_the_seed_decides_the_inputs(self) -> None:
        text = "r0[i] = i == 7 ? p0[i] + 1 : p0[i];"
        reasons = []
        for number, seed in enumerate((1, 1, 2)):
            built = make(self.work.name, f"s{number}", text, dtype="s32")
            reasons.append(self.checks([built], seed=seed)[0].reason)
        self.assertEqual(reasons[0], reasons[1])
        self.assertNotEqual(reasons[0], reasons[2])

    # ---- files ----

    def test_run_on_files(self) -> None:
        folder = Path(self.work.name)
        built = make(self.work.name, "twice", "r0[i] = 2 * p0[i];", dtype="s32", n=5)
        (folder / "p0.bin").write_bytes(struct.pack("<5i", 1, 2, 3, 4, -5))
        run.run_built(built, "opencl", [folder / "p0.bin"], [folder / "r0.bin"], run.Options())
        self.assertEqual(struct.unpack("<5i", (folder / "r0.bin").read_bytes()), (2, 4, 6, 8, -10))

    def test_a_wrong_size_is_bad_input(self) -> None:
        folder = Path(self.work.name)
        built = make(self.work.name, "twice", "r0[i] = 2 * p0[i];", dtype="s32", n=5)
        (folder / "p0.bin").write_bytes(b"1234567")
        with self.assertRaises(run.RunError) as caught:
            run.run_built(built, "opencl", [folder / "p0.bin"], [folder / "r0.bin"], run.Options())
        self.assertEqual(caught.exception.status, 2)
        self.assertRegex(caught.exception.message, r"p0\.bin: 7 bytes, not 20")
        self.assertFalse((folder / "r0.bin").exists())

    def test_a_device_that_is_not_there(self) -> None:
        with self.assertRaises(run.RunError) as caught:
            run.find_device("opencl", run.Options(device="no such device"))
        self.assertEqual(caught.exception.status, 3)

    # ---- whole modules, with hand-written files in place of generated ones ----

    MODULE = """HloModule steps

    twice { p = s32[5] parameter(0)  ROOT r = s32[5] add(p, p) }
    difference { a = s32[5] parameter(0)  b = s32[5] parameter(1)  ROOT r = s32[5] subtract(a, b) }

    ENTRY main {
      x = s32[5] parameter(0)
      y = s32[5] parameter(1)
      c = s32[5] constant({10, 20, 30, 40, 50})
      t = s32[5] fusion(x), kind=kLoop, calls=twice
      d = s32[5] fusion(t, c), kind=kLoop, calls=difference
      e = s32[5] fusion(d, y), kind=kLoop, calls=difference
      ROOT all = (s32[5], s32[5], s32[5]) tuple(e, y, d)
    }
    """

    def module(self, text: str) -> str:
        path = Path(self.work.name) / "steps.hlo"
        path.write_text(text)
        return str(path)

    def test_run_of_a_module_with_steps(self) -> None:
        file, work = self.module(self.MODULE), Path(self.work.name)
        (work / "p0.bin").write_bytes(struct.pack("<5i", 1, 2, 3, 4, 5))
        (work / "p1.bin").write_bytes(struct.pack("<5i", 7, 7, 7, 7, 7))
        outputs = run.run(file, "opencl", str(work), str(work / "out"))
        values = [struct.unpack("<5i", path.read_bytes()) for path in outputs]
        self.assertEqual(values, [(-15, -23, -31, -39, -47), (7, 7, 7, 7, 7), (-8, -16, -24, -32, -40)])
        self.assertEqual(sorted(p.name for p in (work / "out").iterdir()), ["r0.bin", "r1.bin", "r2.bin"])

    def test_run_with_wrong_files_leaves_nothing(self) -> None:
        file, work = self.module(self.MODULE), Path(self.work.name)
        (work / "p0.bin").write_bytes(bytes(20))
        for words in (r"p1\.bin: No such file", r"p1\.bin: expected the 20 bytes of [a-z0-9]+\[[0-9,]*\].*, found 21"):
            with self.assertRaisesRegex(run.RunError, words) as caught:
                run.run(file, "opencl", str(work), str(work / "out"))
            self.assertEqual(caught.exception.status, 2)
            (work / "p1.bin").write_bytes(bytes(21))
        self.assertFalse((work / "out").exists())

    def test_check_of_a_file(self) -> None:
        results = run.check(self.module(self.MODULE), "opencl")
        self.assertEqual([(r.fusion, r.status) for r in results], [
            ("steps_twice", "PASS"), ("steps_difference", "PASS"), ("steps_difference_2", "PASS"), ("steps_copy_y", "PASS")])

    def test_what_is_too_large_is_compiled(self) -> None:
        results = run.check(self.module(self.MODULE), "opencl", run.Options(memory=0, check_maps=lambda fusion: None))
        self.assertEqual([(r.status, r.reason) for r in results],
                         [("PASS", "too large for memory: checked by its maps and by compiling")])
        self.assertIn("too large", run.file_line("steps.hlo", "opencl", results))
        results = run.check(self.module(self.MODULE), "opencl", run.Options(memory=0, check_maps=lambda fusion: "a map is wrong"))
        self.assertEqual([(r.status, r.reason) for r in results], [("FAIL", "a map is wrong")])

    def test_what_takes_too_long_is_compiled(self) -> None:
        text = "e {\n  a = f32[8,1024] parameter(0)\n  ROOT d = f32[8,8] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n}\n"
        file = Path(self.work.name) / "dot.hlo"
        file.write_text(text)
        (fusion,) = hlo.fusions(hlo.parse(text, str(file)))
        self.assertEqual(cost.cost(fusion).steps, 8 * 8 * 1024)
        reason = "6.6e+04 steps of windows and sums are too many to run, about 0.00066 s beside the reference (--limit SECONDS allows more): checked by its maps and by compiling"
        for most, wanted in ((0.0006, reason), (0.0007, "")):
            with mock.patch.object(cost, "MOST_SECONDS", most):
                results = run.check(str(file), "c", run.Options(check_maps=proofs.check))
            self.assertEqual([(r.status, r.reason) for r in results], [("PASS", wanted)])
        with mock.patch.object(cost, "MUCH_STEPS", 1):
            self.assertEqual([(r.status, r.rounds) for r in run.check(str(file), "c")], [("PASS", 1)])

    # ---- bench ----

    def test_footprint_is_beyond_the_cache(self) -> None:
        memory = {"memory": float(1 << 40)}
        with mock.patch.object(cost, "machine_memory", return_value=1 << 40):
            for cache, rotated in ((0, 256 << 20), (32 << 20, 512 << 20), (260 << 20, 1 << 30), (1 << 30, 2 << 30)):
                self.assertEqual(bench.footprint({"cache": float(cache), **memory}, 0), rotated)
            self.assertEqual(bench.footprint({"cache": float(32 << 20), **memory}, 4 << 20), 4 << 20)
        with mock.patch.object(cost, "machine_memory", return_value=1 << 30):
            self.assertEqual(bench.footprint({"cache": float(32 << 20), **memory}, 0), 128 << 20)

    def test_bench_has_all_figures(self) -> None:
        built = make(self.work.name, "add", "r0[i] = p0[i] + p1[i];", "r0[i] = p0[i] + p1[i];", params=2, n=1 << 16)
        device = run.find_device("opencl", run.Options())
        options = bench.BenchOptions(rounds=3, slot_ms=1, footprint=4 << 20)
        row = bench.bench_built(built, "opencl", device, options)
        self.assertEqual((row["status"], row["bytes"], row["max_abs"]), ("PASS", 3 << 18, 0))
        self.assertGreaterEqual(row["footprint"], 4 << 20)
        self.assertAlmostEqual(row["GBps"], row["bytes"] / row["median_s"] / 1e9)
        self.assertEqual(row["copy"]["GBps"], max(c["GBps"] for c in row["copies"]))
        self.assertGreater(row["share"], 0)
        self.assertLessEqual(row["least_s"], row["median_s"])
        self.assertGreater(row["latency_s"], 0)
        report = bench.Report("opencl", device, "cc", options, [], [row])
        text = bench.table(report)
        self.assertIn(device["name"], text)
        self.assertIn("latency", text)
        self.assertIn(row["copy"]["name"], text)
        self.assertRegex(text, r"(?m)^GB/s, copy, read, memcpy: GB/s of the bytes moved; .* bench/README\.md ")
        for high, said in ((1.1, False), (1.9, True)):
            spread = {**row, "median_s": 1.0, "low_s": 0.9, "high_s": high}
            text = bench.table(bench.Report("opencl", device, "cc", options, [], [spread]))
            self.assertEqual("note: the machine is busy: times spread by up to 100%" in text, said)

    def test_share_is_the_median_of_the_turns(self) -> None:
        kernel = {"bytes": 300.0, "times": [1.0, 2.0, 4.0]}
        copy = {"bytes": 200.0, "times": [2.0, 2.0, 2.0]}
        self.assertEqual(bench._share(kernel, copy), 1.5 * 1.0)

    def test_bench_times_no_wrong_kernel(self) -> None:
        built = make(self.work.name, "add", "r0[i] = p0[i] + 1;")
        row = bench.bench_built(built, "opencl", run.find_device("opencl", run.Options()), bench.BenchOptions())
        self.assertEqual(row["status"], "FAIL")
        self.assertNotIn("median_s", row)
        self.assertIn("FAIL", bench.table(bench.Report("opencl", run.find_device("opencl", run.Options()), "cc", bench.BenchOptions(), [], [row])))

    @pytest.mark.peer
    def test_turns_end_when_the_share_is_known(self) -> None:
        built = make(self.work.name, "add", "r0[i] = p0[i] + p1[i];", "r0[i] = p0[i] + p1[i];", params=2, n=1 << 16)
        device = run.find_device("opencl", run.Options())
        for spread, turns in ((1e9, 9), (0, 12)):
            options = bench.BenchOptions(rounds=12, spread=spread, slot_ms=1, footprint=4 << 20, with_check=False)
            row = bench.bench_built(built, "opencl", device, options)
            self.assertEqual(row["rounds"], turns)
            self.assertGreater(row["share_spread"], 0)
            self.assertEqual(row["yardstick"], "copy")

    # ---- libraries to compare with: programs that speak the protocol of gen/run/harness/serve.h ----

    WORKER = """
import sys, array
name, dtype, dims, order, threads, footprint, source, result = sys.argv[1:]
assert (name, dtype, dims, order, threads) == ("transpose", "f32", "48,80", "1,0", "{units}")
x = array.array("f", open(source, "rb").read())
y = array.array("f", [{value} for j in range(80) for i in range(48)])
open(result, "wb").write(y.tobytes())
print("ready Python 3 loops", flush=True)
for line in sys.stdin:
    {answer}
    print(int(line) * 0.25, flush=True)
"""

    def library(self, name: str, value: str = "x[i * 80 + j]", answer: str = "pass") -> rivals.Library:
        path = Path(self.work.name) / f"{name}.py"
        units = int(run.find_device("opencl", run.Options())["units"])
        path.write_text(self.WORKER.format(value=value, answer=answer, units=units))
        return rivals.Library(name, (sys.executable, str(path)))

    @pytest.mark.peer
    def test_libraries_are_timed_or_say_why_not(self) -> None:
        text = "HloModule t\nENTRY main { x = f32[48,80] parameter(0)  ROOT y = f32[80,48] transpose(x), dimensions={1,0} }"
        device, options = run.find_device("opencl", run.Options()), bench.BenchOptions(rounds=3, slot_ms=1, footprint=1 << 20)
        built = run.build(hlo.fusions(hlo.parse(text, "t.hlo"))[0], Path(self.work.name) / "t", "opencl", options.run)
        libraries = [self.library("good"), self.library("wrong", value="0"), self.library("leaves", answer="break"),
                     rivals.Library("unwilling", ("echo", "skip it has no such permutation;")), rivals.Library("dead", ("false",)),
                     rivals.Library("absent", missing="no libabsent.so")]
        row = bench.bench_built(built, "opencl", device, options, libraries)
        self.assertEqual(row["status"], "PASS", row.get("reason"))
        found = {r["name"]: r for r in row["libraries"]}
        self.assertEqual({name: r["status"] for name, r in found.items()}, {
            "good": "PASS", "wrong": "SKIP", "leaves": "SKIP", "unwilling": "SKIP", "dead": "SKIP", "absent": "SKIP"})
        self.assertEqual((found["good"]["median_s"], found["good"]["about"]), (0.25, "Python 3 loops"))
        self.assertGreater(found["good"]["ahead"], 1)
        for name, reason in (("wrong", "not the kernel's"), ("leaves", "ended before"), ("unwilling", "no such permutation"),
                             ("dead", "ended at once"), ("absent", "no libabsent.so")):
            self.assertIn(reason, found[name]["reason"])
        table = bench.table(bench.Report("opencl", device, "cc", options, libraries, [row]))
        self.assertRegex(table, r"(?m)^SKIP absent: no libabsent\.so$")
        self.assertRegex(table, r"(?m)^SKIP wrong: .* \(t\)$")
        self.assertRegex(table, r"kernel .* good +max error")
        self.assertIn("Python 3", table)


    @pytest.mark.peer
    def test_many_small_parameters_are_timed(self) -> None:
        """Many small parameters can be timed, because their buffers share mappings: a process may have some 65,000
        mappings, and this test rotates 87,000 buffers.
        """
        lines = [f"p{k} = f32[12] parameter({k})" for k in range(300)] + ["s1 = f32[12] add(p0, p1)"]
        lines += [f"s{k} = f32[12] add(s{k - 1}, p{k})" for k in range(2, 300)]
        device, options = run.find_device("c", run.Options()), bench.BenchOptions(rounds=1, slot_ms=1, footprint=4 << 20)
        fusion = hlo.fusions(hlo.parse("HloModule t\nENTRY e {\n" + "\n".join(lines) + "\n}\n", "t.hlo"))[0]
        row = bench.bench_built(run.build(fusion, Path(self.work.name) / "many", "c", options.run), "c", device, options)
        self.assertEqual((row["status"], row.get("reason")), ("PASS", None))
        self.assertGreater(row["sets"] * 301, 65536)

    @pytest.mark.peer
    def test_a_library_that_rounds_at_other_places_is_timed(self) -> None:
        """A library that computes bf16 ops in f32 differs from the reference. The difference is larger than a different
        order of sums can explain, but within the bound of --excess-precision. The library's time is printed with a
        mark.
        """
        text = """HloModule t
        ENTRY e { x = bf16[64,512] parameter(0)  y = bf16[64,512] parameter(1)  c = bf16[] constant(64)  cs = bf16[64,512] broadcast(c), dimensions={}
          b = bf16[64,512] multiply(x, cs)  s = bf16[64,512] add(b, y)  ROOT r = bf16[64,512] subtract(s, b) }"""
        worker = """
import sys, array
def f32(values, kind="f"):
    return array.array(kind, array.array("f" if kind == "I" else "I", values).tobytes())
given = f32(n << 16 for n in array.array("H", open(sys.argv[7], "rb").read()))
x, y = given[:len(given) // 2], given[len(given) // 2:]
s = array.array("f", [64 * a + b for a, b in zip(x, y)])
bits = f32(({value} for a, b in zip(x, s)), "I")
open(sys.argv[8], "wb").write(array.array("H", [(n + 0x7fff + (n >> 16 & 1)) >> 16 for n in bits]).tobytes())
print("ready Python 3", flush=True)
for line in sys.stdin: print(int(line) * 0.25, flush=True)
"""
        device, options = run.find_device("c", run.Options()), bench.BenchOptions(rounds=1, slot_ms=1, footprint=4 << 20)
        for value, status in (("b - 64 * a", "PASS"), ("2 * (b - 64 * a)", "SKIP")):
            path = Path(self.work.name) / "xla.py"
            path.write_text(worker.format(value=value))
            library = rivals.Library("XLA:CPU", (sys.executable, str(path)))
            built = run.build(hlo.fusions(hlo.parse(text, "t.hlo"))[0], Path(self.work.name) / status, "c", options.run)
            row = bench.bench_built(built, "c", device, options, [library])
            found = row["libraries"][0]
            self.assertEqual((row["status"], found["status"]), ("PASS", status), (row, found))
            nearer = "" if status == "PASS" else r"; the kernel is nearer to the exact result \(root mean square errors [\d.e-]+, its [\d.e+]+\)"
            self.assertRegex(found["differs" if status == "PASS" else "reason"],
                             r"^its result is up to [\d.]+ off the kernel's -?[\d.]+, [\d.]+ ulp of bf16" + nearer + "$")
            table = bench.table(bench.Report("c", device, "cc", options, [library], [row]))
            if status == "PASS":
                self.assertRegex(table, r" [\d.]+\* ")
                self.assertRegex(table, r"(?m)^\* XLA:CPU: its result is up to .*: rounding at other places may cause it \(t\)$")
            else:
                self.assertRegex(table, r"(?m)^SKIP XLA:CPU: its result is up to .* \(t\)$")


class Libraries(unittest.TestCase):
    @staticmethod
    def of(root: str, more: str = "", shape: str = "f32[4,6]") -> Optional[rivals.Operation]:
        text = f"""HloModule m
        add {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }}
        twice {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(b, b) }}
        larger {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }}
        first {{ a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)
          g = pred[] compare(a, b), direction=GE  v = f32[] select(g, a, b)  k = s32[] select(g, i, j)  ROOT r = (f32[], s32[]) tuple(v, k) }}
        f {{ x = {shape} parameter(0)  zero = f32[] constant(0)  low = f32[] constant(-inf)  last = s32[] constant(0)
          n = s32[4,6] iota(), iota_dimension=1  m = s32[4,6] iota(), iota_dimension=0  {more}  ROOT {root} }}
        """
        return rivals.operation(hlo.fusions(hlo.parse(text, "m.hlo"))[0])

    def test_what_a_fusion_is(self) -> None:
        Op = rivals.Operation
        self.assertEqual(self.of("y = f32[6,4] transpose(x), dimensions={1,0}"), Op("transpose", "f32", (4, 6), (1, 0)))
        self.assertEqual(self.of("y = f32[4] reduce(x, zero), dimensions={1}, to_apply=add"), Op("sum", "f32", (4, 6), (1,)))
        self.assertEqual(self.of("y = f32[] reduce(x, low), dimensions={0,1}, to_apply=larger"), Op("max", "f32", (4, 6), (0, 1)))
        self.assertEqual(self.of("y = (f32[4], s32[4]) reduce(x, n, low, last), dimensions={1}, to_apply=first"),
                         Op("argmax", "f32", (4, 6), (1,), 1))

    def test_anything_else_is_none(self) -> None:
        for root, more, shape in (
                ("y = f32[4,6] negate(x)", "", "f32[4,6]"), ("y = f32[4] reduce(x, zero), dimensions={1}, to_apply=twice", "", "f32[4,6]"),
                ("y = f32[6,4] negate(t)", "t = f32[6,4] transpose(x), dimensions={1,0}", "f32[4,6]"),
                ("y = f32[6,4] transpose(t), dimensions={1,0}", "t = f32[4,6] negate(x)", "f32[4,6]"),
                ("y = f32[6,4] transpose(x), dimensions={1,0}", "", "f32[4,6]{0,1}"),
                ("y = (f32[4], s32[4]) reduce(x, m, low, last), dimensions={1}, to_apply=first", "", "f32[4,6]")):
            self.assertIsNone(self.of(root, more, shape), root)

    def test_what_is_missing_says_so(self) -> None:
        with tempfile.TemporaryDirectory() as work, mock.patch.dict(rivals.os.environ, {"PATH": work, "CC": ""}), \
                mock.patch.object(rivals.sys, "executable", "/bin/false"):
            found = rivals.find(Path(work))
        no_compiler = "no C compiler; instead, install gcc or clang, or name one in CC"
        self.assertEqual({x.name: (x.command, x.missing) for x in found}, {
            "OpenBLAS": ((), no_compiler), "oneDNN": ((), no_compiler), "NumPy": ((), "found no python3 that has numpy"),
            "XLA:CPU": ((), "found no python3 that has jax, jaxlib._hlo")})

    @pytest.mark.peer
    def test_xla_runs_a_whole_fusion(self) -> None:
        text = """HloModule m
        add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
        f { x = f32[3,4] parameter(0)  n = s32[4] parameter(1)  t = f32[3,4]{0,1} parameter(2)  zero = f32[] constant(0.25)
            m = f32[4] convert(n)  w = f32[3,4] broadcast(m), dimensions={1}  y = f32[3,4] multiply(x, w)
            z = f32[3] reduce(y, zero), dimensions={1}, to_apply=add  u = f32[3,4] add(t, t)  c = f32[3,4]{0,1} copy(y)
            ROOT r = (f32[3,4], f32[3], f32[3,4], f32[3,4]{0,1}) tuple(y, z, u, c) }
        """
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work)
            library = next(x for x in rivals.find(folder) if x.name == "XLA:CPU")
            if library.missing:
                self.skipTest(library.missing)
            op = rivals.whole(hlo.fusions(hlo.parse(text, "m.hlo"))[0], folder)
            assert op
            x, n = [float(i) for i in range(12)], [2, 3, 5, 7]
            (folder / "in").write_bytes(struct.pack("<12f4i12f", *x, *n, *x))
            done = subprocess.run(["sh", "-c", library.line(op, 1, 4096, folder / "in", folder / "out")], input="3\n1\n",
                                  stdout=subprocess.PIPE, universal_newlines=True)
            lines = done.stdout.splitlines()
            y = [v * n[i % 4] for i, v in enumerate(x)]
            self.assertRegex(lines[0], "^ready XLA:CPU [0-9.]+ .* on 1 threads$")
            self.assertEqual(struct.unpack("<39f", (folder / "out").read_bytes()), (
                *y, *(0.25 + sum(y[i:i + 4]) for i in (0, 4, 8)), *(2 * x[j * 3 + i] for i in range(3) for j in range(4)),
                *(y[i * 4 + j] for j in range(4) for i in range(3))))
            self.assertTrue(all(float(line) > 0 for line in lines[1:]) and len(lines) == 3)
        tiled = text.replace("x = f32[3,4] parameter", "x = f32[3,4]{1,0:T(2,2)} parameter")
        self.assertIsNone(rivals.whole(hlo.fusions(hlo.parse(tiled, "m.hlo"))[0], Path(".")))

    @pytest.mark.peer
    def test_xla_takes_tuples_and_64_bits(self) -> None:
        """XLA gets tuple parameters, tuple results (of one array, or of tuples), f64 and s64 as separate arrays."""
        rows = [("x = f64[3] parameter(0)  y = f64[3] add(x, x)  ROOT r = (f64[3]) tuple(y)", "3d", (0.1, 0.2, 0.3), "3d", (0.2, 0.4, 0.6)),
                ("""t = (s64[2], (f64[2], s32[])) parameter(0)  z = s64[2] parameter(1)  a = s64[2] get-tuple-element(t), index=0
                    u = (f64[2], s32[]) get-tuple-element(t), index=1  b = f64[2] get-tuple-element(u), index=0
                    c = s32[] get-tuple-element(u), index=1  s = s64[2] add(a, z)  n = f64[2] negate(b)  v = (f64[2], s64[2]) tuple(n, s)
                    ROOT r = ((f64[2], s64[2]), s32[]) tuple(v, c)""", "<2q2di2q", (1 << 40, 3, 0.1, 0.7, 5, 1, 2), "<2d2qi",
                 (-0.1, -0.7, (1 << 40) + 1, 5, 5)),
                ("t = (f64[2], f64[2]) parameter(0)  ROOT r = f64[2] get-tuple-element(t), index=1", "4d", (1, 2, 3, 4), "2d", (3, 4))]
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work)
            library = next(x for x in rivals.find(folder) if x.name == "XLA:CPU")
            if library.missing:
                self.skipTest(library.missing)
            for body, given, values, form, results in rows:
                op = rivals.whole(hlo.fusions(hlo.parse("HloModule m\nENTRY flat {\n" + body + "\n}\n", "m.hlo"))[0], folder)
                assert op
                (folder / "in").write_bytes(struct.pack(given, *values))
                done = subprocess.run(["sh", "-c", library.line(op, 1, 4096, folder / "in", folder / "out")], input="1\n",
                                      stdout=subprocess.PIPE, universal_newlines=True)
                self.assertRegex(done.stdout, "^ready XLA:CPU ", body)
                self.assertEqual(struct.unpack(form, (folder / "out").read_bytes()), results, body)

    @pytest.mark.peer
    def test_those_that_are_here_agree(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work)
            values = [float((7 * i) % 11) for i in range(24)]
            (folder / "in").write_bytes(struct.pack("<24f", *values))
            rows = [values[:12], values[12:]]
            wanted = {("transpose", "1,0"): [row[k] for k in range(12) for row in rows], ("sum", "1"): [sum(row) for row in rows],
                      ("sum", "0"): [a + b for a, b in zip(*rows)], ("max", "0,1"): [max(values)]}
            for library in rivals.find(folder):
                for (name, order), result in wanted.items():
                    if library.missing or library.name in rivals.WHOLE:
                        continue
                    op = rivals.Operation(name, "f32", (2, 12), tuple(map(int, order.split(","))))
                    done = subprocess.run(["sh", "-c", library.line(op, 2, 4096, folder / "in", folder / "out")], input="3\n1\n",
                                              stdout=subprocess.PIPE, universal_newlines=True)
                    lines = done.stdout.splitlines()
                    if lines[0].startswith("skip "):
                        continue
                    self.assertRegex(lines[0], f"^ready {library.name} [0-9.]+ .* on 2 threads$")
                    self.assertEqual(struct.unpack(f"<{len(result)}f", (folder / "out").read_bytes()), tuple(result), (library.name, name, order))
                    self.assertTrue(all(float(line) > 0 for line in lines[1:]) and len(lines) == 3)


class Text(unittest.TestCase):
    def test_file_line(self) -> None:
        equal = run.CheckResult("b", "transpose", "PASS", compared=1000, rounds=1)
        self.assertEqual(equal.line(), "  PASS b transpose 0, 1 round")
        self.assertEqual(run.file_line("f.hlo", "opencl", [equal]), "PASS f.hlo opencl 1/1 transpose 0 (1000 values compared, all equal)")
        results = [run.CheckResult("a", "loop", "PASS", max_share=0.123, compared=1000), equal]
        self.assertEqual(run.file_line("f.hlo", "opencl", results),
                         "PASS f.hlo opencl 2/2 loop transpose 0.12 of the allowed error (2000 values compared)")
        several = [run.CheckResult(name, hero, "PASS", compared=1) for name, hero in (("a", "loop"), ("b", "loop reduction"), ("c", "reduction sort"))]
        self.assertEqual(run.file_line("f.hlo", "c", several).split(" 0 ")[0], "PASS f.hlo c 3/3 loop reduction sort")      # each hero (kernel emitter) is named once
        worst = [run.CheckResult("a", "loop", "PASS", max_share=0.123, compared=1000,
                                 nearest="result 1, element 7 [0,7]: kernel 1, reference 2, 1 apart where 8 is allowed"), equal]
        self.assertEqual(run.error_text(worst[:1]),
                         "0.12 of the allowed error (1000 values compared; worst: result 1, element 7 [0,7]: kernel 1, reference 2, 1 apart where 8 is allowed)")
        self.assertIn("; worst: a, result 1, element 7", run.error_text(worst))
        results.append(run.CheckResult("c", "loop", "PASS", "too large for memory: checked by its maps and by compiling"))
        self.assertEqual(run.file_line("f.hlo", "opencl", results[2:]), "PASS f.hlo opencl 1/1 loop -: " + results[2].reason)
        results.append(run.CheckResult("d", "loop", "SKIP", "no memory"))
        self.assertEqual(run.file_line("f.hlo", "opencl", results),
                         "SKIP f.hlo opencl 3/4 loop transpose 0.12 of the allowed error (2000 values compared): no memory")

    def test_why_values_are_not_compared(self) -> None:
        """All reasons why values were not compared are listed. If there are several, each has its count."""
        some = run.CheckResult("a", "loop", "PASS", max_share=0.5, compared=1000, unbounded=16, unbounded_nan=1, unbounded_integers=5, unbounded_moderate=2)
        self.assertEqual(run.error_text([some]), "0.5 of the allowed error (984 values compared; 16 were not compared (1.6%, 2 of ordinary inputs): rounding decides NaN or "
                         "a number (1), a comparison, a conversion or an index (5), overflow or a pole (10))")
        one = run.CheckResult("b", "loop", "PASS", compared=1000, unbounded=3, unknown=("rounding decides an index of g",))
        self.assertEqual(run.error_text([one]), "0 (997 values compared, among them all of ordinary inputs, all equal; 3 of special inputs were not compared (0.3%): "
                         "rounding decides overflow or a pole, or where rounding decides an index of g)")

    def test_an_unknown_target_is_bad_input(self) -> None:
        with self.assertRaises(run.RunError) as caught:
            run.harness("fortran")
        self.assertEqual(caught.exception.status, 2)
