"""Writes the files that list what the operations' families declare, so that editors and readers see every name.

    python tools/write_namespaces.py

Each family's file in src/livetape/ops/ declares FUNCTIONS (torch.x), METHODS (Tensor.x) and FUNCTIONAL
(torch.nn.functional.x). From these follow ops/__init__.py, methods.py and nn/functional.py, which are checked in;
tests/test_namespace.py fails where they lag behind.
"""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent / "src" / "livetape"
# torch.x and torch.nn.functional.x are one function
SHARED = """adaptive_avg_pool1d affine_grid avg_pool1d bilinear celu_ channel_shuffle conv1d conv2d conv3d conv_tbc
conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity hardshrink linear one_hot pairwise_distance pdist
pixel_shuffle pixel_unshuffle prelu relu_ rrelu_ selu_ sigmoid softplus tanh threshold_""".split()
# torch.nn.functional.x alone, and yet written in C++ in torch
BUILT_IN = """avg_pool2d avg_pool3d elu_ gelu hardtanh_ leaky_relu_ logsigmoid native_channel_shuffle
scaled_dot_product_attention softshrink""".split()
# torch.nn.functional's functions that are composed of others, by module of livetape.nn
COMPOSED = {
    "_attention": ["multi_head_attention_forward", "scaled_dot_product_attention"],
    "_ctc": ["ctc_loss"],
    "_linear_cross_entropy": ["linear_cross_entropy"],
    "_sampling": ["affine_grid", "grid_sample"],
}
FUTURE = "from __future__ import annotations"


def families() -> dict[str, types.ModuleType]:
    """The families' modules, imported without the files that are written here."""
    sys.path.insert(0, str(ROOT.parent))
    for name, path in (("livetape", ROOT), ("livetape.ops", ROOT / "ops")):
        package = types.ModuleType(name)
        package.__path__ = [str(path)]
        sys.modules[name] = package
    sys.modules["livetape"].ops = sys.modules["livetape.ops"]  # type: ignore[attr-defined]
    found = {}
    for info in pkgutil.iter_modules([str(ROOT / "ops")]):
        module = importlib.import_module(f"livetape.ops.{info.name}")
        if {"FUNCTIONS", "METHODS", "FUNCTIONAL"} & set(vars(module)):
            found[info.name] = module
    return found


def attribute_of(module: types.ModuleType, wanted: Any, preferred: str) -> str | None:
    """The name under which a module has an object."""
    names = vars(module)
    if names.get(preferred) is wanted:
        return preferred
    return next((name for name, value in names.items() if value is wanted and not name.startswith("__")), None)


def imports(origins: dict[str, tuple[str, str]]) -> list[str]:
    """Import statements for {name: (family, attribute)}."""
    lines: list[str] = []
    for family in sorted({family for family, _ in origins.values()}):
        chosen = sorted((attribute, name) for name, (owner, attribute) in origins.items() if owner == family)
        lines.append(f"from livetape.ops.{family} import (")
        lines += [
            f"    {attribute}," if attribute == name else f"    {attribute} as {name}," for attribute, name in chosen
        ]
        lines.append(")")
    return lines


def listed(names: Any) -> list[str]:
    """An __all__."""
    return enumerated("__all__", names)


def enumerated(variable: str, names: Any) -> list[str]:
    """A list of names."""
    return [f"{variable} = [", *[f'    "{name}",' for name in sorted(names)], "]"]


def functions(modules: dict[str, types.ModuleType]) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """{name: family} of torch's functions, and {name: (family, attribute)} of torch.nn.functional's."""
    top: dict[str, str] = {}
    functional: dict[str, tuple[str, str]] = {}
    for family, module in modules.items():
        for name in getattr(module, "FUNCTIONS", ()):
            top.setdefault(name, family)
        declared = getattr(module, "FUNCTIONAL", ())
        for name in declared:
            wanted = declared[name] if isinstance(declared, dict) else getattr(module, name)
            functional.setdefault(name, (family, attribute_of(module, wanted, name) or name))
    return top, functional


