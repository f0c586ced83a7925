"""Test headers whose functions are compiled once for many files: SETT_DECLARATIONS, SETT_IMPLEMENTATION, SETT_PREFIX and
SETT_JOINED.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXTS = {path.name: path.read_text() for path in sorted((ROOT / "include").glob("*.h"))}
STRICT = re.search(r"^strict = (.*)$", (ROOT / "build.ninja").read_text(), re.M)[1].split()
# The headers that must precede each header.
NEEDS = {"sett_tile.h": [], "sett_relayout.h": ["sett_tile.h"], "sett_indexing_map.h": [], "sett_indexing_analysis.h": ["sett_indexing_map.h"], "sett_nested_layout.h": [],
         "sett_mma_layouts.h": ["sett_nested_layout.h"], "sett_notation.h": ["sett_indexing_map.h"], "sett_move.h": ["sett_indexing_map.h"]}
TOGETHER = ["sett_notation.h", "sett_move.h"]    # headers whose functions are compiled in one file with those of sett.h
COMPILERS = {"c": ["cc", "-std=c11", "-Wstrict-prototypes"], "c++": ["c++", "-std=c++17"]}
PUBLIC = {name for text in TEXTS.values() for name in re.findall(r"^SETT_PUBLIC [^;{]*?\b(sett_\w+)\([^;{]*\);", text, re.M)}
# C statements that call at least one function of each module, so that a program with them links all modules.
USES = r'''
  static uint64_t memory[1 << 16];
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  sett_map map = sett_map_simplify(&arena, sett_map_parse(&arena, "(d0) -> (d0 * 4 mod 8), domain: d0 in [0, 9]", 45));
  sett_tile_shape shape = sett_tile_parse("f32[3,5]{0,1}", 13);
  sett_any any = sett_any_parse(&arena, "f32[3,5]{0,1}", 13);
  char text[256];
  sett_map_print(&arena, map, text, sizeof text);
  puts(text);
  sett_map_print(&arena, sett_layout_map(&arena, &shape), text, sizeof text);
  puts(text);
  sett_any_print(&any, text, sizeof text);
  puts(text);
  puts(sett_relayout_message(0));
  puts(sett_move_message(0));
  puts(sett_analysis_message(0));
  puts(sett_nested_message(0));
  printf("%d\n", sett_mma_lanes(1, 0));
'''
SAID = ["(d0) -> ((d0 mod 2) * 4), domain: d0 in [0, 9]", "(d0, d1) -> (d1 * 3 + d0), domain: d0 in [0, 2], d1 in [0, 4]", "f32[3,5]{0,1}", *["no error"] * 4, "1"]


def build(folder: Path, name: str, source: str, language: str = "c", flags: "tuple[str, ...]" = ()) -> Path:
    """Compile a file without a warning and return the object."""
    (folder / name).write_text(source)
    made = folder / f"{name}.o"
    subprocess.run([*COMPILERS[language], *STRICT, "-O0", "-fPIC", *flags, f"-I{ROOT / 'include'}", "-x", language, "-c", name, "-o", made.name], cwd=folder, check=True)
    return made


def symbols(*objects: Path, flags: "tuple[str, ...]" = ("--defined-only", "--extern-only")) -> "list[str]":
    """Return the symbols that the objects export."""
    said = subprocess.run(["nm", *flags, *map(str, objects)], check=True, capture_output=True, text=True).stdout
    return [line.split()[-1] for line in said.splitlines() if re.search(r" [A-Z] \w", line)]


def includes(*names: str) -> str:
    return "".join(f'#include "{name}"\n' for name in names)


def program(function: str, marks: str) -> str:
    return f'{marks}#include <stdio.h>\n#include "sett.h"\nSTART int {function}(void);\nSTART int {function}(void) {{{USES}  return 0;\n}}\n'.replace(
        "START ", 'extern "C" ' if "c++" in marks else "")


def test_lists() -> None:
    """SETT_PREFIX applies to every public function. The lines about linkage are the same in the three headers that have
    them.
    """
    listed = [name for text in TEXTS.values() for name in re.findall(r"\bX\((sett_\w+)\)", text)]
    assert sorted(listed) == sorted(PUBLIC) and len(PUBLIC) > 250
    linkage = {re.search(r"/\* ---- linkage.*?SETT_PREFIX: expected.*?#endif\n", text, re.S)[0] for text in TEXTS.values() if "---- linkage" in text}
    assert len(linkage) == 1 and sum("---- linkage" in text for text in TEXTS.values()) == 3
    assert len({re.search(r"  The functions can be compiled once for many files.*?all its files\.\n", text, re.S)[0] for text in TEXTS.values()}) == 1


@pytest.mark.parametrize("language", COMPILERS)
def test_declarations(language: str, tmp_path: Path) -> None:
    """With SETT_DECLARATIONS a header declares all of its functions and defines none, even if it is included twice and
    in any order.
    """
    for header, needed in {**NEEDS, "sett.h": []}.items():
        source = "#define SETT_DECLARATIONS\n" + includes(*needed, header, *needed, header, "sett.h", *reversed(NEEDS), "sett.h")
        assert symbols(build(tmp_path, "declared.c", source, language)) == []
        own = re.findall(r"^SETT_PUBLIC [^;{]*?\b(sett_\w+)\([^;{]*\);", TEXTS[header], re.M)
        names = f'#define SETT_DECLARATIONS\n{includes(*needed, header)}void (*const names[])(void) = {{{", ".join(f"(void (*)(void)){name}" for name in own)}}};\n'
        extern = names.replace("void (*const names", "extern void (*const names[])(void);\nvoid (*const names") if language == "c++" else names
        assert set(symbols(build(tmp_path, "names.c", extern, language, ("-Wno-cast-function-type",)), flags=("--undefined-only",))) >= set(own)


@pytest.mark.parametrize("language", COMPILERS)
@pytest.mark.parametrize("header", NEEDS)
@pytest.mark.peer
def test_a_file_a_header(header: str, language: str, tmp_path: Path) -> None:
    """A file that declares all headers and then implements one defines only the functions of that one."""
    source = "#define SETT_DECLARATIONS\n" + includes("sett.h", header) + "#define SETT_IMPLEMENTATION\n" + includes(header, header)
    own = set(re.findall(r"^SETT_PUBLIC [^;{]*?\b(sett_\w+)\([^;{]*\);", TEXTS[header], re.M))
    assert set(symbols(build(tmp_path, "one.c", source, language))) == own


@pytest.mark.peer
def test_divided(tmp_path: Path) -> None:
    """The functions are compiled in seven files and used in two others, in all combinations of C and C++."""
    declared = "#define SETT_DECLARATIONS\n" + includes("sett.h") + "#define SETT_IMPLEMENTATION\n"
    objects = [build(tmp_path, f"{header[:-2]}.c", declared + includes(header), ["c", "c++"][number % 2])
               for number, header in enumerate(header for header in NEEDS if header not in TOGETHER)]
    objects.append(build(tmp_path, "rest.c", f"{declared}#define SETT_JOINED\n{includes(*TOGETHER, 'sett.h')}"))
    assert sorted(symbols(*objects)) == sorted(PUBLIC)
    objects.append(build(tmp_path, "one.c", program("one", "#define SETT_DECLARATIONS\n")))
    objects.append(build(tmp_path, "two.cpp", program("two", "// c++\n#define SETT_DECLARATIONS\n"), "c++"))
    objects.append(build(tmp_path, "main.c", "int one(void);\nint two(void);\nint main(void) { return one() + two(); }\n"))
    subprocess.run(["c++", *map(str, objects), "-o", "run"], cwd=tmp_path, check=True)
    assert subprocess.run([str(tmp_path / "run")], check=True, capture_output=True, text=True).stdout.splitlines() == SAID * 2


@pytest.mark.peer
def test_two_libraries(tmp_path: Path) -> None:
    """Two static libraries with their own copies of the functions link into one program if one of them has a prefix, and
    do not link without it. A file with static functions may be in the program too. Shared libraries export none of
    the functions and need no prefix.
    """
    functions = {"a": build(tmp_path, "a.x", f"#define SETT_IMPLEMENTATION\n{includes('sett.h')}"),
                 "b": build(tmp_path, "b.x", f"#define SETT_PREFIX b_\n#define SETT_IMPLEMENTATION\n{includes('sett.h')}", "c++")}
    functions["c"] = Path(shutil.copy(functions["a"], tmp_path / "c.x.o"))
    libraries = {}
    for name, prefix, language in (("a", "", "c"), ("b", "#define SETT_PREFIX b_\n", "c++"), ("c", "", "c++")):
        libraries[name] = [functions[name], build(tmp_path, f"use_{name}.x", program(f"use_{name}", f"/* {language} */\n{prefix}#define SETT_DECLARATIONS\n"), language)]
        subprocess.run(["c++", "-shared", *map(str, libraries[name]), "-o", f"lib{name}.so"], cwd=tmp_path, check=True)
        assert symbols(tmp_path / f"lib{name}.so", flags=("--dynamic", "--defined-only")) == [f"use_{name}"]
    assert set(symbols(libraries["b"][0])) == {f"b_{name}" for name in PUBLIC}
    build(tmp_path, "inline.c", program("use_inline", ""))
    uses = "".join(f"int use_{name}(void);\n" for name in ("a", "b", "c", "inline"))
    for first, second in (("a", "b"), ("a", "c")):
        main = build(tmp_path, "main.c", f"{uses}int main(void) {{ return use_{first}() + use_{second}() + use_inline(); }}\n")
        for kind in ("a", "so"):
            given = [str(tmp_path / f"lib{name}.{kind}") for name in (first, second)] if kind == "so" else [str(made) for name in (first, second) for made in libraries[name]]
            done = subprocess.run(["c++", str(main), "inline.c.o", *given, f"-Wl,-rpath,{tmp_path}", "-o", "run"], cwd=tmp_path, capture_output=True, text=True)
            if kind == "a" and second == "c":
                assert "multiple definition of" in done.stderr or "duplicate symbol" in done.stderr
                continue
            assert done.returncode == 0, done.stderr
            assert subprocess.run([str(tmp_path / "run")], check=True, capture_output=True, text=True).stdout.splitlines() == SAID * 3


@pytest.mark.parametrize("late", ["SETT_DECLARATIONS", "SETT_IMPLEMENTATION"])
def test_too_late(late: str) -> None:
    """A file that has included one header with static functions cannot include others as declarations."""
    source = includes("sett_tile.h") + f"#define {late}\n" + includes("sett_indexing_map.h")
    done = subprocess.run(["cc", "-fsyntax-only", "-x", "c", f"-I{ROOT / 'include'}", "-"], input=source, capture_output=True, text=True)
    assert done.returncode != 0 and "before the first sett header" in done.stderr


@pytest.mark.parametrize("language", COMPILERS)
@pytest.mark.parametrize("level", ["-O1", "-O2", "-Os", "-O3"])
@pytest.mark.peer
def test_levels(level: str, language: str, tmp_path: Path) -> None:
    """The functions compile without a warning, and give the same answers, at every level of optimisation."""
    objects = [build(tmp_path, "all.c", f"#define SETT_IMPLEMENTATION\n{includes('sett.h')}", language, (level,)),
               build(tmp_path, "main.c", program("main", "#define SETT_DECLARATIONS\n").replace("int main(void);\n", ""))]
    subprocess.run(["c++", *map(str, objects), "-o", "run"], cwd=tmp_path, check=True)
    assert subprocess.run([str(tmp_path / "run")], check=True, capture_output=True, text=True).stdout.splitlines() == SAID
