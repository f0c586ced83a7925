"""Test loading and storing register tiles. The law is: lane l of register r holds the element at l * stride + r. The
functions run in C with each compiler, with shuffles and with loops, and in OpenCL.
"""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any, List, Tuple

import pytest

from gen.emit import register_tiles
from gen.targets import TARGETS

OPENCL = TARGETS["opencl"]
C = TARGETS.get("c") or dataclasses.replace(OPENCL, name="c", pointer="", types={f"u{n}": f"uint{n}_t" for n in (8, 16, 32, 64)})

# Each entry: the width of an element in bits, the number of lanes, the number of rows, and the number of bytes of a
# load. If the last number is 0, a tile of whole cache lines is loaded in two steps instead, by load_lines
# (gen/emit/register_tiles.py): load_pieces transposes blocks of rows, and join_pieces gathers their pieces of 16 bytes.
SHAPES: "List[Tuple[int, int, int, int]]" = [
    (32, 16, 16, 64), (32, 16, 16, 32), (32, 16, 16, 16), (32, 16, 4, 16), (64, 8, 8, 64), (64, 8, 8, 16), (64, 8, 2, 16),
    (16, 32, 32, 64), (16, 32, 32, 16), (16, 32, 8, 16), (16, 16, 16, 32), (16, 16, 16, 16), (16, 16, 8, 16),
    (8, 64, 64, 64), (8, 64, 16, 16), (8, 32, 16, 16), (8, 16, 16, 16), (8, 16, 64, 16),
    (32, 8, 8, 32), (16, 8, 8, 16), (8, 8, 8, 8), (32, 4, 4, 16), (16, 4, 4, 8), (8, 4, 4, 4), (64, 4, 4, 32),
    (32, 16, 2, 16), (32, 2, 16, 16), (8, 64, 4, 4), (8, 64, 32, 16), (16, 32, 4, 8), (16, 32, 16, 32), (64, 2, 8, 16), (8, 2, 2, 2),
    (8, 64, 64, 0), (16, 32, 32, 0), (32, 16, 16, 0), (64, 8, 8, 0)]

# Each entry: the width of an element in bits, the number of lanes, the number of rows of a tile, the distance between
# rows in elements, the length of a row in elements, and the number of tiles below each other. Rows are stored as whole
# cache lines.
ROWS: "List[Tuple[int, int, int, int, int, int]]" = [
    (32, 16, 16, 255, 255, 2), (32, 16, 16, 100, 99, 1), (32, 16, 2, 104, 104, 2), (32, 16, 16, 17, 17, 1), (32, 16, 4, 16, 16, 1),
    (64, 8, 8, 71, 71, 2), (16, 32, 32, 97, 97, 1), (16, 32, 32, 131, 95, 2), (8, 64, 64, 131, 131, 1), (8, 64, 16, 132, 131, 1),
    (32, 4, 4, 7, 7, 1), (32, 4, 2, 14, 13, 3)]

# The tile is stored into the middle of `again`, which is filled with poison. The source is misaligned by one element.
CHECK = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { STRIDE = 77, MOST = 66 * STRIDE * 8 };
static _Alignas(64) unsigned char source[MOST], moved[MOST], again[MOST];
static unsigned char want_moved[MOST], want_again[MOST];

static int wrong(int width, int lanes, int rows, int piece)
{
  const int size = width / 8;
  memset(want_moved, 0xa5, MOST), memset(want_again, 0xa5, MOST);
  for (int l = 0; l < lanes; ++l)
    for (int r = 0; r < rows; ++r) {
      int at = (1 + l * STRIDE + r) * size;
      memcpy(want_moved + (r * lanes + l) * size, source + at, (size_t)size);
      memcpy(want_again + at, source + at, (size_t)size);
    }
  int bad = memcmp(moved, want_moved, MOST) != 0, worse = memcmp(again, want_again, MOST) != 0;
  if (bad) printf("load of %dx%d, %d bytes, by %d\n", lanes, rows, size, piece);
  if (worse) printf("store of %dx%d, %d bytes\n", lanes, rows, size);
  return bad + worse;
}

