"""Test the reader of StableHLO text: the short and the generic form of each op, errors with their places, dimensions of
unknown size ("open"), names, donated arguments, and long, deep and damaged texts.

ops.txt has a function for each op in the short form, the same function in the generic form as MLIR prints it, and its
graph as HLO text (omitted above 60 lines). bad.txt has texts with one error each. `PYTHONPATH=. python3
tests/stablehlo/test_reader.py` writes the graphs and the errors again.
"""

from __future__ import annotations

import ast
import random
import re
import sys
import time
from pathlib import Path
from typing import Dict, List, Tuple

import pytest

from gen import hlo, run, stablehlo
from gen.stablehlo import table
from same_graph import canonical

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
PEER = ROOT.parent / "shared" / "peer"

# The ops in StableHLO's specification.
SPECIFICATION = """abs add after_all all_gather all_reduce all_to_all and async_done async_start atan2 batch_norm_grad
    batch_norm_inference batch_norm_training bitcast_convert broadcast_in_dim case cbrt ceil cholesky clamp
    collective_broadcast collective_permute compare complex composite concatenate constant convert convolution cosine
    count_leading_zeros custom_call divide dot_general dynamic_broadcast_in_dim dynamic_conv dynamic_gather dynamic_iota
    dynamic_pad dynamic_reshape dynamic_slice dynamic_update_slice exponential exponential_minus_one fft floor gather
    get_dimension_size get_tuple_element if imag infeed iota is_finite log log_plus_one logistic map maximum minimum
    multiply negate not optimization_barrier or outfeed pad partition_id popcnt power real recv reduce reduce_precision
    reduce_scatter reduce_window remainder replica_id reshape reverse rng rng_bit_generator round_nearest_afz
    round_nearest_even rsqrt scatter select select_and_scatter send shift_left shift_right_arithmetic shift_right_logical
    sign sine slice sort sqrt subtract tan tanh transpose triangular_solve tuple uniform_dequantize uniform_quantize while
    xor""".split()


def cases(name: str) -> "Dict[str, List[str]]":
    """Return the parts of each case in a file."""
    found = re.split(r"^==== (.*)\n", (HERE / name).read_text(), flags=re.M)[1:]
    return {title: re.split(r"^---- .*\n", text, flags=re.M) for title, text in zip(found[::2], found[1::2])}


OPS, BAD = cases("ops.txt"), cases("bad.txt")


def parse(text: str, **sizes: "Tuple[int, ...]") -> hlo.Module:
    return stablehlo.parse(text, "m.mlir", {key.lstrip("_"): value for key, value in sizes.items()})


def fault(text: str, **sizes: "Tuple[int, ...]") -> str:
    """Return LINE:COL: message for the error in a text, or "" if there is none."""
    try:
        parse(text, **sizes)
    except hlo.HloError as error:
        return f"{error.line}:{error.col}: {error.message}"
    return ""


def function(arguments: str, result: str, *lines: str) -> str:
    return (f"module @m {{\n  func.func public @main({arguments}) -> {result} {{\n"
            + "".join(f"    {line}\n" for line in lines) + "  }\n}\n")


# ---- ops ----


@pytest.mark.parametrize("name", OPS)
def test_op(name: str) -> None:
    short, generic, graph = OPS[name]
    module = parse(short)
    again = hlo.print_module(module)
    assert graph in ("", again)
    assert stablehlo.is_stablehlo(short) and stablehlo.is_stablehlo(generic)
    assert canonical(parse(generic)) == canonical(module)
    assert canonical(hlo.parse(again, "again.hlo")) == canonical(module), "the graph, printed and read as HLO text"


def test_every_op_is_read_or_refused() -> None:
    assert not set(SPECIFICATION) - set(table.ROWS) - set(table.REFUSED)
    assert not set(table.ROWS) & set(table.REFUSED)
    page = (ROOT / "gen" / "errors.md").read_text()
    assert all(f"`{name}`" in page for name in [*table.REFUSED, *table.ROWS])
    assert all(f"`{name}`" in page for name in table.CHLO if not name.startswith("broadcast_"))
    assert all(f"`chlo.{name}`" in page for name in table.REFUSED_CHLO)


def test_every_op_has_a_case() -> None:
    texts = "".join(short for short, _, _ in OPS.values())
    used = set(re.findall(r"\bstablehlo\.([a-z_0-9]+)", texts))
    # ops without a case: they do not occur on one device with known sizes
    rare = {"all_to_all", "collective_broadcast", "reduce_scatter", "set_dimension_size", "rng"}
    assert set(table.ROWS) - used == rare


