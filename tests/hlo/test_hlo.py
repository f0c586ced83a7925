"""Test the HLO reader: the forms of the text, the checks of each op, errors with their positions, printing, fusions and
steps.
"""

import ast
import random
import re
import time
import unittest
from collections import Counter
from pathlib import Path
from typing import Optional

import refused
from gen import hlo
from gen.hlo import dtypes, opcodes, refusals

ROOT = Path(__file__).resolve().parents[2]
PEER = ROOT.parent / "shared" / "peer"
BAD = ROOT / "tests" / "hlo" / "bad"
ADD = "add {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b)\n}\n"


def parse(text: str) -> hlo.Module:
    return hlo.parse(text, "file.hlo")


def body(*lines: str, before: str = "") -> hlo.Module:
    return parse(before + "f {\n" + "\n".join(lines) + "\n}\n")


def fault(text: str) -> str:
    """Return LINE:COL: message for the error in a text, or "" if there is none."""
    try:
        parse(text)
    except hlo.HloError as error:
        return f"{error.line}:{error.col}: {error.message}"
    return ""


def again(module: hlo.Module) -> str:
    """Print a module and read it again. Return the difference between the graphs."""
    return hlo.difference(module, hlo.parse(hlo.print_module(module), module.filename))


class Floor(unittest.TestCase):
    def test_imports(self) -> None:
        """The reader imports only gen.algebra, gen.suggest and its own files of gen."""
        for path in sorted((ROOT / "gen" / "hlo").glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ImportFrom):
                    names = [f"{node.module}.{alias.name}" for alias in node.names]
                    self.assertEqual(node.level, 0, path.name)
                else:
                    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                for name in names:
                    self.assertTrue(name.split(".")[0] != "gen" or name.startswith(("gen.hlo.", "gen.algebra", "gen.suggest")), f"{path.name} imports {name}")


class Forms(unittest.TestCase):
    """Different texts of one graph are read as the same graph."""

    PLAIN = "p = f32[2,3] parameter(0)\n c = f32[] constant(2)\n b = f32[2,3] broadcast(c), dimensions={}\n ROOT r = f32[2,3] multiply(p, b)"

    def same(self, text: str) -> None:
        plain, other = body(self.PLAIN).computations[-1], parse(text).computations[-1]
        self.assertEqual([hlo.instruction_key(i) for i in plain.instructions], [hlo.instruction_key(i) for i in other.instructions])
        self.assertEqual(plain.root.name, other.root.name)

    def test_headers(self) -> None:
        for header in ("", "HloModule m\n", "HloModule m:\n", "HloModule jit_f.12, is_scheduled=true, "
                       "entry_computation_layout={(f32[2,3]{1,0})->f32[2,3]{1,0}}, replica_count=1,\n  input_output_alias={ {0}: (0, {}, may-alias) }\n"):
            self.same(header + "f {\n" + self.PLAIN + "\n}\n")

    def test_computations(self) -> None:
        for head in ("f", "%f", "ENTRY f", "ENTRY %f", "f (x: f32[2,3]) -> f32[2,3]", "ENTRY %f.1_-a (p: f32[2,3]{1,0}) -> f32[2,3]{1,0}"):
            self.same(head + " {\n" + self.PLAIN + "\n}\n")
        self.same("f {\n" + self.PLAIN + "\n}, execution_thread=\"main\"\n")
        self.same("f {\n" + self.PLAIN.replace("ROOT ", "") + "\n}\n")
        self.same("f {" + self.PLAIN.replace("\n", " ") + "}")
        self.same("f {\r\n" + self.PLAIN.replace("\n", "\r\n") + "\r\n}\r\n")

    def test_operands(self) -> None:
        self.same("f {\n" + self.PLAIN.replace("multiply(p, b)", "multiply(f32[2,3]{1,0} %p, f32[2,3] %b)") + "\n}\n")
        self.same("f {\n" + self.PLAIN.replace("r = f32[2,3] mul", "r = mul") + "\n}\n")
        self.same("f {\n" + self.PLAIN.replace("p = f32[2,3]", "%p = f32 [ 2 , 3 ] { 1 , 0 }") + "\n}\n")

    def test_comments(self) -> None:
        self.same("// one\nf { // two {\n" + self.PLAIN.replace(" ", " /* a } * / \" // */ ") + "\n}\n// last")

    def test_tables_of_sources_are_skipped(self) -> None:
        tables = "\nFileNames\n1 \"a, {b}.py\"\n\nFunctionNames\n1 \"<module>\"\n2 \"f\"\n\nFileLocations\n" \
                 "1 {file_name_id=1 function_name_id=2 line=4 end_line=4 column=8 end_column=9}\n\n" \
                 "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\n\n"
        for newline in ("\n", "\r\n"):
            self.same(("HloModule m, is_scheduled=true\n" + tables + "f {\n" + self.PLAIN + "\n}\n").replace("\n", newline))
        self.same("HloModule m\n\nStackFrames {\n" + self.PLAIN + "\n}\n")  # a computation may be named StackFrames
        with self.assertRaises(hlo.HloError):
            hlo.parse("HloModule m\n\nFileNames\nx \"a.py\"\n\nf {\n" + self.PLAIN + "\n}\n", "t.hlo")

    def test_attributes_that_are_skipped(self) -> None:
        extra = ", metadata={op_type=\"mul\" op_name=\"jit(f)/mul\" source_file=\"a,b}.py\" source_line=7}, " \
                "backend_config={\"a\":[\"16\", {\"b\": null}], \"c\":\"}\\\"\"}, sharding={devices=[2,1]<=[2]}, " \
                "frontend_attributes={x=\"y\"}, control-predecessors={%p, c}, statistics={visualizing_index=0,a=0.5}, origin={{\"x\"}}"
        module = body(self.PLAIN + extra)
        self.assertEqual(again(module), "")
        self.assertEqual(sorted(module.entry.root.attributes["raw"]), sorted(
            ["metadata", "backend_config", "sharding", "frontend_attributes", "control-predecessors", "statistics", "origin"]))
        collective = body(" p = f32[8] parameter(0)",
                          " ROOT r = f32[4] reduce-scatter(p), channel_id=1, replica_groups=[2,4]<=[4,2]T(1,0), use_global_device_ids=true, "
                          "dimensions={0}, to_apply=add", before=ADD)
        self.assertEqual(again(collective), "")
        self.assertEqual([c.name for c in collective.entry.root.called], ["add"])

    def test_written_inline(self) -> None:
        module = body("p = f32[4] parameter(0)", "ROOT r = add(p, f32[4] multiply(f32[4] p, negate(p)))")
        self.assertEqual([i.opcode for i in module.entry.instructions], ["parameter", "negate", "multiply", "add"])
        self.assertEqual(again(module), "")
        module = body("p = f32[4] parameter(0)", "z = f32[] constant(0)",
                      "ROOT r = f32[] reduce(p, z), dimensions={0}, to_apply={", "p = f32[] parameter(0)", "q = f32[] parameter(1)",
                      "ROOT s = f32[] add(p, q) }")
        self.assertEqual(len(module.computations), 2)
        self.assertEqual(module.entry.name, "f")
        self.assertEqual(again(module), "")

    def test_positions(self) -> None:
        root = parse("f {\n  p = f32[2] parameter(0)\n  ROOT  %r = f32[2] negate(p)\n}").entry.root
        self.assertEqual((root.line, root.col), (3, 9))


