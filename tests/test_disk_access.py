"""What configures, starts and steers systems touches files through their host only: another machine's disk is not here."""

from __future__ import annotations

import ast
from pathlib import Path

import hydrotest

PACKAGE = Path(hydrotest.__file__).parent
WRITES = {"write_text", "write_bytes", "write_whole", "mkdir", "makedirs", "touch", "unlink", "rmdir", "rmtree", "rename", "symlink_to",
          "chmod", "fchmod", "open", "mkdtemp", "mkstemp", "copy", "copyfile", "copytree", "move"}  # fmt: skip
READS = {"read_text", "read_bytes", "exists", "is_file", "is_dir", "iterdir", "stat", "rglob"}
HOSTS = {"host", "files", "_files", "name_node", "master"}
"""Names of those through whom files are touched."""
CONTROLLER = {
    # The cache of distributions, on the controller's machine alone.
    "systems/fetch.py": WRITES | READS,
    "systems/pip.py": WRITES | READS,
    "systems/class_archive.py": {"stat", "is_file", "read_text", "exists"},
    "systems/spark/home.py": {"exists"},
    # The command of Java that is on the controller's machine.
    # Texts that come with the package.
    "systems/base.py": {"read_text"},
}


def touched(source: str) -> set[str]:
    """Functions and methods that touch this machine's files, as they are called in a source."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Name(name) | ast.Attribute(attr=name) if name in WRITES | READS and not _of_host(node.func):
                found.add(name)
    return found


def _of_host(function: ast.expr) -> bool:
    if not isinstance(function, ast.Attribute):
        return False
    match function.value:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name in HOSTS
    return False


def test_systems_and_load_touch_files_through_their_hosts() -> None:
    modules = [path for room in ("systems", "load") for path in sorted((PACKAGE / room).rglob("*.py"))]
    assert len(modules) > 15
    beyond = {}
    for path in modules:
        name = str(path.relative_to(PACKAGE))
        if more := touched(path.read_text()) - CONTROLLER.get(name, set()):
            beyond[name] = more
    assert beyond == {}


def test_each_exception_is_needed() -> None:
    assert {name for name in CONTROLLER if not touched((PACKAGE / name).read_text()) & CONTROLLER[name]} == set()


def test_what_touches_a_disk_is_seen() -> None:
    source = "path.write_text('x')\nopen('x')\nos.open('x')\nshutil.rmtree(path)\nfolder.mkdir()\npath.exists()\n"
    assert touched(source) == {"write_text", "open", "rmtree", "mkdir", "exists"}
    assert touched("host.open(path)\nawait self._files.open(path)\ntext.replace('a', 'b')") == set()
