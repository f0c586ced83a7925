"""Test ops whose result shape the text leaves out. The inferred shape is that of XLA's parser (compared if jax is
installed). If no shape can be inferred, the error names the place in the text and says what was expected.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Dict, List

from gen import hlo
from gen.hlo import dtypes, opcodes

PEER = Path("../shared/peer/xla_cpu_benchmarks")

HEAD = """HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
lt { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=LT }
lt2 { a = f32[] parameter(0) b = f32[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=LT }
two { a = f32[] parameter(0) b = s32[] parameter(1) c = f32[] parameter(2) d = s32[] parameter(3) x = f32[] add(a, c)
  y = s32[] add(b, d) ROOT r = (f32[], s32[]) tuple(x, y) }
neg { a = f32[3,5] parameter(0) ROOT r = f32[3,5] negate(a) }
never { a = f32[3,5] parameter(0) ROOT r = pred[] constant(false) }
ENTRY e {
"""
PARAMETERS = {"x": "f32[3,5]", "y": "f32[5,7]", "z": "f32[]", "t": "f32[3,5]{0,1}", "i": "s32[3,5]", "k": "s32[]", "p": "pred[]",
                  "pr": "pred[3,5]", "b": "bf16[3,5]", "h": "bf16[5,7]", "c": "c64[3,5]", "q": "s8[3,5]", "qb": "s8[5,7]", "v": "f32[5]",
                  "w": "f32[3]", "g": "u32[2]", "im": "f32[2,8,8,4]", "ke": "f32[3,3,4,6]", "sq": "f32[2,4,4]",
                  "tile": "f32[170,160]{1,0:T(8,128)}", "tu": "(f32[3,5], s32[])", "di": "f32[2,3,5]", "dj": "f32[2,5,7]", "ro": "s32[4,1]",
                  "up": "f32[4,5]", "gs": "s32[2]", "rhs": "f32[2,5,7]"}

# The text of an op, and the inferred shape of its result.
GOOD = """
    abs(t) -> f32[3,5]{0,1} | abs(c) -> f32[3,5]{1,0} | add(t, x) -> f32[3,5]{0,1} | add(x, t) -> f32[3,5]{1,0} | negate(tile) -> f32[170,160]{1,0:T(8,128)}
    compare(t, x), direction=LT -> pred[3,5]{0,1} | compare(tile, tile), direction=LT -> pred[170,160]{1,0:T(8,128)} | is-finite(t) -> pred[3,5]{0,1}
    select(pr, t, x) -> f32[3,5]{1,0} | select(p, t, x) -> f32[3,5]{0,1} | clamp(z, t, z) -> f32[3,5]{0,1} | copy(tile) -> f32[170,160]{1,0:T(8,128)}
    real(c) -> f32[3,5]{1,0} | imag(x) -> f32[3,5]{1,0} | complex(t, x) -> c64[3,5]{0,1} | reduce-precision(t), exponent_bits=5, mantissa_bits=2 -> f32[3,5]{0,1}
    transpose(x), dimensions={1,0} -> f32[5,3]{0,1} | transpose(t), dimensions={1,0} -> f32[5,3]{1,0} | transpose(tile), dimensions={1,0} -> f32[160,170]{0,1:T(8,128)}
    transpose(di), dimensions={1,2,0} -> f32[3,5,2]{1,0,2} | transpose(z), dimensions={} -> f32[] | reverse(t), dimensions={1} -> f32[3,5]{0,1}
    slice(t), slice={[0:2],[1:5:2]} -> f32[2,2]{1,0} | pad(t, z), padding=1_1x0_-1_2 -> f32[5,12]{1,0} | pad(tile, z), padding=1_1x0_0 -> f32[172,160]{1,0}
    concatenate(t, x), dimensions={0} -> f32[6,5]{1,0} | dynamic-slice(t, k, k), dynamic_slice_sizes={1,2} -> f32[1,2]{1,0} | dynamic-update-slice(t, w1, k, k) -> f32[3,5]{0,1}
    gather(x, g), offset_dims={0}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,5} -> f32[5,2]{1,0}
    gather(x, g), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3} -> f32[2,3]{1,0}
    scatter(x, ro, up), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add -> f32[3,5]{1,0}
    reduce(x, z), dimensions={1}, to_apply=add -> f32[3]{0} | reduce(t, z), dimensions={}, to_apply=add -> f32[3,5]{1,0} | reduce(x, z), dimensions={1,0}, to_apply=add -> f32[]
    reduce(x, i, z, k), dimensions={1}, to_apply=two -> (f32[3]{0}, s32[3]{0}) | reduce-window(x, z), window={size=2x3 stride=1x2 pad=0_0x1_0}, to_apply=add -> f32[2,2]{1,0}
    reduce-window(x, i, z, k), window={size=2x2}, to_apply=two -> (f32[2,4]{1,0}, s32[2,4]{1,0}) | select-and-scatter(t, x, z), window={size=1x1}, select=lt, scatter=add -> f32[3,5]{0,1}
    dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} -> f32[3,7]{1,0} | dot(x, t), lhs_contracting_dims={1}, rhs_contracting_dims={1} -> f32[3,3]{1,0}
    dot(di, dj), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1} -> f32[2,3,7]{2,1,0} | dot(x, w) -> f32[3,5,3]{2,1,0}
    dot(x, h), lhs_contracting_dims={1}, rhs_contracting_dims={0} -> f32[3,7]{1,0} | dot(b, h), lhs_contracting_dims={1}, rhs_contracting_dims={0} -> bf16[3,7]{1,0}
    dot(q, qb), lhs_contracting_dims={1}, rhs_contracting_dims={0} -> s8[3,7]{1,0} | dot(i, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} -> f32[3,7]{1,0}
    scaled-dot(b, h, b, h), lhs_contracting_dims={1}, rhs_contracting_dims={0} -> bf16[3,7]{1,0}
    convolution(im, ke), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f -> f32[2,8,8,6]{3,2,1,0}
    convolution(im, ke), window={size=3x3 stride=2x1 lhs_dilate=1x2 rhs_dilate=2x1}, dim_labels=b01f_01io->fb01 -> f32[6,2,2,13]{3,2,1,0}
    map(t, x), dimensions={0,1}, to_apply=add -> f32[3,5]{1,0}
    tuple(t, i) -> (f32[3,5]{0,1}, s32[3,5]{1,0}) | get-tuple-element(tu), index=1 -> s32[] | opt-barrier(tu) -> (f32[3,5]{1,0}, s32[])
    fusion(t), kind=kLoop, calls=neg -> f32[3,5]{1,0} | call(t), to_apply=neg -> f32[3,5]{1,0}
    sort(t), dimensions={1}, to_apply=lt -> f32[3,5]{0,1} | sort(x, i), dimensions={1}, to_apply=lt2 -> (f32[3,5]{1,0}, s32[3,5]{1,0}) | sort(tile), dimensions={1}, to_apply=lt -> f32[170,160]{1,0:T(8,128)}
    while(t), condition=never, body=neg -> f32[3,5]{0,1} | conditional(p, x, t), true_computation=neg, false_computation=neg -> f32[3,5]{1,0}
    conditional(k, x, x), branch_computations={neg, neg} -> f32[3,5]{1,0} | cholesky(sq), lower=true -> f32[2,4,4]{2,1,0}
    triangular-solve(sq, sq), left_side=true, lower=true, transpose_a=NO_TRANSPOSE -> f32[2,4,4]{2,1,0}
    fft(c), fft_type=FFT, fft_length={5} -> c64[3,5]{1,0} | fft(c), fft_type=IFFT, fft_length={3,5} -> c64[3,5]{1,0} | fft(t), fft_type=RFFT, fft_length={5} -> c64[3,3]{0,1}
    fft(c), fft_type=IRFFT, fft_length={8} -> f32[3,8]{1,0} | fft(c), fft_type=IRFFT, fft_length={9} -> f32[3,9]{1,0} | topk(t), k=2, largest=true -> (f32[3,2]{1,0}, s32[3,2]{1,0})
    batch-norm-training(t, v, v), epsilon=0.1, feature_index=1 -> (f32[3,5]{0,1}, f32[5]{0}, f32[5]{0}) | batch-norm-inference(t, v, v, v, v), epsilon=0.1, feature_index=1 -> f32[3,5]{0,1}
    batch-norm-grad(x, w, w, w, x), epsilon=0.1, feature_index=0 -> (f32[3,5]{1,0}, f32[3]{0}, f32[3]{0}) | after-all() -> token[] | partition-id() -> u32[] | replica-id() -> u32[]
    get-dimension-size(x), dimensions={0} -> s32[] | set-dimension-size(t, k), dimensions={0} -> f32[<=3,5]{0,1} | add-dependency(t, k) -> f32[3,5]{0,1}
    domain(t), domain={kind="sharding", entry={maximal device=0}, exit={maximal device=1}} -> f32[3,5]{0,1}
    ragged-dot(x, rhs, gs), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0} -> f32[3,7]{1,0}
    ragged-dot(x, y, gs), lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={1}, rhs_group_dims={} -> f32[2,3,7]{2,1,0}
    ragged-dot(di, dj, gs), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={} -> f32[2,3,7]{2,1,0}
    """
# Ops for which XLA's parser refuses texts that are valid here: it demands a shape or other attributes.
ALONE = {"slice", "dynamic-slice", "dynamic-update-slice", "fusion", "opt-barrier", "reduce-precision", "scaled-dot"}

# The text of an op, and the message of its first error.
WRONG = """
    dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0} -> dot: expected the size 3 of dimension 0 of f32[3,5] in dimension 0 of f32[5,7] @ rhs_contracting
    dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={2} -> dot: expected dimensions from 0 to 1, found 2 @ rhs_contracting
    dot(x, tu), lhs_contracting_dims={1}, rhs_contracting_dims={0} -> dot: expected an array as operand 1, found (f32[3,5]{1,0}, s32[]) @ tu
    convolution(im, ke), window={size=3x2}, dim_labels=b01f_01io->b01f -> convolution: expected the kernel's size 3 in dimension 1 of the window, found 2 @ window
    convolution(im, ke), window={size=3x3}, dim_labels=b01f_01oi->b01f -> convolution: expected 6 input features, 6 of the kernel for each of 1 groups, found 4 in f32[2,8,8,4] @ im
    pad(x, k), padding=0_0x0_0 -> pad: expected the scalar f32[] as operand 1, found s32[] @ k)
    pad(x, z), padding=0_0 -> pad: expected padding for 2 dimensions, as operand 0 f32[3,5] has, found 1 @ padding
    transpose(x), dimensions={0} -> transpose: expected a permutation of 2 dimensions, found 1 @ dimensions
    reduce(x, z), dimensions={2}, to_apply=add -> reduce: expected dimensions from 0 to 1, found 2 @ dimensions
    reduce(x, i, z, k), dimensions={1}, to_apply=add -> reduce: expected 4 parameters of 'add', found 2 @ to_apply
    reduce-window(x, z), window={size=2}, to_apply=add -> reduce-window: expected a window of 2 dimensions, as operand 0 f32[3,5] has, found 1 @ window
    concatenate(x, y), dimensions={0} -> concatenate: expected f32[3,5] but for dimension 0 as operand 1, found f32[5,7] @ y)
    slice(x), slice={[0:4],[0:5]} -> slice: expected 0 <= start <= limit <= 3 in dimension 0, found [0:4] @ slice={
    gather(x, g), offset_dims={0}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,6} -> gather: expected a size from 0 to 5 in dimension 1, found 6 @ slice_sizes
    map(x, y), dimensions={0,1}, to_apply=add -> map: expected the dimensions of f32[3,5] as operand 1, found f32[5,7] @ y)
    sort(x, y), dimensions={1}, to_apply=lt2 -> sort: expected the dimensions of f32[3,5] as operand 1, found f32[5,7] @ y)
    sort(x), dimensions={2}, to_apply=lt -> sort: expected a dimension of f32[3,5], found 2 @ dimensions
    sort(x), dimensions={0,1}, to_apply=lt -> sort: expected one dimension in 'dimensions', found 2 @ dimensions
    sort(x, i), dimensions={1}, to_apply=lt -> sort: expected 4 parameters of 'lt', found 2 @ to_apply
    sort(x), dimensions={1}, to_apply=add -> sort: expected pred[] as the result of 'add' @ to_apply
    sort(x), to_apply=lt -> sort: expected the attribute 'dimensions' @ sort
    while(y), condition=never, body=neg -> while: expected f32[5,7]{1,0}, the shape of operand 0, as the parameter of 'never', found f32[3,5]{1,0} @ condition
    while(x), condition=neg, body=neg -> while: expected pred[] as the condition's result, found f32[3,5]{1,0} @ condition
    while(x), condition=never, body=never -> while: expected f32[3,5]{1,0}, the shape of operand 0, as the body's result, found pred[] @ body
    while(x, x), condition=never, body=neg -> while: expected 1 operand, found 2 @ while
    conditional(k, x, x), true_computation=neg, false_computation=neg -> conditional: expected the scalar pred[] as operand 0, found s32[] @ k,
    conditional(p, x), true_computation=neg, false_computation=neg -> conditional: expected 3 operands, found 2 @ conditional
    conditional(p, x, y), true_computation=neg, false_computation=neg -> conditional: expected f32[5,7]{1,0}, the shape of operand 2, as the parameter of 'neg', found f32[3,5]{1,0} @ false
    conditional(p, x, x), true_computation=neg, false_computation=never -> conditional: expected f32[3,5]{1,0}, the result of 'neg', as the result of 'never', found pred[] @ false
    cholesky(x) -> cholesky: expected square matrices as operand 0, found f32[3,5] @ x)
    triangular-solve(sq, x), transpose_a=NO_TRANSPOSE -> triangular-solve: expected f32 in as many matrices as operand 0 f32[2,4,4] has, of size 4 in dimension 1, as operand 1, found f32[3,5] @ x)
    triangular-solve(sq, sq), transpose_a=YES -> expected one of NO_TRANSPOSE, TRANSPOSE, ADJOINT, found 'YES' @ YES
    fft(x), fft_type=FFT, fft_length={5} -> fft: expected complex numbers as operand 0, found f32[3,5]{1,0} @ x)
    fft(x), fft_type=RFFT, fft_length={4} -> fft: expected the sizes 4 of the last dimensions, as 'fft_length' has, found f32[3,5] @ x)
    fft(c), fft_type=IRFFT, fft_length={7} -> fft: expected the sizes 4 of the last dimensions, as 'fft_length' has, found c64[3,5] @ c)
    fft(c), fft_type=DFT, fft_length={5} -> expected one of FFT, IFFT, RFFT, IRFFT, found 'DFT' @ DFT
    fft(c), fft_type=FFT, fft_length=5 -> expected '{' to open 'fft_length', found '5' @ 5
    fft(c), fft_type=FFT, fft_length={1,3,5} -> fft: expected lengths of 1 to 2 dimensions, found 3 @ fft_length
    topk(x), k=6 -> topk: expected a k of at most the last dimension of f32[3,5], found 6 @ k=
    topk(x), k={2} -> expected the integer of 'k', found '{' @ {2}
    batch-norm-training(x, w, v), epsilon=0.1, feature_index=1 -> batch-norm-training: expected f32[5], a number for each feature, as operand 1, found f32[3] @ w,
    batch-norm-training(x, v, v), epsilon=0.1, feature_index=2 -> batch-norm-training: expected a dimension of f32[3,5], found 2 @ feature_index
    batch-norm-grad(x, v, v, v, y), epsilon=0.1, feature_index=1 -> batch-norm-grad: expected f32[3,5] as operand 4, as operand 0 is, found f32[5,7] @ y)
    get-dimension-size(x), dimensions={2} -> get-dimension-size: expected a dimension of f32[3,5], found 2 @ dimensions
    set-dimension-size(x, z), dimensions={0} -> set-dimension-size: expected the scalar s32[] as operand 1, found f32[] @ z)
    ragged-dot(x, y, gs), lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={0} -> ragged-dot: expected 1 dimension in 'rhs_group_dims', as dimension 0 of operand 0 is kept, found 0 @ ragged
    ragged-dot(x, rhs, gs), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={2} -> ragged-dot: expected a dimension of 2 groups, as operand 2 s32[2] has, that is no batch and not contracted, found 2 of f32[2,5,7] @ rhs_group
    """

# Ops whose result shape must be given: it does not follow from operands and attributes, or the op communicates between
# devices or with the host, or the op consists of a start and a done op.
NEED_A_SHAPE = {
    "parameter", "constant", "iota", "broadcast", "reshape", "convert", "bitcast", "bitcast-convert", "dynamic-reshape",
    "rng", "rng-bit-generator", "rng-get-and-update-state", "stochastic-convert", "custom-call", "infeed", "outfeed", "recv", "recv-done", "send",
    "send-done", "scan", "optimization-barrier", "copy-start", "copy-done", "async-start", "async-update", "async-done", "collective-broadcast",
    *(op for op in opcodes.OPCODES if op.startswith(("all-", "collective-", "reduce-scatter", "ragged-all"))),
}  # fmt: skip

# `sett indexing` has no map for these ops, so it demands a shape.
NEVER_IN_C = {"sort", "conditional", "triangular-solve", "fft", "topk", "batch-norm-training", "batch-norm-inference", "batch-norm-grad",
              "after-all", "partition-id", "replica-id", "get-dimension-size", "ragged-dot"}

UPSTREAM = """
import json, sys
from jaxlib import _hlo
answers = []
for text in json.load(sys.stdin):
    try:
        answers.append(_hlo.hlo_module_from_text(text).to_string())
    except Exception as error:
        answers.append("error: " + str(error))