class Literals(unittest.TestCase):
    def test_values(self) -> None:
        table = [
            ("f32[]", "0.1", [0x3DCCCCCD]), ("f32[]", "-inf", [0xFF800000]), ("f32[]", "nan", [0x7FC00000]), ("f32[]", "-nan", [0xFFC00000]),
            ("f32[]", "nan(0x7)", [0x7F800007]), ("f32[]", "3", [0x40400000]), ("f32[]", "-0", [0x80000000]), ("bf16[]", "0.79785", [0x3F4C]),
            ("f16[]", "65504", [0x7BFF]), ("f64[]", "1e-5", [dtypes.encode(1e-5, "f64")]), ("pred[]", "true", [1]), ("pred[2]", "{0, 1}", [0, 1]),
            ("s8[2]", "{-128, 127}", [0x80, 0x7F]), ("u64[]", "18446744073709551615", [(1 << 64) - 1]), ("s64[]", "-9223372036854775808", [1 << 63]),
            ("s32[2,3]", "{ {1, 2, 3}, /*i0=1*/ {4, 5, 6} }", [1, 2, 3, 4, 5, 6]), ("s32[2,1,2]{0,1,2}", "{{{1,2}},{{3,4}}}", [1, 2, 3, 4]),
            ("f32[]{}", "1", [0x3F800000]), ("f32[0]", "{}", []), ("f32[2,0]", "{{}, {}}", []), ("f32[0,2]", "{ }", []), ("s8[3]", "7", [7, 7, 7]),
            ("c64[]", "(1, -2)", [0x3F800000 | 0xC0000000 << 32]), ("(s32[], f32[2])", "(1, {2, 3})", [1, 0x40000000, 0x40400000]),
        ]
        for shape, text, bits in table:
            module = body(f"ROOT c = {shape} constant({text})")
            self.assertEqual(module.entry.root.literal, bits, (shape, text))
            self.assertEqual(again(module), "", (shape, text))

    def test_left_out(self) -> None:
        module = body("ROOT c = f32[1000] constant({...})")
        self.assertIsNone(module.entry.root.literal)
        self.assertEqual(again(module), "")
        self.assertIn("left out", str(hlo.unsupported(module)))

    def test_large(self) -> None:
        module = body(f"ROOT c = s32[100,100] constant({{{', '.join('{' + ', '.join(str(i * j) for j in range(100)) + '}' for i in range(100))}}})")
        self.assertEqual(module.entry.root.literal, [i * j for i in range(100) for j in range(100)])
        self.assertEqual(again(module), "")