def test_refused_ops() -> None:
    refused = {**{f"stablehlo.{name}": reason for name, reason in table.REFUSED.items() if "-" not in name},
               **{f"chlo.{name}": reason for name, reason in table.REFUSED_CHLO.items()}}
    for name, reason in refused.items():
        text = function("%x: tensor<f32>", "tensor<f32>", f'%0 = "{name}"(%x) : (tensor<f32>) -> tensor<f32>',
                        "return %0 : tensor<f32>")
        assert fault(text) == f"3:10: {name}: there is no kernel for it: {reason}"


# ---- faults ----


@pytest.mark.parametrize("name", BAD)
def test_fault(name: str) -> None:
    text, message = BAD[name]
    assert fault(text) == message.rstrip("\n")


def test_many_faults() -> None:
    assert len(BAD) >= 200 and len({message for _, message in BAD.values()}) >= 200


def damaged(text: str, words: "List[str]", draw: random.Random) -> str:
    parts = re.findall(r'[A-Za-z0-9_.%@#"]+|\s+|.', text)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        at = draw.randrange(len(parts))
        how = draw.randrange(6)
        parts[at] = ["", parts[draw.randrange(len(parts))], draw.choice(words), 2 * parts[at], parts[at],
                     draw.choice(["-1", "99999999999999999999", "?", "<", ">", "(", ")", "[", "]", "{", "}", '"', "->", ":"])][how]
        if how == 4 and draw.random() < 0.3:
            return "".join(parts[:at])
    return "".join(parts)


def check_damaged(texts: "List[str]", seed: int, count: int) -> None:
    """Check that a damaged text is read, or refused with a place; an exception of another kind fails."""
    draw = random.Random(seed)
    words = sorted({word for text in texts for word in re.findall(r'[A-Za-z0-9_.%@#"]+', text)})
    refused = 0
    for _ in range(count):
        text = damaged(draw.choice(texts), words, draw)
        try:
            parse(text)
        except hlo.HloError as error:
            refused += 1
            assert error.message and error.line >= 1 and error.col >= 1
    assert refused > count // 2


def test_damaged() -> None:
    check_damaged([text for parts in OPS.values() for text in parts[:2]], 1, 2000)


@pytest.mark.whole
def test_damaged_long() -> None:
    peer = [path.read_text() for path in sorted(PEER.rglob("*.mlir"))] if PEER.exists() else []
    texts = [text for parts in OPS.values() for text in parts[:2]] + [text for text in peer if len(text) < 8000]
    end, seed = time.monotonic() + 600, 1
    while time.monotonic() < end:
        seed += 1
        check_damaged(texts, seed, 2000)