static int wrong_rows(int width, int lanes, int rows, int pitch, int length, int down)
{
  const int size = width / 8;
  memset(want_again, 0xa5, MOST);
  for (int i = 0; i < 2 * rows; ++i) memcpy(want_again + i * pitch * size, source + i * pitch * size, (size_t)(length * size));
  int bad = memcmp(again, want_again, MOST) != 0;
  if (bad) printf("rows of %d of %d, tiles of %dx%d, %d bytes, %d down\n", length, pitch, lanes, rows, size, down);
  return bad;
}

static void prepare(void)
{
  for (int i = 0; i < MOST; ++i) source[i] = (unsigned char)rand();
  memset(moved, 0xa5, MOST), memset(again, 0xa5, MOST);
}
"""

HOST = r"""
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
static void ok(cl_int error, const char *what) { if (error) { printf("%s: %d\n", what, error); exit(2); } }
int main(int count, char **arguments)
{
  static char text[4 << 20], log[1 << 16];
  const char *program_text = text;
  cl_platform_id platform;
  cl_device_id device;
  cl_int e = 0;
  int bad = 0;
  FILE *file = fopen(arguments[1], "rb");
  if (count < 2 || !file || !fread(text, 1, sizeof text - 1, file)) return 2;
  if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) return 77;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &e);
  ok(e, "context");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &e);
  ok(e, "queue");
  cl_program program = clCreateProgramWithSource(context, 1, &program_text, NULL, &e);
  e = clBuildProgram(program, 1, &device, "-cl-std=CL1.2", NULL, NULL);
  if (e) clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL), puts(log);
  ok(e, "build");
  unsigned char *host[3] = { source, moved, again };
  cl_mem memory[3];
  for (int i = 0; i < 3; ++i) memory[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, MOST, NULL, &e);
  ok(e, "buffers");
  for (int s = 0; s < TILES + ROWS; ++s) {
    char name[16];
    size_t one = 1;
    const int *t = tiles[s < TILES ? s : 0], *r = rows[s < TILES ? 0 : s - TILES];
    snprintf(name, sizeof name, s < TILES ? "tile%d" : "rows%d", s < TILES ? s : s - TILES);
    cl_kernel kernel = clCreateKernel(program, name, &e);
    ok(e, name);
    prepare();
    for (cl_uint i = 0; i < 3; ++i) {
      ok(clEnqueueWriteBuffer(queue, memory[i], CL_TRUE, 0, MOST, host[i], 0, NULL, NULL), "write");
      ok(clSetKernelArg(kernel, i, sizeof memory[i], &memory[i]), "argument");
    }
    ok(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL), "launch");
    for (int i = 0; i < 3; ++i) ok(clEnqueueReadBuffer(queue, memory[i], CL_TRUE, 0, MOST, host[i], 0, NULL, NULL), "read");
    bad += s < TILES ? wrong(t[0], t[1], t[2], t[3]) : wrong_rows(r[0], r[1], r[2], r[3], r[4], r[5]);
    clReleaseKernel(kernel);
  }
  for (int i = 0; i < 3; ++i) clReleaseMemObject(memory[i]);
  clReleaseProgram(program), clReleaseCommandQueue(queue), clReleaseContext(context);
  return bad != 0;
}
"""


def text_of(d: Any, index: str) -> str:
    """Return, for each entry of SHAPES, a function that loads a tile, writes it row by row, and stores it back."""
    stream = "#define UNROLL\n#define STREAM(value, pointer) (*(pointer) = (value))\n"    # a streaming store to a misaligned pointer would fault
    text = [register_tiles.prelude(), stream, *dict.fromkeys(register_tiles.typedef(d, width, lanes) for width, lanes, *_ in [*SHAPES, *ROWS])]
    for n, (width, lanes, rows, piece) in enumerate(SHAPES):
        kind, t = d.register(f"u{width}", lanes), d.types[f"u{width}"]
        head = "__kernel void" if d.name == "opencl" else "static void"
        if piece:
            text.append(register_tiles.load_tile(d, width, lanes, rows, index, piece, f"load{n}"))
        else:
            text += [register_tiles.load_pieces(d, width, 4, index, 0, f"pieces{n}"), register_tiles.join_pieces(d, width, f"join{n}"),
                     register_tiles.load_lines(d, width, index, f"pieces{n}", f"join{n}", f"load{n}")]
        text += [register_tiles.store_tile(d, width, lanes, rows, index, f"store{n}"),
                 f"{head} tile{n}({d.pointer}{t} *from, {d.pointer}{t} *flat, {d.pointer}{t} *back)\n{{\n  {kind} x[{rows}];\n"
                 f"  load{n}(x, from + 1, 77);\n  for (int r = 0; r < {rows}; ++r)\n    for (int l = 0; l < {lanes}; ++l) flat[r * {lanes} + l] = (({t} *)(x + r))[l];\n"
                 f"  store{n}(back + 1, 77, x);\n}}\n"]
    return "\n".join([*text, *rows_text(d)])


def rows_text(d: Any) -> "List[str]":
    """Return, for each entry of ROWS, a function that copies 2 * rows rows tile by tile, as a transpose stores them."""
    text = []
    for n, (width, lanes, rows, pitch, length, down) in enumerate(ROWS):
        kind, t, full = d.register(f"u{width}", lanes), d.types[f"u{width}"], length // lanes
        head, line = ("__kernel void" if d.name == "opencl" else "static void"), f"{d.pointer}{t} *"
        text += [register_tiles.line_tile(d, width, lanes, rows, pitch, "first", name=f"first{n}"),
                 register_tiles.line_tile(d, width, lanes, rows, pitch, "next", name=f"one{n}"),
                 register_tiles.line_tile(d, width, lanes, rows, pitch, "next", down=down, name=f"many{n}"),
                 register_tiles.line_tile(d, width, lanes, rows, pitch, "last", length % lanes, name=f"last{n}")]
        text.append(f"""{head} rows{n}({line}from, {line}flat, {line}back)
{{
  (void)flat;
  {kind} carry[{2 * rows}], x[{down * rows}];
  for (int side = 0; side < 2; ++side) {{
    {line}f = from + side * {rows * pitch};
    {line}o = back + side * {rows * pitch};
    int k = 1;
    for (int i = 0; i < {rows}; ++i)
      for (int l = 0; l < {lanes}; ++l) (({t} *)(x + i))[l] = f[i * {pitch} + l];
    first{n}(o, carry + side * {rows}, x);
    for (; k + {down} <= {full}; k += {down}) {{
      for (int i = 0; i < {rows}; ++i)
        for (int l = 0; l < {down * lanes}; ++l) (({t} *)(x + i + l / {lanes} * {rows}))[l % {lanes}] = f[i * {pitch} + k * {lanes} + l];
      many{n}(o + k * {lanes}, carry + side * {rows}, x);
    }}
    for (; k < {full}; ++k) {{
      for (int i = 0; i < {rows}; ++i)
        for (int l = 0; l < {lanes}; ++l) (({t} *)(x + i))[l] = f[i * {pitch} + k * {lanes} + l];
      one{n}(o + k * {lanes}, carry + side * {rows}, x);
    }}
    for (int i = 0; i < {rows}; ++i)
      for (int l = 0; l < {lanes}; ++l) (({t} *)(x + i))[l] = f[i * {pitch} + {length - lanes} + l];
    last{n}(o + {(full - 1) * lanes}, carry + side * {rows}, x);
  }}
}}
""")
    return text


def runs(command: "List[str]") -> "Tuple[int, str]":
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    return done.returncode, done.stdout


class Law(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def compiled(self, compiler: str, text: str, *flags: str) -> str:
        source, output = self.folder / "t.c", str(self.folder / "t")
        source.write_text(text)
        code, said = runs([compiler, *"-std=c11 -O1 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror".split(), str(source), "-o", output, *flags])
        self.assertEqual(code, 0, said[-4000:])
        return output

    def test_every_size_arrives(self) -> None:
        """For every size, the generator writes a load and a store. While it writes them, it follows each element through
        the shuffles, and asserts that the element arrives at its place.
        """
        for width in (8, 16, 32, 64):
            for lanes in (1 << n for n in range(1, 10) if width << n <= 512):
                for rows in (2, 4, 8, 16, 32, 64):
                    for piece in (n for n in (2, 4, 8, 16, 32, 64) if 4 * n >= width):
                        self.assertIn(f"out[{rows - 1}] = ", register_tiles.load_tile(C, width, lanes, rows, piece=piece))
                    self.assertIn(f"ROW({lanes - 1}, 0) = ", register_tiles.store_tile(C, width, lanes, rows))

    def test_refused(self) -> None:
        for width, lanes, rows in ((32, 32, 4), (32, 12, 4), (32, 16, 3), (4, 16, 4), (32, 16, 1)):
            with self.assertRaises(AssertionError):
                register_tiles.load_tile(C, width, lanes, rows)

    @pytest.mark.peer
    def test_c(self) -> None:
        calls = "".join(f"  prepare();\n  tile{n}((void *)source, (void *)moved, (void *)again);\n  bad += wrong({', '.join(map(str, shape))});\n"
                        for n, shape in enumerate(SHAPES))
        calls += "".join(f"  prepare();\n  rows{n}((void *)source, (void *)moved, (void *)again);\n  bad += wrong_rows({', '.join(map(str, shape))});\n"
                         for n, shape in enumerate(ROWS))
        text = f"{CHECK}{text_of(C, 'size_t')}\nint main(void)\n{{\n  int bad = 0;\n{calls}  return bad != 0;\n}}\n"
        loops = text.replace(register_tiles.prelude(), "#define SHUFFLES 0\n").replace("#ifdef __GNUC__", "#ifdef VECTORS")  # the text that compilers without shuffles get
        self.assertNotEqual(text, loops)
        wide = ("-mavx512f", "-mavx512bw", "-mavx512vl")
        for compiler in ("gcc", "clang"):
            if not shutil.which(compiler):
                print(f"SKIP tiles: no {compiler}")
                continue
            for source, flags in ((text, ()), (text, ("-mavx2",)), (text, wide), (loops, ())):
                with self.subTest(compiler=compiler, flags=flags, loops=source is loops):
                    program = self.compiled(compiler, source, *flags)
                    needed = {(): "", ("-mavx2",): "avx2", wide: "avx512vl"}[flags]
                    if needed not in Path("/proc/cpuinfo").read_text():
                        print(f"SKIP tiles: no {needed} to run them on")
                        continue
                    self.assertEqual(runs([program]), (0, ""))

    @pytest.mark.peer
    def test_opencl(self) -> None:
        tables = "".join(f"enum {{ {name.upper()} = {len(table)} }};\nstatic const int {name}[][{len(table[0])}] = {{ "
                         + ", ".join(f"{{ {', '.join(map(str, shape))} }}" for shape in table) + " };\n"
                         for name, table in (("tiles", SHAPES), ("rows", ROWS)))
        program = self.compiled("cc", f"{CHECK}{tables}{HOST}", "-lOpenCL")
        text = text_of(OPENCL, "uint")
        for name, source in (("shuffles", text), ("loops", text.replace(register_tiles.prelude(), "#define SHUFFLES 0\n").replace("#ifdef __clang__", "#ifdef VECTORS"))):
            file = self.folder / f"{name}.cl"
            file.write_text(source)
            for command in ([program], ["oclgrind", "--data-races", program]):
                if not shutil.which(command[0]):
                    print(f"SKIP tiles: no {command[0]}")
                    continue
                with self.subTest(source=name, command=command[0]):
                    code, said = runs([*command, str(file)])
                    if code == 77:
                        self.skipTest("no OpenCL device")
                    self.assertEqual((code, said), (0, ""))