class Checks(unittest.TestCase):
    """Each op is accepted with operands that fit and refused with others. In the texts, %a and %b are f32[4,8], %i
    s32[4,8], %u u32[4,8], %p pred[4,8], %z f32[], %q pred[], %t (f32[4,8], s32[2]).
    """

    NAMES = [("a", "f32[4,8]"), ("b", "f32[4,8]"), ("i", "s32[4,8]"), ("u", "u32[4,8]"), ("p", "pred[4,8]"), ("z", "f32[]"), ("q", "pred[]"),
             ("t", "(f32[4,8], s32[2])"), ("x", "c64[4,8]"), ("h", "f16[8]")]

    GOOD = """
        f32[4,8] add(a, b) | s32[4,8] subtract(i, i) | pred[4,8] multiply(p, p) | f32[4,8] atan2(a, b) | u32[4,8] xor(u, u) | pred[4,8] and(p, p)
        s32[4,8] shift-left(i, i) | f32[4,8] sqrt(a) | s32[4,8] abs(i) | f32[4,8] abs(x) | u32[4,8] negate(u) | pred[4,8] not(p) | s32[4,8] popcnt(i)
        pred[4,8] is-finite(a) | c64[4,8] exponential(x) | f32[4,8] round-nearest-even(a) | s32[4,8] sign(i) | u32[4,8] count-leading-zeros(u)
        pred[4,8] compare(a, b), direction=LT | pred[4,8] compare(a, b), direction=GE, type=TOTALORDER | pred[4,8] compare(i, i), direction=EQ, type=SIGNED
        f32[4,8] select(p, a, b) | f32[4,8] select(q, a, b) | f32[4,8] clamp(z, a, z) | f32[4,8] clamp(b, a, b) | s32[4,8] convert(a) | pred[4,8] convert(i)
        f32[4,8]{0,1} copy(a) | f32[4,8] reduce-precision(a), exponent_bits=8, mantissa_bits=7 | s32[4,8] bitcast-convert(a) | s8[4,8,4] bitcast-convert(a)
        f32[4] bitcast-convert(h), control-predecessors={} @ | s32[4,8] iota(), iota_dimension=1 | f32[2,4,8] broadcast(a), dimensions={1,2}
        f32[8,2,4] broadcast(a), dimensions={2,0} | f32[3] broadcast(z) | f32[8,4] transpose(a), dimensions={1,0} | f32[2,16] reshape(a) | f32[32]{0} bitcast(a)
        s32[8,4]{0,1} bitcast(a) | u16[4,16] bitcast(a) | f32[2,3] slice(a), slice={[1:3], [0:8:3]} | f32[4,8] reverse(a), dimensions={0,1} | f32[0,8] slice(a), slice={[2:2], [0:8]}
        f32[7,8] pad(a, z), padding=0_0_1x0_0 | f32[5,6] pad(a, z), padding=0_1x-1_-1 | f32[8,8] concatenate(a, b), dimensions={0} | f32[4,8] concatenate(a), dimensions={1}
        (f32[4,8], f32[]) tuple(a, z) | () tuple() | s32[2] get-tuple-element(t), index=1 | f32[4] reduce(a, z), dimensions={1}, to_apply=add
        f32[] reduce(a, z), dimensions={1,0}, to_apply=add | f32[4,8] reduce(a, z), dimensions={}, to_apply=add | f32[4,8] map(a, b), dimensions={0,1}, to_apply=add
        f32[] call(z, z), to_apply=add | f32[] fusion(z, z), kind=kLoop, calls=add | f32[4,8]{0,1} negate(a) | f32[4,8] erf(a) | f32[] pad(z, z), padding=
        (f32[4], s32[4]) reduce(a, i, z, f0), dimensions={1}, to_apply=both | f32[4,4] scaled-dot(a, b, a, b), lhs_contracting_dims={1}, rhs_contracting_dims={1}
        """

    WRONG = """
        f32[4,8] add(a, i) | f32[4,8] add(a, z) | f32[8,4] add(a, b) | s32[4,8] add(a, b) | f32[4,8] add(a, b, b) | f32[4,8] add(t, t) | f32[4,8] and(a, b) | s32[4,8] atan2(i, i)
        f32[4,8] shift-left(a, b) | pred[4,8] shift-left(p, p) | s32[4,8] sqrt(i) | s32[4,8] floor(i) | c64[4,8] floor(x) | f32[4,8] not(a) | pred[4,8] negate(p) | u32[4,8] abs(u)
        u32[4,8] sign(u) | f32[4,8] is-finite(a) | pred[4,8] is-finite(i) | f32[4,8] popcnt(a) | c64[4,8] abs(x) | f32[4,8] compare(a, b), direction=LT
        pred[4,8] compare(a, b) | pred[4,8] compare(a, i), direction=LT | pred[4,8] compare(i, i), direction=LT, type=UNSIGNED | pred[4,8] compare(x, x), direction=LT
        f32[4,8] select(a, a, b) | f32[4,8] select(p, a, i) | f32[4,8] select(p, a) | f32[4,8] clamp(i, a, i) | f32[4,8] clamp(h, a, h) | f32[4] convert(a) | f32[4,8] convert(x)
        f32[8,4] copy(a) | s32[4,8] copy(a) | f32[4,8] reduce-precision(a), exponent_bits=0, mantissa_bits=7 | f32[4,8] reduce-precision(a), exponent_bits=8 | s64[4,4] bitcast-convert(a)
        s16[4,8] bitcast-convert(a) | s32[4,8] iota(), iota_dimension=2 | s32[4,8] iota(a), iota_dimension=0 | pred[2] iota(), iota_dimension=0 | s32[] iota(), iota_dimension=0
        f32[2,4,8] broadcast(a), dimensions={0,1} | f32[4,8] broadcast(a) | f32[4,4] broadcast(a), dimensions={0,0} | f32[4,8] broadcast(a), dimensions={0,2} | s32[3] broadcast(z)
        f32[4,8] transpose(a), dimensions={1,0} | f32[8,4] transpose(a), dimensions={1} | f32[8,4] transpose(a), dimensions={1,-1} | f32[3,16] reshape(a) | s32[32] reshape(a)
        f32[33] bitcast(a) | f16[32] bitcast(a) | f32[2,3] slice(a), slice={[3:1], [0:8:3]} | f32[5,8] slice(a), slice={[0:5], [0:8]} | f32[4,9] slice(a), slice={[0:4], [-1:8]}
        f32[2,3] slice(a), slice={[1:3]} | f32[4,8] slice(a), slice={[0:4], [0:8:0]} | f32[4,8] reverse(a), dimensions={0,0} | f32[4,8] reverse(a), dimensions={2} | f32[4,8] pad(a, z), padding=0_0
        f32[4,8] pad(a, b), padding=0_0x0_0 | f32[4,8] pad(i, z), padding=0_0x0_0 | f32[0,8] pad(a, z), padding=-5_0x0_0 | f32[4,8] pad(a, z), padding=0_0_-1x0_0 | f32[9,8] pad(a, z), padding=0_4x0_0
        f32[8,8] concatenate(a, i), dimensions={0} | f32[8,8] concatenate(a, h), dimensions={0} | f32[8,8] concatenate(a, b), dimensions={0,1} | f32[] concatenate(z, z), dimensions={0}
        f32[8,8] concatenate(), dimensions={0} | (f32[4,8], s32[]) tuple(a, z) | f32[4,8] tuple(a) | s32[2] get-tuple-element(t), index=0 | s32[2] get-tuple-element(t), index=2
        s32[2] get-tuple-element(a), index=0 | f32[8] reduce(a, z), dimensions={1}, to_apply=add | f32[4] reduce(a, z), dimensions={2}, to_apply=add | f32[4] reduce(a, z), dimensions={1,1}, to_apply=add
        f32[4] reduce(a, h), dimensions={1}, to_apply=add | s32[4] reduce(i, f0), dimensions={1}, to_apply=add | f32[4] reduce(a, z), dimensions={1}, to_apply=both | f32[4] reduce(a, z), dimensions={1}
        f32[4] reduce(a, b, z), dimensions={1}, to_apply=add | (f32[4]) reduce(a, z), dimensions={1}, to_apply=add | (f32[4], s32[4]) reduce(a, h, z, f0), dimensions={1}, to_apply=both
        f32[4,8] map(a, h), dimensions={0,1}, to_apply=add | f32[4,8] map(a, b), dimensions={0,0}, to_apply=add | f32[4,8] map(a), dimensions={0,1}, to_apply=add | f32[] call(z), to_apply=add
        f32[4,4] scaled-dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={1} | f32[4,4] scaled-dot(a, b, z, b), lhs_contracting_dims={1}, rhs_contracting_dims={1}
        f32[8,8] scaled-dot(a, b, a, b), lhs_contracting_dims={1}, rhs_contracting_dims={1} | f32[2] scaled-dot(h2, h, h2, h), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        f32[4,8,8] scaled-dot(h, a, h, h2)
        f32[] fusion(z, a), kind=kLoop, calls=add | f32[2] fusion(z, z), kind=kLoop, calls=add | f32[] fusion(z, z), calls=add | f32[] fusion(z, z), kind=kLoop | f32[4,8] negate(nothing)
        """

    BOTH = "both {\n a = f32[] parameter(0)\n i = s32[] parameter(1)\n b = f32[] parameter(2)\n j = s32[] parameter(3)\n s = f32[] add(a, b)\n" \
           " k = s32[] add(i, j)\n ROOT t = (f32[], s32[]) tuple(s, k)\n}\n"

    def text(self, line: str) -> str:
        if line.endswith(" @"):  # replaced by a bitcast-convert of pairs of f16
            line = "f32[4] bitcast-convert(h2)"
        lines = [f" {name} = {shape} parameter({number})" for number, (name, shape) in enumerate(self.NAMES)]
        lines += [" f0 = s32[] constant(0)", " h2 = f16[4,2] reshape(h)", f" ROOT root = {line}"]
        return ADD + self.BOTH + "f {\n" + "\n".join(lines) + "\n}\n"

    def rows(self, table: str) -> "list[str]":
        return [cell.strip() for line in table.strip().splitlines() for cell in line.split(" | ")]

    def test_good(self) -> None:
        for row in self.rows(self.GOOD):
            self.assertEqual(fault(self.text(row)), "", row)
            self.assertEqual(again(parse(self.text(row))), "", row)

    def test_wrong(self) -> None:
        for row in self.rows(self.WRONG):
            message = fault(self.text(row))
            self.assertRegex(message, r"^\d+:\d+: .*expected", row)
            self.assertEqual(int(message.split(":")[0]), self.text(row).count("\n") - 1, row)

    def test_inferred_shapes(self) -> None:
        """If an op determines the shape of its result, the text may leave the shape out, and the reader infers
        the same shape.
        """
        needed = {"convert", "iota", "broadcast", "reshape", "bitcast", "bitcast-convert"}
        for row in self.rows(self.GOOD):
            opcode = row.split("(")[1 if row.startswith("(") else 0]
            short = row[row.index(")") + 2:] if row.startswith("(") else row.split(" ", 1)[1]
            opcode = short.split("(")[0]
            if row.endswith(" @"):
                continue
            if opcode in needed:
                self.assertIn("expected a shape before", fault(self.text(short)), row)
            else:
                have, want = parse(self.text(short)).entry.root.shape, parse(self.text(row)).entry.root.shape
                self.assertTrue(hlo.same_shape(have, want), row)