def test_floor() -> None:
    """The reader imports only gen.algebra, gen.hlo, gen.suggest and its own files of gen."""
    for path in sorted((ROOT / "gen" / "stablehlo").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = ([f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom)
                     else [alias.name for alias in node.names] if isinstance(node, ast.Import) else [])
            for name in names:
                assert name.split(".")[0] != "gen" or name.startswith(
                    ("gen.stablehlo.", "gen.hlo.", "gen.algebra", "gen.suggest")), f"{path.name} imports {name}"


# ---- the module ----


def test_which_text_it_is() -> None:
    for text in ("module {", "// note\n#loc = loc(unknown)\nmodule @m attributes {a = 1} {", "func.func @main(",
                 '"builtin.module"() ({', "module attributes {"):
        assert stablehlo.is_stablehlo(text), text
    for text in ("HloModule m", "module {\n}"[8:], "f {\n a = f32[] parameter(0)\n}", "", "modules { a = f32[] parameter(0) }"):
        assert not stablehlo.is_stablehlo(text), text


def test_names() -> None:
    text = ('#loc1 = loc("w[\'a\']")\nmodule @m {\n  func.func public @main(%arg0: tensor<f32> loc("x"), %arg1: tensor<f32> '
            'loc(#loc1), %arg2: tensor<f32> {jax.arg_info = "state.speed"}, %arg3: tensor<f32>) -> tensor<f32> {\n'
            '    %sum = stablehlo.add %arg0, %arg1 : tensor<f32> loc("jit(f)/add"(#loc2))\n'
            '    return %sum : tensor<f32> loc(#loc2)\n  } loc(#loc2)\n} loc(#loc2)\n#loc2 = loc("f.py":3:4)\n')
    module = parse(text)
    assert module.entry is not None and module.entry.root is not None
    assert [parameter.name for parameter in module.entry.parameters] == ["x", "w_a", "state.speed", "arg3"]
    assert module.entry.root.name == "sum"


def test_sharding_constraints() -> None:
    """jax.random prints ops that place an array on devices. They have no effect on one device."""
    short = function("%x: tensor<4xf32>", "tensor<4xf32>", "%0 = sdy.sharding_constraint %x <@mesh, [{}]> : tensor<4xf32>",
                     "%1 = stablehlo.abs %0 : tensor<4xf32>", "return %1 : tensor<4xf32>")
    short = short.replace("@m {\n", "@m {\n  sdy.mesh @mesh = <[]>\n")
    generic = short.replace("sdy.mesh @mesh = <[]>", '"sdy.mesh"() <{mesh = #sdy.mesh<[]>, sym_name = "mesh"}> : () -> ()')
    generic = generic.replace("sdy.sharding_constraint %x <@mesh, [{}]> :", '"sdy.sharding_constraint"(%x) '
                              "<{sharding = #sdy.sharding<@mesh, [{}]>}> : (tensor<4xf32>) ->")
    for text in (short, generic, short.replace("<@mesh, [{}]>", "<@mesh, [{?}], replicated={}> {jax.a = 1 : i64}")):
        assert [of.opcode for of in parse(text).entry.instructions] == ["parameter", "abs"]


@pytest.mark.parametrize("name", ["constant_splat", "compare", "reduce", "while", "convolution", "complex"])
def test_mhlo(name: str) -> None:
    """The dialect mhlo has the same short forms as stablehlo."""
    short = OPS[name][0]
    module = parse(short.replace("stablehlo.", "mhlo."))
    assert canonical(module) == canonical(parse(short))


def test_donations() -> None:
    text = ("module @m {\n  func.func public @main(%a: tensor<3xf32> {tf.aliasing_output = 1 : i32}, %b: tensor<3xf32> "
            "{jax.buffer_donor = true}) -> (tensor<3xf32>, tensor<3xf32>) {\n"
            "    return %b, %a : tensor<3xf32>, tensor<3xf32>\n  }\n}\n")
    assert parse(text).attributes == {"input_output_alias": "{ {1}: (0, {}, may-alias) }", "buffer_donor": "{ (1, {}) }"}


def test_results_are_row_major() -> None:
    """A function's result is row-major, although inside the function a custom call or a transpose may have another
    order.
    """
    module = parse(OPS["custom_call"][0])
    assert module.entry is not None and module.entry.root is not None
    assert module.entry.root.shape.text == "f32[3,3]{1,0}" and module.entry.root.opcode == "copy"
    module = parse(function("%x: tensor<2x3xf32>", "tensor<3x2xf32>", "%0 = stablehlo.transpose %x, dims = [1, 0] : "
                            "(tensor<2x3xf32>) -> tensor<3x2xf32>", "return %0 : tensor<3x2xf32>"))
    assert module.entry is not None and module.entry.root is not None
    assert (module.entry.root.opcode, module.entry.root.shape.text) == ("transpose", "f32[3,2]{1,0}")


def test_deep() -> None:
    """The reader recurses only on regions, functions and brackets, whose depth is limited."""
    chain = "".join(f"  func.func private @f{k}(%x: tensor<f32>) -> tensor<f32> {{\n    %0 = call @f{k + 1}(%x) : (tensor<f32>) "
                    "-> tensor<f32>\n    return %0 : tensor<f32>\n  }\n" for k in range(400))
    text = ("module @m {\n  func.func public @main(%x: tensor<f32>) -> tensor<f32> {\n    %0 = call @f0(%x) : (tensor<f32>) -> "
            "tensor<f32>\n    return %0 : tensor<f32>\n  }\n" + chain + "}\n")
    assert fault(text).endswith("expected functions and regions at most 96 deep")
    inner = "stablehlo.return %x : tensor<f32>\n"
    for k in range(60):
        inner = (f'%{k} = "stablehlo.if"(%p) ({{\n{inner}}}, {{\nstablehlo.return %x : tensor<f32>\n}}) : (tensor<i1>) -> '
                 f"tensor<f32>\nstablehlo.return %{k} : tensor<f32>\n")
    body = inner.rsplit("stablehlo.return", 1)[0]
    parse(function("%p: tensor<i1>, %x: tensor<f32>", "tensor<f32>", body + "return %59 : tensor<f32>"))


def test_long() -> None:
    """Reading takes linear time, at most 1.5 times as long as reading HLO text (4 times here, because the machine may be
    busy).
    """
    lines, before = [], "%x"
    for k in range(20000):
        lines.append(f"%{k} = stablehlo.{('add', 'multiply')[k % 2]} {before}, %x : tensor<8x4xf32>")
        before = f"%{k}"
    text = function("%x: tensor<8x4xf32>", "tensor<8x4xf32>", *lines, f"return {before} : tensor<8x4xf32>")
    start = time.process_time()
    module = parse(text)
    middle = time.process_time()
    hlo.parse(hlo.print_module(module), "m.hlo")
    assert middle - start < 4 * (time.process_time() - middle)


# ---- open dimensions ----

EXPORTED = (HERE / "exported.mlir").read_text()    # what jax.export prints for a function of x[b, 4] and w[4, 3]


def test_sizes() -> None:
    shapes = []
    for sizes in ({"b": (8,)}, {"_0": (8, 4)}):
        module = parse(EXPORTED, **sizes)   # type: ignore[arg-type]
        assert module.entry is not None and module.entry.root is not None
        assert not any(instruction.opcode == "get-dimension-size" for c in module.computations for instruction in c.instructions)
        shapes.append([leaf.text for leaf in module.entry.root.shape.leaves()])
    assert shapes[0] == shapes[1] == ["f32[]", "s32[8]{0}", "f32[7,4]{1,0}", "f32[10,6]{1,0}", "f32[8,4]{1,0}", "bf16[8,4]{1,0}"]


def test_sizes_that_do_not_fit() -> None:
    assert fault(EXPORTED) .endswith("expected sizes for open dimensions: set each ? by --dims: 0=?x4 (b, 4)")
    assert "Expected value >= 1 for dimension variable 'b'" in fault(EXPORTED, b=(0,))
    assert fault(EXPORTED, c=(3,)).endswith("expected a symbol of this module (b) in --dims, found 'c'")
    assert fault(EXPORTED, _0=(8, 5)).endswith("expected sizes of tensor<?x4xf32> in --dims, found 0=8x5")
    assert fault(EXPORTED, _7=(8, 5)).endswith("expected the number of an argument, 0 to 1, in --dims, found 7")


def test_padding_of_open_sizes() -> None:
    """Padding amounts may be computed from the sizes of open dimensions (tensor<?xf32>), as in jax.export's text."""
    text = function("%x: tensor<1x1x?x4xf32>, %k: tensor<1x1x2x3xf32>", "tensor<1x1x?x?xf32>",
                    "%c = stablehlo.constant dense<1> : tensor<1x2xi32>",
                    "%s = stablehlo.get_dimension_size %x, dim = 2 : (tensor<1x1x?x4xf32>) -> tensor<i32>",
                    "%r = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<i32>) -> tensor<1x2xi32>",
                    "%p = stablehlo.concatenate %r, %c, dim = 0 : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<2x2xi32>",
                    '%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = '
                    "#stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>, feature_group_count = 1 : i64}> : "
                    "(tensor<1x1x?x4xf32>, tensor<1x1x2x3xf32>, tensor<2x2xi32>) -> tensor<1x1x?x?xf32>",
                    "return %0 : tensor<1x1x?x?xf32>")
    root = parse(text, _0=(1, 1, 5, 4)).entry.root
    assert root is not None and root.shape.dims == (1, 1, 14, 4)
    assert (root.attributes["window"].low, root.attributes["window"].high) == ((5, 1), (5, 1))


def test_expressions_of_symbols() -> None:
    from gen.stablehlo.module import evaluated
    values = {"b": 8, "c": 3}
    for text, wanted in (("b", 8), ("2*c", 6), ("b + c - 1", 10), ("floordiv(b, c)", 2), ("mod(b, c)", 2), ("max(b, c)", 8),
                         ("c^2", 9), ("-b + 9", 1), ("d", None), ("b/c", None), ("b.c", None), ("(", None), ("open(1)", None)):
        assert evaluated(text, values) == wanted, text


# ---- texts of other projects ----


@pytest.mark.skipif(not PEER.exists(), reason="SKIP: no ../shared/peer")
@pytest.mark.peer
def test_graphs_of_others() -> None:
    """Most of the texts give the same graph as their HLO text. The others are run by tests/peer/test_stablehlo.py."""
    same = 0
    paths = sorted(PEER.rglob("*.mlir"))
    for path in paths:
        same += canonical(stablehlo.parse(path.read_text(), str(path))) == canonical(hlo.read(str(path.with_suffix(".hlo"))))
    assert len(paths) >= 1453 and same >= 1076, (same, len(paths))


@pytest.mark.skipif(not PEER.exists(), reason="SKIP: no ../shared/peer")
@pytest.mark.peer
def test_some_of_others() -> None:
    """The passes that follow the reader accept the graph of every twelfth text."""
    for path in sorted(PEER.rglob("*.mlir"))[::12]:
        run.load(str(path))


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    with (HERE / "ops.txt").open("w") as file:
        for title, (short, generic, _) in OPS.items():
            graph = hlo.print_module(parse(short))
            file.write(f"==== {title}\n{short}---- generic\n{generic}---- hlo\n{graph if graph.count(chr(10)) <= 60 else ''}")
    with (HERE / "bad.txt").open("w") as file:
        for title, (text, _) in BAD.items():
            file.write(f"==== {title}\n{text}---- error\n{fault(text)}\n")
