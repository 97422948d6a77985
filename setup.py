"""Builds livetape's compiled parts; everything else about the package stands in pyproject.toml.

The modules in COMPILED are compiled by mypyc. LIVETAPE_PURE decides what happens:

    unset  compile; without a working C compiler install the same sources uncompiled, and say so
    1      install uncompiled: for debugging into the tape, for machines without a compiler, for Pyodide
    0      compile, and fail if that is impossible: for wheels and for CI

LIVETAPE_SANITIZE=1 compiles the C++ alone, with checks of memory and of undefined behaviour (`make sanitize`).
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent
COMPILED = [
    "src/livetape/_tape/*.py",
    "src/livetape/dtypes.py",
    "src/livetape/operators.py",
    "src/livetape/shortcuts.py",
]
NATIVE = "src/livetape/kernels/native/*.cpp"
CHOICE = os.environ.get("LIVETAPE_PURE", "")
if CHOICE not in ("", "0", "1"):
    raise SystemExit(f"livetape: LIVETAPE_PURE must be 0, 1 or unset, not {CHOICE!r}")
SANITIZE = os.environ.get("LIVETAPE_SANITIZE") == "1"
# Null and oversized accesses are AddressSanitizer's to find as well; their own checks triple the time to compile.
SANITIZERS = ["-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize=null,object-size,vptr"]

# pip asks for metadata and requirements first, by other commands: only these ones build.
BUILDING = {"build", "build_ext", "bdist_wheel", "editable_wheel", "install", "develop"} & set(sys.argv)


def say(message: str) -> None:
    print(f"livetape: {message}", file=sys.stderr, flush=True)


def matching(pattern: str) -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern) if path.name != "__init__.py")


def compiler_fault() -> str | None:
    """What is wrong with the C compiler: try it on the smallest extension, Python's headers included."""
    from distutils.ccompiler import new_compiler  # setuptools provides it on every Python
    from distutils.sysconfig import customize_compiler, get_python_inc

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        source.write_text("#include <Python.h>\nint probe(void) { return PY_MAJOR_VERSION; }\n")
        try:
            compiler = new_compiler()
            customize_compiler(compiler)
            compiler.compile(
                [str(source)],
                output_dir=folder,
                include_dirs=[get_python_inc(), get_python_inc(plat_specific=True)],
            )
        except Exception as fault:  # each compiler class has its own
            return str(fault) or type(fault).__name__
    return None


def compiled_modules() -> list[Extension]:
    sources = [name for pattern in COMPILED for name in matching(pattern)]
    if not sources:
        return []
    try:
        from mypyc.build import mypycify
    except ImportError as fault:
        raise SystemExit(
            f"livetape: compiling needs mypy, which cannot be imported ({fault}). Install mypy, or set LIVETAPE_PURE=1."
        ) from None
    modules = mypycify(["--config-file=mypyc.ini", *sources], opt_level="3", debug_level="0", group_name="livetape")
    for module in modules:  # another compiler's new warning must not stop a user's installation
        module.extra_compile_args = [flag for flag in module.extra_compile_args if flag != "-Werror"]
    return modules


def native_kernels() -> list[Extension]:
    """Leaf loops in C++. Each has a NumPy twin, so the package works without them too."""
    sources = matching(NATIVE)
    if not sources:
        return []
    import numpy

    windows = sys.platform == "win32"
    flags = ["/std:c++17", "/O2"] if windows else ["-std=c++17", "-O3", "-g0", "-fvisibility=hidden", "-pthread"]
    links = [] if windows else ["-pthread"]
    if SANITIZE:
        flags += [*SANITIZERS, "-fno-sanitize-recover=all", "-O1", "-g1", "-fno-omit-frame-pointer"]
        links += SANITIZERS
    kernels = Extension(
        "livetape.kernels._native",
        sources,
        include_dirs=[numpy.get_include(), "src/livetape/kernels/native"],
        depends=[path.relative_to(ROOT).as_posix() for path in ROOT.glob("src/livetape/kernels/native/*.h*")],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
        extra_compile_args=flags,
        extra_link_args=links,
        language="c++",
        optional=CHOICE != "0",
    )
    return [kernels]


def extensions() -> list[Extension]:
    if not BUILDING or CHOICE == "1":
        return []
    fault = compiler_fault()
    if fault is None:
        return native_kernels() if SANITIZE else compiled_modules() + native_kernels()
    if CHOICE == "0":
        raise SystemExit(f"livetape: no working C compiler ({fault}). Set LIVETAPE_PURE=1 to install uncompiled.")
    say(f"no working C compiler ({fault}).")
    say("Installing the uncompiled sources: the same results, slower. LIVETAPE_PURE=1 chooses this silently.")
    return []


class CleanBuild(build):
    """A build that starts empty: what an older build left (removed modules, stale binaries) must not be packed."""

    def run(self) -> None:
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class BuildExtensions(build_ext):
    """No binary goes beside the sources: it would hide later edits from every environment that reads them."""

    def finalize_options(self) -> None:
        super().finalize_options()
        if self.editable_mode:
            self.inplace = False  # an editable install then copies the binaries beside its links
        elif self.inplace:
            raise SystemExit("livetape: in-place builds would shadow the sources; use `pip install -e .` instead.")


setup(
    ext_modules=extensions(),
    cmdclass={"build": CleanBuild, "build_ext": BuildExtensions},
    setup_requires=[] if CHOICE == "1" else ["mypy>=2.4,<3", "numpy>=2.3"],
    # Strict: `pip install -e .` links the sources into a folder of its own under build/, with the binaries beside
    # the links, so that compiled and uncompiled editable installs of one checkout do not meet.
    options={"editable_wheel": {"mode": "strict"}},
)