class Faults(unittest.TestCase):
    def test_bad_files(self) -> None:
        """Each file of tests/hlo/bad states its error in its first line."""
        files = sorted(BAD.glob("*.hlo"))
        self.assertGreater(len(files), 100)
        for path in files:
            text = path.read_bytes().decode("utf-8", "replace")
            self.assertEqual(fault(text), text.split("\n", 1)[0][len("// expect: "):], path.name)

    def test_error_text(self) -> None:
        with self.assertRaises(hlo.HloError) as caught:
            hlo.parse("f {\n", "some/file.hlo")
        self.assertTrue(str(caught.exception).startswith("some/file.hlo:2:1: expected an instruction"))

    def test_mixed_up_shape_is_judged_by_the_headers(self) -> None:
        self.assertRegex(fault("f {\n p = (f32[2],\n   /* x */ f32[3]{1,0}) parameter(0)\n}"), r"^3:19: ")

    def sources(self) -> "list[str]":
        texts = [ADD + Checks.BOTH + "HloModule m"]
        texts += [Checks().text(row) for row in Checks().rows(Checks.GOOD)[::4]]
        if PEER.is_dir():
            texts += [path.read_text() for path in sorted(PEER.glob("seeds/*.hlo")) + sorted(PEER.glob("hlo/loop/*.hlo"))]
        return texts

    def only_faults(self, text: str) -> bool:
        try:
            module = parse(text)
        except hlo.HloError as error:
            self.assertTrue(1 <= error.line <= text.count("\n") + 1 and error.col >= 1, text)
            return False
        self.assertEqual(again(module), "", text)
        if hlo.unsupported(module) is None:
            hlo.steps(module)
        return True

    def test_truncated_anywhere(self) -> None:
        for text in self.sources():
            for end in range(0, min(len(text), 2500), 11):
                self.only_faults(text[:end])

    def test_mutated_anywhere(self) -> None:
        random.seed(6)
        words = ["{", "}", "(", ")", "[", "]", ",", "=", "%", '"', "/*", "//", "-1", "0", "99999999999999999999", "f32[", "{1,0}", "ROOT ",
                 "ENTRY ", "nan", "...", "\0", "\u00e9", "s32[3]", "<=", "?", "dimensions={0}", "\n", "parameter(0)", "{0:T(8)}", "token[]"]
        texts, read = self.sources(), 0
        for _ in range(1200):
            text = random.choice(texts)
            for _ in range(random.randint(1, 3)):
                at, cut = random.randrange(len(text) + 1), random.choice([0, 0, 1, 3])
                text = text[:at] + (random.choice(words) if random.random() < 0.8 else "") + text[at + cut:]
            read += self.only_faults(text)
        self.assertGreater(read, 0)