json.dump(answers, sys.stdout)
"""


def module(line: str) -> str:
    shapes = [f" {name} = {shape} parameter({n})\n" for n, (name, shape) in enumerate(PARAMETERS.items())]
    return HEAD + "".join(shapes) + " w1 = f32[1,2] slice(x), slice={[0:1], [0:2]}\n ROOT root = " + line + "\n}\n"


def rows(table: str) -> List[List[str]]:
    return [cell.strip().split(" -> ")
            for line in table.strip().splitlines() for cell in re.split(r" \| ", line)]


def good() -> Dict[str, str]:
    """Return texts with their inferred shapes: those of the table, and one for each elementwise op in
    opcodes.ELEMENTWISE.
    """
    table = dict(rows(GOOD))
    operands = {"p": "pr", "s": "i", "f": "t", "c": "c"}
    for row in opcodes.ELEMENTWISE.values():
        if row.result != "rule" and row.opcode not in ("real", "imag"):
            name = operands["f" if "f" in row.takes else "s"]
            dtype = {"pred": "pred"}.get(row.result, "f32" if name == "t" else "s32")
            layout = "{0,1}" if name == "t" else "{1,0}"
            table[f"{row.opcode}({', '.join([name] * row.arity)})"] = f"{dtype}[3,5]{layout}"
    return table


def opcode_of(text: str) -> str:
    return text.split("(")[0]


def root_shape(text: str) -> str:
    root = hlo.parse(text, "f.hlo").entry.root
    return str(root.shape.text)


class Inference(unittest.TestCase):
    def test_shapes(self) -> None:
        for text, shape in good().items():
            with self.subTest(text):
                self.assertEqual(root_shape(module(text)), shape)
                written = shape + " " + text
                if "<=" not in shape:
                    self.assertEqual(root_shape(module(written)), shape)

    def test_contradictions(self) -> None:
        for text, message in rows(WRONG):
            expected, at = message.split(" @ ")
            with self.subTest(text), self.assertRaises(hlo.HloError) as caught:
                hlo.parse(module(text), "f.hlo")
            error = caught.exception
            self.assertEqual(error.message, expected, text)
            line = module(text).splitlines()[error.line - 1]
            self.assertTrue(line[error.col - 1:].startswith(at), (text, line[error.col - 1:]))

    def test_every_op(self) -> None:
        """Each opcode is in one of the tables. An op whose text must state its shape is refused without it."""
        known = {opcode_of(text) for text in good()}
        self.assertEqual(known | NEED_A_SHAPE, set(opcodes.OPCODES))
        self.assertEqual(known & NEED_A_SHAPE, set())
        attributes = {"rng-bit-generator": "algorithm=rng_philox", "iota": "iota_dimension=0", "broadcast": "dimensions={0}"}
        for opcode in sorted(NEED_A_SHAPE - {"parameter", "constant"}):
            operands = "" if opcode == "iota" else "x"
            with self.subTest(opcode), self.assertRaises(hlo.HloError) as caught:
                hlo.parse(module(f"{opcode}({operands})" + (", " + attributes[opcode]
                                                            if opcode in attributes else "")), "f.hlo")
            self.assertEqual(caught.exception.message, f"expected a shape before '{opcode}': it cannot be inferred")

    def test_upstream_infers_the_same(self) -> None:
        if not importlib.util.find_spec("jaxlib"):
            self.skipTest("no jaxlib, whose parser would be asked")
        texts = [text for text in good() if opcode_of(text) not in ALONE]
        kinds = [d for d in dtypes.TABLE if d not in ("s1", "u1", "f8e8m0fnu", "f6e2m3fn", "f6e3m2fn")
                 and not d.endswith("fnuz")]
        pairs = ["HloModule m\nENTRY e {\n" + f" x = {a}[3,5] parameter(0)\n y = {b}[5,7] parameter(1)\n ROOT root = "
                 "dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n"
                 for a, b in itertools.product(kinds, kinds)]
        modules = [module(text) for text in texts] + pairs
        asked = subprocess.run([sys.executable, "-c", UPSTREAM], input=json.dumps(modules), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(asked.returncode, 0, asked.stderr[-2000:])
        answers = json.loads(asked.stdout)
        self.assertEqual(len(answers), len(modules))
        for text, answer in zip(modules, answers):
            if "reduce-window(x, i" in text:    # XLA's parser accepts only one operand here
                self.assertIn("must take 2 parameters", answer)
                continue
            found = re.search(r"ROOT %root = (.*?) [a-z0-9-]+\(", answer)
            self.assertTrue(found, (text[-200:], answer[:400]))
            self.assertEqual(root_shape(text), found.group(1) if found else "", text[-200:])

    def test_the_command_infers_the_same(self) -> None:
        """`sett indexing` gives equal maps for an op with its shape and without."""
        with tempfile.TemporaryDirectory() as work:
            for text, shape in good().items():
                if opcode_of(text) in NEVER_IN_C or "<=" in shape:
                    continue
                said = []
                for line in (text, f"{shape} {text}"):
                    (Path(work) / "m.hlo").write_text(module(line))
                    done = subprocess.run(["build/sett", "indexing", str(Path(work) / "m.hlo")], stdout=subprocess.PIPE,
                                          stderr=subprocess.STDOUT, text=True, check=False)
                    said.append((done.returncode, done.stdout))
                self.assertEqual(said[0], said[1], text)

    def test_benchmarks_of_upstream(self) -> None:
        if not PEER.is_dir():
            self.skipTest(f"no {PEER}")
        bare = 0
        for path in sorted(PEER.glob("*.hlo")):
            bare += bool(re.search(r"= (?:dot|convolution|pad|reduce|transpose)\(", path.read_text()))
            hlo.parse(path.read_text(), path.name)
        self.assertGreater(bare, 15)


if __name__ == "__main__":
    unittest.main()
