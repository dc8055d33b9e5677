"""No circles between the modules of a Rust crate: a module can be read, and moved, without those that use it.

A submodule counts as a part of the file that it belongs to (`frame/columns.rs` of `frame`): it is private there. Code for tests only does not count."""

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

CRATES = sorted(file.parent for file in Path("rust").glob("*/Cargo.toml"))
TEST_MODULE = re.compile(r"^#\[cfg\(test\)\]\nmod \w+ \{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"//[^\n]*")
PATH = re.compile(r"\b(?P<base>crate|super)::(?:(?P<name>\w+)|\{(?P<names>[^;]*)\})")
NESTED = re.compile(r"\{[^{}]*\}")
NAMED = re.compile(r"\brust/\w+/[\w/]+\.rs\b")


def top_modules(source: Path) -> dict[str, list[Path]]:
    """The files of each module of a crate that is declared in its root."""
    modules: dict[str, list[Path]] = {}
    for file in sorted(source.rglob("*.rs")):
        name = file.relative_to(source).with_suffix("").parts[0]
        is_root = file.parent == source and name in ("lib", "main")
        if not is_root and file.name != "tests.rs":
            modules.setdefault(name, []).append(file)
    return modules


def used(text: str, *, is_top: bool) -> set[str]:
    """The names that follow `crate::`, and in a file of the root's own modules `super::`."""
    text = COMMENT.sub("", TEST_MODULE.sub("", text))
    found: set[str] = set()
    for path in PATH.finditer(text):
        if path["base"] == "super" and not is_top:
            continue
        names = path["names"]
        while names and NESTED.search(names):
            names = NESTED.sub("", names)
        found |= {path["name"]} if names is None else set(re.findall(r"(?:^|,)\s*(\w+)", names))
    return found


def uses(source: Path) -> dict[str, set[str]]:
    """Which of a crate's modules each of them uses."""
    modules = top_modules(source)
    graph: dict[str, set[str]] = {}
    for name, files in modules.items():
        names = set().union(*(used(file.read_text(), is_top=file.parent == source) for file in files))
        graph[name] = (names & set(modules)) - {name}
    return graph


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_modules_of_a_crate_form_no_circle(crate: Path) -> None:
    graph = uses(crate / "src")
    assert graph
    assert list(TopologicalSorter(graph).static_order())


def test_uses_are_seen() -> None:
    assert used("use crate::course::Arrivals;\nuse crate::{\n    wire::{Load, emit},\n};\n", is_top=True) == {"course", "wire"}
    assert used("let x = crate::frame::take(data); // crate::link\n", is_top=False) == {"frame"}
    assert used("#[cfg(test)]\nmod tests {\n    use crate::stub::Stub;\n}\n", is_top=True) == set()
    assert used("use super::rows::KEY;\n", is_top=True) == {"rows"}
    assert used("use super::Reader;\n", is_top=False) == set()


def test_a_circle_is_found(tmp_path: Path) -> None:
    (tmp_path / "lib.rs").write_text("mod a;\nmod b;\n")
    (tmp_path / "a.rs").write_text("mod part;\n")
    (tmp_path / "a").mkdir()
    (tmp_path / "a/part.rs").write_text("use crate::b::B;\n")
    (tmp_path / "b.rs").write_text("use crate::a::A;\n")
    with pytest.raises(CycleError):
        list(TopologicalSorter(uses(tmp_path)).static_order())


def test_rust_files_that_are_named_elsewhere_exist() -> None:
    named = {(file, name) for folder in ("python", "docs") for file in Path(folder).rglob("*.*") if file.suffix in (".py", ".java", ".md")
             for name in NAMED.findall(file.read_text())}  # fmt: skip
    assert named
    assert not [(str(file), name) for file, name in named if not Path(name).exists()]


def test_the_known_edges_are_there() -> None:
    assert "schedule" in uses(Path("rust/core/src"))["drive"]
    assert {"settings", "connection"} <= uses(Path("rust/cassandra/src"))["native_client"]