class Scale(unittest.TestCase):
    def test_many_instructions(self) -> None:
        """Reading takes linear time: 17,000 instructions with metadata take about four times as long as 4,250."""
        random.seed(7)

        def seconds(count: int) -> float:
            lines = ["p.0 = f32[128,1024]{1,0} parameter(0)"]
            for k in range(1, count):
                a, b = random.randrange(max(0, k - 60), k), random.randrange(max(0, k - 60), k)
                lines.append(f"%p.{k} = f32[128,1024]{{1,0}} add(f32[128,1024]{{1,0}} %p.{a}, negate(p.{b})), metadata={{op_name=\"x{k}\"}}")
            start = time.process_time()
            module = body(*lines)
            self.assertEqual(len(module.entry.instructions), 2 * count - 1)
            return time.process_time() - start

        seconds(100)
        short, long = seconds(4250), seconds(17000)
        self.assertLess(long, 12 * short)

    def test_deep_and_long(self) -> None:
        self.assertEqual(fault("f {\n ROOT p = f32[4] parameter(0), metadata=" + "{" * 100000 + "}" * 100000 + "\n}"), "")
        self.assertEqual(fault("f {\n p = f32[4] {" + " /* x */ " * 20000 + "%x\n}"), "2:13: expected an opcode, found '{'")
        tuples = "".join(f" t{k + 1} = tuple(t{k})\n" for k in range(3000))
        self.assertIn("tuples nested at most", fault("f {\n t0 = f32[] parameter(0)\n" + tuples + "}"))
        self.assertIn("tuples nested at most", fault("f {\n t0 = f32[] parameter(0)\n" + tuples.replace("tuple(t", "tuple(t0, t") + "}"))
        doubled = "".join(f" t{k + 1} = tuple(t{k}, t{k})\n" for k in range(60))
        self.assertIn("1048576 characters", fault("f {\n t0 = f32[] parameter(0)\n" + doubled + "}"))
        self.assertIn("tuples nested at most 64 deep", fault("f {\n p = " + "(" * 100000 + ")" * 100000))
        self.assertIn("2:100005", fault("f {\n p = " + "(" * 100000))
        self.assertIn("operands nested at most 64 deep", fault("f {\n p = f32[] parameter(0)\n r = " + "negate(" * 100000))
        self.assertIn("expected", fault("f {\n p = f32[] constant(" + "{" * 100000))
        self.assertIn("computations nested at most 32 deep", fault("f {\n" + "r = f32[] call(), to_apply={\n" * 100000))
        chain = "c0 {\n p = f32[] parameter(0)\n}\n" + "".join(
            f"c{k} {{\n p = f32[] parameter(0)\n r = f32[] call(p), to_apply=c{k - 1}\n}}\n" for k in range(1, 300))
        self.assertIn("at most 128 deep", fault(chain))

    def test_inlining_is_bounded(self) -> None:
        text = "c0 {\n p = f32[] parameter(0)\n n = f32[] negate(p)\n}\n" + "".join(
            f"c{k} {{\n p = f32[] parameter(0)\n a = f32[] call(p), to_apply=c{k - 1}\n b = f32[] call(a), to_apply=c{k - 1}\n}}\n" for k in range(1, 60))
        with self.assertRaises(hlo.HloError) as caught:
            hlo.fusions(parse(text))
        self.assertIn("more than 200000 instructions", str(caught.exception))


CONVERT = "; instead, convert the operands before it, or the result after it"
LARGEST = "; instead, write the largest size, and pass the true one as a parameter"
ARRAYS = "; instead, cut the module so that it takes and gives arrays alone"