def method_expression(
    family: str, module: types.ModuleType, name: str, function: Any, clashing: bool
) -> tuple[str, str]:
    """How the class body names a method's function, and the attribute that must be imported for it."""
    attribute = attribute_of(module, function, name)
    suffix = ""
    if attribute is None:
        attribute = next((k for k, v in vars(module).items() if getattr(v, "inplace", None) is function), None)
        suffix = ".inplace"
    if attribute is None:
        return f'{family}.METHODS["{name}"]', ""
    return (attribute if clashing else f"{family}.{attribute}") + suffix, attribute


def methods_file(modules: dict[str, types.ModuleType], names: set[str]) -> list[str]:
    """methods.py: a class that binds every method."""
    body: list[str] = []
    bound: set[str] = set()
    single: dict[str, tuple[str, str]] = {}
    whole: list[str] = []
    for family, module in modules.items():
        methods = getattr(module, "METHODS", None)
        if not methods:
            continue
        clashing = family in names  # a function of the package hides the family's module
        if not clashing and not bound.issuperset(methods):
            whole.append(family)
        body += ["", f"    # ops/{family}.py"]
        for name, function in methods.items():
            if name in bound:
                continue
            bound.add(name)
            expression, attribute = method_expression(family, module, name, function, clashing)
            if clashing:
                single[attribute] = (family, attribute)
            body.append(f"    {name} = {expression}")
    return [
        '"""Methods: the operations as methods of a tensor, each the function that its family\'s file defines."""',
        "",
        FUTURE,
        "",
        "from livetape.operators import Operators",
        "from livetape.ops import (",
        *[f"    {f}," for f in sorted(whole)],
        ")",
        *imports(single | {n: ("boundary", n) for n in ("bind", "shorten")}),
        "from livetape.shortcuts import SHORTCUTS",
        "",
        "",
        "class Methods(Operators):",
        '    """A tensor with the operations as methods."""',
        "",
        "    __slots__ = ()",
        *body,
        "",
        "",
        "bind(Methods)",
        "shorten(SHORTCUTS, Methods)",
    ]


def main() -> None:
    modules = families()
    top, functional = functions(modules)
    everything = {name: (family, name) for name, (family, _) in functional.items() if name not in top}
    everything = {n: o for n, o in everything.items() if hasattr(modules[o[0]], n)}
    everything |= {name: (family, name) for name, family in top.items()} | {
        "storage_offset": ("basics", "storage_offset")
    }
    shared = {n: everything[n] for n in SHARED if n in everything}
    files = {
        "ops/__init__.py": [
            '"""The operations: one file a family, each operation declared once in the table (`table.TABLE`)."""',
            "",
            FUTURE,
            "",
            *imports(everything | {"publish": ("boundary", "publish")}),
            "",
            "# What ``torch`` itself has; the rest belongs to ``torch.nn.functional``.",
            *listed(top),
            'publish(globals(), __all__, "livetape")',
        ],
        "methods.py": methods_file(modules, set(everything)),
        "nn/functional.py": [
            '"""torch.nn.functional: the operations of networks, by torch\'s names."""',
            "",
            FUTURE,
            "",
            "from typing import Any",
            "",
            *[f"from livetape.nn.{module} import {', '.join(names)}" for module, names in COMPOSED.items()],
            *imports(shared | functional | {n: ("boundary", n) for n in ("publish", "publish_plain")}),
            "",
            *listed({*shared, *functional, *(name for names in COMPOSED.values() for name in names)}),
            "",
            "# What torch's own code in Python defines answers a wrong call in Python's words.",
            *enumerated("_BUILT_IN", {*shared, *BUILT_IN}),
            'publish(globals(), _BUILT_IN, "livetape.nn.functional")',
            'publish_plain(globals(), __all__, "livetape.nn.functional")',
            "",
            "",
            "def __getattr__(name: str) -> Any:",
            "    raise AttributeError(f\"module 'torch.nn.functional' has no attribute '{name}'\")",
        ],
    }
    for name, lines in files.items():
        (ROOT / name).write_text("\n".join(lines) + "\n")
    subprocess.run([sys.executable, "-m", "ruff", "format", "-q", *[str(ROOT / name) for name in files]], check=False)
    subprocess.run(
        [sys.executable, "-m", "ruff", "check", "-q", "--select", "I", "--fix", *[str(ROOT / n) for n in files]],
        check=False,
    )


if __name__ == "__main__":
    main()