class Unsupported(unittest.TestCase):
    """Modules that can be read but not compiled are refused with a position and a reason."""

    def reason(self, *lines: str, before: str = "") -> str:
        error = hlo.unsupported(body(*lines, before=before))
        return f"{error.line}:{error.col}: {error.message}" if error else ""

    def test_reasons(self) -> None:
        p = " p = f32[4] parameter(0)"
        table = [
            ([p, " r = s32[] dot(p, p), lhs_contracting_dims={0}, rhs_contracting_dims={0}"], "3:2: 'dot': expected numbers of one kind (floats, integers, "
             "complex ones of one type, pred) for operands and result, found f32 and f32 that give s32" + CONVERT),
            ([p, " c = c64[4] convert(p)", " r = c64[] dot(p, c), lhs_contracting_dims={0}, rhs_contracting_dims={0}"], "4:2: 'dot': expected numbers of "
             "one kind (floats, integers, complex ones of one type, pred) for operands and result, found f32 and c64 that give c64" + CONVERT),
            ([" c = c64[4] parameter(0)", " r = c64[] scaled-dot(c, c, c, c), lhs_contracting_dims={0}, rhs_contracting_dims={0}"], "3:2: 'scaled-dot': expected "
             "numbers of one kind (floats, integers, pred) for operands and result, found c64, c64, c64 and c64 that give c64" + CONVERT),
            ([" p = f32[1,4] parameter(0)", " r = pred[1,1] convolution(p, p), dim_labels=bf_oi->bf"], "3:2: 'convolution': expected numbers of one kind "
             "(floats, integers, complex ones of one type, pred) for operands and result, found f32 and f32 that give pred" + CONVERT),
            ([" p = f6e3m2fn[4] parameter(0)"], "2:2: 'parameter': expected a type of which a byte holds a whole number of elements, found 'f6e3m2fn', in f6e3m2fn[4]{0}; "
             "instead, write f8e4m3fn, which holds its values"),
            ([" p = s4[4]{0:T(8)(2)E(4)} parameter(0)"], "2:2: 'parameter': expected a layout without tiles for s4, in s4[4]{0:T(8)(2)E(4)}; "
             "instead, leave 'T(8)(2)E(4)' out, or convert to another type outside"),
            ([" p = s4[4]{0:E(2)} parameter(0)"], "2:2: 'parameter': expected elements of 4 bits, as s4 has them in memory, found 'E(2)', in s4[4]{0:E(2)}; "
             "instead, leave 'E(2)' out of the layout"),
            ([p, " c = s4[4] convert(p)", " ROOT r = s8[2] bitcast(c)"], ""),
            ([p, " ROOT r = s8[4,4] bitcast-convert(p)"], ""),
            ([" p = f32[4,8]{1,0:T(2,4)SC(0:2)} parameter(0)"], "2:2: 'parameter': expected an array in one memory, to which a kernel has one pointer, found one that 'SC(0:2)' splits over several, "
             "in f32[4,8]{1,0:T(2,4)SC(0:2)}; instead, leave 'SC(0:2)' out of the layout"),
            ([" p = s8[4]{0:E(4)} parameter(0)"], "2:2: 'parameter': expected elements of 8 bits, as s8 has them in memory, found 'E(4)', in s8[4]{0:E(4)}; "
             "instead, leave 'E(4)' out of the layout"),
            ([" p = u1[4] parameter(0)"], "2:2: 'parameter': expected pred or integers of two bits or more, found 'u1', in u1[4]{0}; instead, write u2, which holds its values"),
            ([p, " t = (f32[4], u32[]) constant(({1, 2, 3, 4}, 5))"], "3:2: 'constant': expected an array, found a tuple; instead, write a constant for each element, and the op 'tuple'"),
            ([" p = f8e5m2[4] parameter(0)", " r = f8e5m2[4] reduce-precision(p), exponent_bits=4, mantissa_bits=1"],
             "3:2: 'reduce-precision': expected a float of 16 bits or more, found f8e5m2; instead, convert to bf16 before it and back after it"),
            ([p, " ROOT r = f32[4] imag(p)"], ""),
            ([" p = pred[4] parameter(0)", " ROOT r = s32[] bitcast-convert(p)"], ""),
            ([" p = (c64[2]) parameter(0)"], ""),
            ([" p = f32[<=4] parameter(0)"], "2:2: 'parameter': expected fixed sizes, found a dynamic dimension, in f32[<=4]{0}" + LARGEST),
            ([" p = f32[?,3] parameter(0)", " n = f32[?,3] negate(p)"], "2:2: 'parameter': expected fixed sizes, found a dynamic dimension, in f32[?,3]{1,0}" + LARGEST),
            ([" p = token[] parameter(0)"], "2:2: 'parameter': expected arrays, found the type 'token', in token[]" + ARRAYS),
            ([" p = (f32[2], opaque[]) parameter(0)"], "2:2: 'parameter': expected arrays, found the type 'opaque', in opaque[]" + ARRAYS),
            ([" p = pred[4] parameter(0)", " ROOT r = pred[4] subtract(p, p)"], "3:7: 'subtract' of pred has no meaning; instead, convert to an integer type before it, and back after it"),
            ([p, " ROOT r = f32[4]{0:S(1)} negate(p)"], ""),
            ([p, " ROOT r = slice-start(p), slice={[0:1]}"], None),
        ]
        for lines, want in table:
            if want is None:
                self.assertIn("expected a shape before 'slice-start'", fault("f {\n" + "\n".join(lines) + "\n}"))
            else:
                self.assertEqual(self.reason(*lines), want)

    def test_ops_of_others(self) -> None:
        """The refusal of an op has one sentence that says why there is no kernel and what to write instead."""
        table = [
            ("f32[4] all-reduce(p), replica_groups={}, to_apply=add", "'all-reduce' is between devices, and a kernel runs on one; instead, cut the module"),
            ("f32[8] all-gather(p), dimensions={0}", "'all-gather' is between devices"),
            ("f32[4] all-reduce-start(p), replica_groups={}, to_apply=add", "'all-reduce-start' is between devices"),
            ("u32[] partition-id()", "'partition-id' is the number of one of several devices"),
            ("f32[4] custom-call(p), custom_call_target=\"cu\"", "'custom-call' calls \"cu\", code from elsewhere; instead, write ops of HLO, or cut the module"),
            ("(c64[2], s32[2]) topk(i), k=2", "'topk': expected real numbers, found c64"),
            ("f32[4] rng(z, z), distribution=rng_uniform", "'rng' draws from a hidden state; instead, pass the numbers as a parameter"),
            ("token[] after-all()", "'after-all' only orders other ops; instead, leave it and its token out"),
            ("s32[] get-dimension-size(p), dimensions={0}", "'get-dimension-size' is of sizes that are known at run time"),
            ("(f32[4], f32[4], u32[]) copy-start(p)", "'copy-start' is half of an op that runs beside others; instead, write 'copy' itself"),
        ]
        before = ADD + "same {\n p = f32[4] parameter(0)\n}\ntest {\n p = f32[4] parameter(0)\n q = pred[] constant(true)\n}\n" \
            "less {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = pred[] compare(a, b), direction=LT\n}\n"
        given = [" p = f32[4] parameter(0)", " q = pred[] parameter(1)", " a = f32[2,2] parameter(2)", " z = f32[] parameter(3)", " s = u64[2] parameter(4)",
                 " i = c64[4] parameter(5)"]
        for line, want in table:
            said = self.reason(*given, " ROOT r = " + line, before=before)
            self.assertRegex(said, r"^\d+:7: " + re.escape(want), line)
            self.assertIn("; instead, ", said)
        self.assertEqual(sorted(op for op in opcodes.OPCODES - set(opcodes.TABLE) - opcodes.CONTROL if "not supported yet" in refusals.why_not_op(op).why), [])

    def test_only_what_is_reached(self) -> None:
        module = parse("dead {\n p = s4[2] parameter(0)\n}\n" + ADD + "ENTRY e {\n p = f32[] parameter(0)\n ROOT r = f32[] fusion(p, p), kind=kLoop, calls=add\n}\n")
        self.assertIsNone(hlo.unsupported(module))

    def test_layouts_must_agree_where_buffers_are_handed_over(self) -> None:
        text = "g {\n p = f32[2,3]{0,1} parameter(0)\n ROOT n = f32[2,3]{0,1} negate(p)\n}\nENTRY e {\n p = f32[2,3] parameter(0)\n" \
               " ROOT r = f32[2,3]{0,1} fusion(p), kind=kLoop, calls=g\n}\n"
        self.assertIn("7:7: 'fusion': operand 0 has the layout", str(hlo.unsupported(parse(text))))
        self.assertIsNone(hlo.unsupported(parse(text.replace("f32[2,3] parameter", "f32[2,3]{0,1} parameter"))))


class Fusions(unittest.TestCase):
    def test_a_bare_computation_is_the_fusion(self) -> None:
        fusions = hlo.fusions(hlo.parse(ADD, "dir/my file-1.hlo"))
        self.assertEqual([(f.name, f.computation.name, f.kind) for f in fusions], [("my_file_1", "add", "")])

    def test_names_are_c_identifiers(self) -> None:
        for text, name in [("a.b-c", "a_b_c"), ("3x", "k_3x"), ("double", "double_"), ("_x", "k_x"), ("", "k_"), ("caf\u00e9", "caf_")]:
            self.assertEqual(hlo.c_identifier(text), name)

    MODULE = ADD + """
    twice {
      p = f32[4] parameter(0)
      q = f32[4] parameter(1)
      s = f32[4] add(p, q)
      d = f32[4] subtract(p, q)
      ROOT t = (f32[4], f32[4]) tuple(s, d)
    }
    ENTRY main {
      x = f32[4] parameter(0)
      y = f32[4] constant({1, 2, 3, 4})
      z = f32[] constant(0)
      f1 = (f32[4], f32[4]) fusion(x, y), kind=kLoop, calls=twice
      a = f32[4] get-tuple-element(f1), index=1
      c = f32[4] copy(a)
      f2 = (f32[4], f32[4]) fusion(c, x), kind=kLoop, calls=twice
      r = f32[] reduce(c, z), dimensions={0}, to_apply=add
      ROOT out = ((f32[4], f32[4]), f32[], f32[4]) tuple(f2, r, a)
    }
    """

    def test_several(self) -> None:
        module = hlo.parse(self.MODULE, "m.hlo")
        self.assertIsNone(hlo.unsupported(module))
        self.assertEqual([(f.name, f.kind) for f in hlo.fusions(module)], [("m_twice", "kLoop"), ("m_c", ""), ("m_r", "")])

        def told(values: "list[hlo.Value]") -> "list[str]":
            return [f"{v.producer.name}.{v.leaf}" for v in values]

        steps = [(s.fusion.name, told(s.operands), told(s.results)) for s in hlo.steps(module)]
        self.assertEqual(steps, [("m_twice", ["x.0", "y.0"], ["f1.0", "f1.1"]), ("m_c", ["f1.1"], ["c.0"]),
                                 ("m_twice", ["c.0", "x.0"], ["f2.0", "f2.1"]), ("m_r", ["c.0"], ["r.0"])])
        self.assertEqual(told(hlo.module_results(module)), ["f2.0", "f2.1", "r.0", "f1.1"])
        for step in hlo.steps(module):
            self.assertIn(step.fusion, hlo.fusions(module))
            wanted = [leaf.text for p in step.fusion.computation.parameters for leaf in p.shape.leaves()]
            self.assertEqual([v.shape.text for v in step.operands], wanted)
        reduction = hlo.fusions(module)[2].computation
        self.assertEqual([i.opcode for i in reduction.instructions], ["parameter", "constant", "reduce"])

    def test_one_step(self) -> None:
        module = hlo.parse("e {\n t = (f32[2], (s32[], f32[3])) parameter(0)\n ROOT g = (s32[], f32[3]) get-tuple-element(t), index=1\n}", "m.hlo")
        step, = hlo.steps(module)
        self.assertEqual([v.shape.text for v in step.operands], ["f32[2]{0}", "s32[]", "f32[3]{0}"])
        self.assertEqual([v.shape.text for v in step.results], ["s32[]", "f32[3]{0}"])

    def test_inlined(self) -> None:
        text = ADD + """
        inner {
          p = f32[2,4] parameter(0)
          z = f32[] constant(0)
          e = f32[2,4] map(p, p), dimensions={0,1}, to_apply=add
          ROOT t = (f32[2,4], f32[]) tuple(e, z)
        }
        f {
          p = f32[2,4] parameter(0)
          z = (f32[2,4], f32[]) fusion(p), kind=kLoop, calls=inner
          a = f32[2,4] get-tuple-element(z), index=0
          b = f32[] get-tuple-element(z), index=1
          ROOT r = f32[4] reduce(a, b), dimensions={0}, to_apply=add
        }
        """
        module = parse(text)
        self.assertIsNone(hlo.unsupported(module))
        flat = hlo.fusions(module)[0].computation
        self.assertEqual(hlo.print_computation(flat).splitlines()[1:-1], [
            "  %p = f32[2,4]{1,0} parameter(0)",
            "  %z.in1 = f32[] constant(0)",
            "  %s = f32[2,4]{1,0} add(%p, %p)",
            "  ROOT %r = f32[4]{0} reduce(%s, %z.in1), dimensions={0}, to_apply=%add"])
        self.assertEqual(fault(ADD + hlo.print_computation(flat)), "")
        self.assertEqual([u.name for u in flat.parameters[0].users], ["s"])

    def test_a_map_with_a_constant(self) -> None:
        text = "g {\n a = s32[] parameter(0)\n c = s32[] constant(3)\n ROOT s = s32[] add(a, c)\n}\n" \
               "f {\n p = s32[2,4]{0,1} parameter(0)\n ROOT r = s32[2,4]{0,1} map(p), to_apply=g\n}\n"
        flat = hlo.fusions(parse(text))[0].computation
        self.assertEqual([(i.opcode, i.shape.text) for i in flat.instructions], [
            ("parameter", "s32[2,4]{0,1}"), ("constant", "s32[]"), ("broadcast", "s32[2,4]{0,1}"), ("add", "s32[2,4]{0,1}")])

    def test_select_by_a_scalar_and_copies_of_tuples(self) -> None:
        flat = hlo.fusions(body("q = pred[] parameter(0)", "p = f32[4] parameter(1)", "n = f32[4] negate(p)",
                                "t = (f32[4], f32[4]) tuple(p, n)", "c = (f32[4], f32[4]) copy(t)",
                                "g = f32[4] get-tuple-element(c), index=1", "ROOT r = f32[4] select(q, p, g)"))[0].computation
        self.assertEqual(hlo.print_computation(flat).splitlines()[3:-1], [
            "  %n = f32[4]{0} negate(%p)", "  %q.in1 = pred[4]{0} broadcast(%q), dimensions={}",
            "  ROOT %r = f32[4]{0} select(%q.in1, %p, %n)"])

    def test_inlined_graphs_are_whole(self) -> None:
        """After inlining, operands precede their users, `users` lists the uses, and names are unique, also for the
        nested fusions in other projects' files.
        """
        for path in sorted(PEER.glob("fusions/*.hlo")):
            try:
                module = hlo.read(str(path))
            except hlo.HloError:
                continue
            for fusion in hlo.fusions(module):
                seen: "set[int]" = set()
                names = Counter(i.name for i in fusion.computation.instructions)
                self.assertEqual(names.most_common(1)[0][1], 1, path.name)
                for i in fusion.computation.instructions:
                    self.assertTrue(all(id(o) in seen for o in i.operands), path.name)
                    self.assertTrue(all(i in o.users for o in i.operands), path.name)
                    self.assertIn(i.computation, (fusion.computation,), path.name)
                    seen.add(id(i))
                self.assertIn(id(fusion.computation.root), seen)


class Peer(unittest.TestCase):
    """Every HLO file of other projects is read, printed, and read again to an equal graph, except for listed files,
    which are refused.
    """

    def setUp(self) -> None:
        if not PEER.is_dir():
            self.skipTest("no ../shared/peer here")

    def outcome(self, path: Path) -> Optional[hlo.HloError]:
        module = hlo.read(str(path))
        self.assertEqual(again(module), "", path.name)
        hlo.expanded(module)
        return hlo.unsupported(module)

    def test_seeds(self) -> None:
        files = sorted(PEER.glob("seeds/*.hlo"))
        self.assertEqual([(p.name, self.outcome(p)) for p in files], [(p.name, None) for p in files])

    def test_loop(self) -> None:
        files = sorted(PEER.glob("hlo/loop/*.hlo"))
        self.assertEqual([(p.name, self.outcome(p)) for p in files], [(p.name, None) for p in files])

    def test_all(self) -> None:
        files, found = sorted(PEER.glob("hlo/*/*.hlo")) + sorted(PEER.glob("fusions/*.hlo")), {}
        for path in files:
            try:
                error = self.outcome(path)
            except hlo.HloError as raised:
                # some files call a computation that they lack, because only a part of XLA's text was extracted
                self.assertIn("expected the name of a computation defined before", raised.message, str(raised))
                error = raised
            if error:
                found[path.stem] = refused.reason(error.message)
        self.assertEqual(found, refused.among(files))
