"""Saving and loading: torch's files byte for byte, torch's words, and no code run that was not asked for."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import re
import shutil
import stat
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from saved_objects import objects, seen

import livetape as torch
from livetape import _utils, serialization
from livetape._saving import archive, names
from livetape.storage import METHODS, TypedStorage, UntypedStorage, untyped_storage

SAVED = Path(__file__).parent / "data" / "saved"
OBJECTS = objects(torch)


class Net(torch.nn.Module):
    """As in tests/record/saved_files.py."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.LayerNorm(2)])
        self.scale = torch.nn.ParameterList([torch.ones(1)])
        self.register_buffer("shift", torch.ones(2))
        self.function = torch.relu

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.function(x) * self.scale[0] + self.shift


class Thing:
    pass


class Marked(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl  # or every call of these tests would be offered


def saved(value, **options):
    file = io.BytesIO()
    torch.save(value, file, **options)
    return file.getvalue()


def loaded(data, **options):
    return torch.load(io.BytesIO(data), **options)


def again(value, **options):
    return loaded(saved(value), **options)


def without_identity(data):
    """A file without its serialization id, which no reader looks at."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        (info,) = [info for info in file.infolist() if info.filename.endswith("serialization_id")]
        return data.replace(file.read(info), b"").replace(struct.pack("<I", info.CRC), b"")


def changed(data, **records):
    """A file with other contents of some records, by the ends of their names; None to leave one out."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            for end, change in records.items():
                if name.endswith("/" + end.replace("__", "/").replace("_pkl", ".pkl")):
                    content = change(content) if callable(change) else change
            if content is not None:
                new.writestr(name, content)
    return out.getvalue()


def same(a, b):
    return json.dumps(seen(torch, a), default=repr) == json.dumps(seen(torch, b), default=repr)


# ---------------------------------------------------------------- torch's files
@pytest.mark.parametrize("options", [{}, {"weights_only": False}, {"mmap": True}], ids=str)
@pytest.mark.parametrize("name", OBJECTS)
def test_read_torch(name, options):
    assert same(torch.load(SAVED / f"{name}.pt", **options), OBJECTS[name])


@pytest.mark.parametrize("name", OBJECTS)
def test_written_as_torch_writes(name, tmp_path):
    torch.save(OBJECTS[name], tmp_path / f"{name}.pt")
    ours, theirs = (tmp_path / f"{name}.pt").read_bytes(), (SAVED / f"{name}.pt").read_bytes()
    assert without_identity(ours) == without_identity(theirs)
    with zipfile.ZipFile(tmp_path / f"{name}.pt") as file:
        assert file.testzip() is None


@pytest.mark.parametrize("weights_only", [True, False])
def test_read_legacy(weights_only):
    got = torch.load(SAVED / "legacy.pt", weights_only=weights_only)
    conj = got.pop("conj")
    assert conj.tolist() == [-1j, -1j]
    for name, value in got.items():
        assert same(value, OBJECTS[name])
    got["views"][1][0] = 77
    assert got["views"][0][1, 0] == 77


def test_write_legacy():
    value = {name: OBJECTS[name] for name in ("views", "dtypes", "python", "leaves", "training", "unsigned", "small")}
    data = saved(value, _use_new_zipfile_serialization=False)
    assert not data.startswith(b"PK")
    assert same(loaded(data), value)
    two = io.BytesIO()
    for value in (1, "two"):
        torch.save(value, two, _use_new_zipfile_serialization=False)
    two.seek(0)
    assert [torch.load(two), torch.load(two)] == [1, "two"]
    with pytest.raises(RuntimeError, match=r"mmap can only be used with files saved with"):
        loaded(data, mmap=True)


def test_lazily_conjugated():
    first, second = torch.load(SAVED / "lazy.pt")
    assert first.tolist() == [1 - 2j, 3 + 1j]
    assert second.tolist() == [-2.0, 1.0]


def test_whole_module():
    with pytest.raises(
        pickle.UnpicklingError, match=r"GLOBAL test_serialization.Net was not an allowed global by default"
    ):
        torch.load(SAVED / "module.pt")
    net = torch.load(SAVED / "module.pt", weights_only=False)
    torch.manual_seed(0)
    fresh = Net()
    x = torch.ones(1, 2)
    assert torch.equal(net(x), fresh(x))
    net(x).sum().backward()
    assert net.layers[0].weight.grad is not None
    parts = [
        Net,
        torch.nn.ModuleList,
        torch.nn.Linear,
        torch.nn.LayerNorm,
        torch.nn.ParameterList,
        dict,
        set,
        torch.relu,
    ]
    data = saved(fresh)
    with torch.serialization.safe_globals(parts):
        assert torch.equal(loaded(data)(x), fresh(x))
    asked = serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))
    assert {"torch.nn.modules.linear.Linear", "torch.nn.modules.container.ParameterList"} < set(asked)
    assert not any("livetape" in path for path in asked)


@pytest.mark.parametrize(
    "thing, path",
    [
        (torch.nn.MultiheadAttention, "torch.nn.modules.activation.MultiheadAttention"),
        (torch.nn.ChannelShuffle, "torch.nn.modules.channelshuffle.ChannelShuffle"),
        (torch.nn.LinearCrossEntropyLoss, "torch.nn.modules.loss.LinearCrossEntropyLoss"),
        (torch.optim.AdamW, "torch.optim.adamw.AdamW"),
        (torch.optim.Muon, "torch.optim.Muon"),
        (torch.optim.lr_scheduler.StepLR, "torch.optim.lr_scheduler.StepLR"),
    ],
)
def test_classes_go_by_torchs_paths(thing, path):
    assert serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(saved(thing))) == [path]
    with torch.serialization.safe_globals([thing]):
        assert loaded(saved(thing)) is thing


def test_modules_with_hooks_and_weights_of_torchs_names():
    """What torch's own classes read of the pickle is in it."""
    net = torch.nn.Sequential(torch.nn.utils.spectral_norm(torch.nn.Linear(2, 2)), torch.nn.GRU(2, 3))
    data = saved(net)
    assert {
        "torch.nn.utils.spectral_norm.SpectralNormStateDictHook",
        "torch.nn.utils.spectral_norm.SpectralNormLoadStateDictPreHook",
        "torch.nn.modules.module._WrappedHook",
    } < set(serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data)))
    again = loaded(data, weights_only=False)
    assert again[0].state_dict()._metadata[""]["spectral_norm"] == {"weight.version": 1}
    (weight,) = [w for w in net[1].__getstate__()["_flat_weights"] if w is net[1].weight_hh_l0]
    assert torch.equal(again[1].weight_hh_l0, weight) and "_flat_weights" not in again[1].__dict__


# ---------------------------------------------------------------- memory
def test_sharing():
    x = torch.arange(6.0)
    got = again({"whole": x, "part": x[2:4], "twin": x.detach(), "other": torch.arange(6.0)})
    got["whole"][3] = 10
    assert got["part"].tolist() == [2, 10] and got["twin"][3] == 10 and got["other"][3] == 3


def test_detached_parts_that_overlap():
    """Their storage is made large enough for both; those that do not overlap keep to themselves."""
    memory = torch.arange(1000.0)
    a, b, c = memory[10:20].detach(), memory[15:30].detach(), memory[500:510].detach()
    data = saved([a, b, c, a])
    assert len(data) < 2000
    got = loaded(data)
    got[0][5] = 99
    assert got[1][0] == 99 and got[3] is got[0] and got[2].tolist() == c.tolist()
    assert (
        loaded(saved(memory[0:5])).array.base is not None and len(saved(memory[0:5])) > 4000
    )  # a view brings its base


def test_made_while_pickling():
    """What a __reduce__ makes anew each time may lie anywhere."""

    class Maker:
        def __reduce__(self):
            made = torch.arange(8.0)
            return list, ([made.detach()[:6].detach(), made[2:].detach()],)

    a, b = again(Maker(), weights_only=False)
    assert a.tolist() == [0, 1, 2, 3, 4, 5] and b.tolist() == [2, 3, 4, 5, 6, 7]


def test_two_types():
    x = torch.arange(6.0)
    with pytest.raises(
        RuntimeError, match=r"^Cannot save multiple tensors or storages that view the same data as different types$"
    ):
        saved([x, x.view(torch.int32)])


def test_mmap(tmp_path):
    path = tmp_path / "a.pt"
    torch.save({"x": torch.arange(1000.0), "y": torch.ones(3)}, path)
    before = path.read_bytes()
    got = torch.load(path, mmap=True)
    got["x"][0] = 5
    assert path.read_bytes() == before and got["y"].storage_offset() == 0
    torch.save(got, path)  # onto the file that is mapped
    assert torch.load(path)["x"][0] == 5 and got["x"][999] == 999
    with serialization.set_default_mmap_options(1):
        torch.load(path, mmap=True)["x"][1] = 7
    assert torch.load(path)["x"][1] == 7
    with pytest.raises(ValueError, match=r"^f must be a file path in order to use the mmap argument$"):
        loaded(before, mmap=True)


def test_storages():
    x = torch.arange(6.0).reshape(2, 3)
    storage = untyped_storage(x[1])
    assert storage.data_ptr() == x.data_ptr() and storage.nbytes() == storage.size() == len(storage) == 24
    assert storage == untyped_storage(x) and storage[6] == 128 and storage[4:8].tolist() == [0, 0, 128, 63]
    with pytest.warns(UserWarning, match=r"^TypedStorage is deprecated"):
        typed = METHODS["storage"](x)
    assert (
        typed.size() == 6 and typed[1] == 1.0 and typed.dtype is torch.float32 and typed.type() == "torch.FloatStorage"
    )
    assert repr(TypedStorage([1, 2], dtype=torch.int32)) == (
        " 1\n 2\n[torch.storage.TypedStorage(dtype=torch.int32, device=cpu) of size 2]"
    )
    assert repr(UntypedStorage([7])) == " 7\n[torch.storage.UntypedStorage(device=cpu) of size 1]"
    got = again([storage, typed.clone()])
    assert got[0].tolist() == storage.tolist() and got[1].tolist() == x.reshape(-1).tolist()


# ---------------------------------------------------------------- what runs and what does not
class Evil:
    def __reduce__(self):
        return os.system, ("echo evil",)


@pytest.mark.parametrize(
    "value, words",
    [
        (
            Thing(),
            "Unsupported global: GLOBAL test_serialization.Thing was not an allowed global by default. Please use "
            "`torch.serialization.add_safe_globals([test_serialization.Thing])` or the "
            "`torch.serialization.safe_globals([test_serialization.Thing])` context manager to allowlist this global if "
            "you trust this class/function.",
        ),
        (Evil(), f"Trying to load unsupported GLOBAL {os.name}.system whose module {os.name} is blocked."),
        (np.ones(2), "GLOBAL numpy._core.multiarray._reconstruct was not an allowed global by default."),
        (frozenset([1]), "add_safe_globals([frozenset])"),
    ],
)
def test_not_allowed(value, words):
    with pytest.raises(pickle.UnpicklingError) as caught:
        again(value)
    assert words in str(caught.value)
    assert str(caught.value).startswith("Weights only load failed. ")
    assert "\n\nCheck the documentation of torch.load to learn more about types accepted by default" in str(
        caught.value
    )
    if not isinstance(value, Evil):
        again(value, weights_only=False)


def test_trust():
    data = saved([Thing(), torch.ones(2).as_subclass(Marked)])
    with serialization.safe_globals([Thing, Marked]):
        assert set(serialization.get_safe_globals()) == {Thing, Marked}
        assert [type(part) for part in loaded(data)] == [Thing, Marked]
    assert serialization.get_safe_globals() == []
    serialization.add_safe_globals([(Thing, "test_serialization.Thing"), Marked])
    assert type(loaded(data)[0]) is Thing
    assert serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data)) == []
    serialization.clear_safe_globals()
    assert set(serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))) == {
        "test_serialization.Thing",
        "test_serialization.Marked",
    }
    serialization.add_safe_globals([(Thing,)])
    with pytest.raises(ValueError, match=r"^Expected tuple of length 2"):
        loaded(data)
    serialization.clear_safe_globals()


def op(*parts):
    return b"\x80\x02" + b"".join(parts) + b"."


ORDERED = b"ccollections\nOrderedDict\n"


@pytest.mark.parametrize(
    "data, words",
    [
        (op(b"cbuiltins\neval\nX\x03\0\0\0", b"1+1\x85R"), "GLOBAL eval was not an allowed global"),
        (op(b"c__builtin__\neval\nX\x03\0\0\0", b"1+1\x85R"), "GLOBAL eval was not an allowed global"),
        (op(b"csys\nexit\n)R"), "GLOBAL sys.exit whose module sys is blocked"),
        (op(b"}K\1a"), "Can only append to lists, but got <class 'dict'>"),
        (
            op(b"]K\1K\2s"),
            "Can only SETITEM for dict, collections.OrderedDict, collections.Counter, but got <class 'list'>",
        ),
        (op(b"K\1)R"), "Trying to call reduce for unrecognized function 1"),
        (op(b"]}b"), "Can only build Tensor, Parameter, OrderedDict or types allowlisted"),
        (op(ORDERED, b")R)R"), "Trying to call reduce for unrecognized function OrderedDict()"),
        (op(b"K\1)\x81"), "Can only create new object for nn.Parameter or classes allowlisted"),
        (op(b"X\1\0\0\0aQ"), "persistent_load id must be tuple or int, but got <class 'str'>"),
        (op(b"X\1\0\0\0a\x85Q"), "Only persistent_load of storage is allowed"),
        (op(b"(I1\nl"), "Unsupported operand 73"),
        (op(b"h\7"), "Memo value not found at index 7"),
        (op(b"R"), "the pickle is damaged"),
        (op(ORDERED, b"X\7\0\0\0__doc__X\1\0\0\0a\x86\x85b"), "Can only build Tensor, Parameter, OrderedDict or types"),
    ],
)
def test_opcodes(data, words):
    with pytest.raises(pickle.UnpicklingError, match=re.escape(words)):
        loaded(changed(saved(0), data_pkl=data))


def test_a_file_sets_no_parts_of_tensors():
    """The attributes of a tensor that a file brings are the program's: they hide none of the tensor's own."""
    x = torch.ones(2)
    x.arrau = 1
    evil = changed(saved(x), data_pkl=lambda content: content.replace(b"arrau", b"array"))
    assert loaded(evil).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match=r"a tensor's array is not to be set"):
        _utils._rebuild_from_type_v2(lambda: torch.ones(1), torch.Tensor, (), (None, {"array": 1}))


def test_sizes_are_checked():
    data = saved(torch.arange(4.0))
    for old, new in ((b"K\4\x85", b"K\x09\x85"), (b"K\1\x85", b"K\x7f\x85"), (b"QK\0", b"QK\1")):
        with pytest.raises(RuntimeError, match=r"^Trying to resize storage that is not resizable"):
            loaded(changed(data, data_pkl=lambda content, old=old, new=new: content.replace(old, new)))
    with pytest.raises(
        RuntimeError,
        match=r"^record size \(5 bytes\) does not match expected size \(16 bytes = 16 elements "
        r"\* 1 bytes/element\) for dtype Byte$",
    ):
        loaded(changed(data, data__0=b"12345"))


# ---------------------------------------------------------------- damaged and foreign files
BROKEN = "PytorchStreamReader failed "


@pytest.mark.parametrize(
    "change, error, words",
    [
        (lambda d: d[: len(d) // 2], RuntimeError, BROKEN + "reading zip archive: failed finding central directory."),
        (lambda d: changed(d, data_pkl=None), RuntimeError, BROKEN + "locating file data.pkl: file not found."),
        (lambda d: changed(d, data__0=None), RuntimeError, BROKEN + "locating file data/0: file not found."),
        (
            lambda d: changed(d, version=b"30"),
            RuntimeError,
            "Attempted to read a PyTorch file with version 30, but the maximum",
        ),
        (lambda d: changed(d, byteorder=b"what"), ValueError, "Unknown endianness type: what"),
        (lambda d: b"", EOFError, ""),
        (lambda d: b"hello world", pickle.UnpicklingError, "Weights only load failed."),
        (
            lambda d: saved(1, _use_new_zipfile_serialization=False)[15:],
            RuntimeError,
            "Invalid magic number; corrupt file?",
        ),
    ],
)
def test_damaged(change, error, words):
    with pytest.raises(error, match="^" + re.escape(words)):
        loaded(change(saved(torch.ones(2))))


def test_other_zip_files():
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
        zipfile.ZipFile(io.BytesIO(saved(torch.ones(2)))) as old,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name))
    assert loaded(out.getvalue()).tolist() == [1, 1]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as new:
        new.writestr("hello.txt", "hi")
    with pytest.raises(
        RuntimeError,
        match=r"^\[enforce fail at inline_container.cc:180\] . file in archive is not in a subdirectory: hello.txt$",
    ):
        loaded(out.getvalue())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as new:
        for name in ("constants.pkl", "version", "data.pkl"):
            new.writestr(f"archive/{name}", b"3")
    with (
        pytest.raises(RuntimeError, match=r"Cannot use ``weights_only=True`` with TorchScript archives"),
        pytest.warns(UserWarning, match=r"looks like a TorchScript archive"),
    ):
        loaded(out.getvalue())


def test_byte_order():
    data = saved([torch.tensor([1.0, 2.0]), torch.tensor([1 + 2j]), torch.tensor([True])])
    big = changed(data, byteorder=b"big")
    swapped = changed(
        big,
        data__0=lambda c: np.frombuffer(c, "<f4").astype(">f4").tobytes(),
        data__1=lambda c: np.frombuffer(c, "<c8").astype(">c8").tobytes(),
    )
    assert [part.tolist() for part in loaded(swapped)] == [[1, 2], [1 + 2j], [True]]
    untold = changed(swapped, byteorder=None)
    serialization.set_default_load_endianness(serialization.LoadEndianness.BIG)
    try:
        assert loaded(untold)[0].tolist() == [1, 2]
    finally:
        serialization.set_default_load_endianness(None)
    assert loaded(untold)[0].tolist() != [1, 2]


def test_large_files_have_wide_tables(monkeypatch):
    """Places and sizes of more than 32 bits, with a limit that small files pass."""
    monkeypatch.setattr(archive, "_LIMIT", 700)
    value = {"a": torch.arange(300.0), "b": torch.ones(3)}
    data = saved(value)
    with zipfile.ZipFile(io.BytesIO(data.replace(struct.pack("<I", 700), b"\xff\xff\xff\xff"))) as file:
        assert file.read("archive/data/0") == value["a"].array.tobytes()
    assert same(loaded(data), value)


# ---------------------------------------------------------------- where it goes
def test_map_location():
    data = saved({"x": torch.ones(3)})
    there = changed(data, data_pkl=lambda content: content.replace(b"X\3\0\0\0cpu", b"X\6\0\0\0cuda:0"))
    words = (
        "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running "
        "on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to "
        "the CPU."
    )
    calls = []
    for location in (None, "cuda:1", lambda storage, location: None):
        with pytest.raises(RuntimeError, match="^" + re.escape(words)):
            loaded(there, map_location=location)

    def to_cpu(storage, location):
        calls.append((type(storage), location, storage.nbytes()))
        return storage

    for location in ("cpu", torch.device("cpu"), {"cuda:0": "cpu"}, to_cpu):
        assert loaded(there, map_location=location)["x"].tolist() == [1, 1, 1]
    assert calls == [(UntypedStorage, "cuda:0", 12)]
    with pytest.raises(
        RuntimeError,
        match=r"don't know how to restore data location of torch.storage.UntypedStorage "
        r"\(tagged with nowhere\)",
    ):
        loaded(data, map_location="nowhere")


def test_hooks_are_left_behind_with_a_warning():
    x = torch.ones(2, requires_grad=True)
    handle = x.register_hook(torch.utils.hooks.unserializable_hook(lambda grad: grad))
    assert loaded(saved(x)).requires_grad
    handle.remove()
    x.register_hook(lambda grad: grad)
    with pytest.warns(UserWarning, match=r"^backward hook <function .* on tensor will not be serialized\.  If this is"):
        assert loaded(saved(x))._backward_hooks is None


def test_replaced_when_complete(tmp_path):
    path = tmp_path / "a.pt"
    torch.save(1, path)
    path.chmod(0o640)
    local = "Can't pickle local object 'test_replaced_when_complete.<locals>.<lambda>'"
    with pytest.raises(AttributeError, match=f"^{re.escape(local)}$"):
        torch.save([torch.ones(1000), lambda: 0], path)
    assert torch.load(path) == 1 and os.listdir(tmp_path) == ["a.pt"]

    class Interrupting:
        def __reduce__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        torch.save(Interrupting(), path)
    link = tmp_path / "link.pt"
    link.symlink_to(path)
    torch.save(2, link)
    assert link.is_symlink() and torch.load(path) == 2 and stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["a.pt", "link.pt"]


def test_paths(tmp_path):
    with pytest.raises(RuntimeError, match=f"^Parent directory {re.escape(str(tmp_path))}/none does not exist.$"):
        torch.save(1, tmp_path / "none" / "a.pt")
    with pytest.raises(RuntimeError, match=r"Is a directory"):
        torch.save(1, tmp_path)
    with pytest.raises(AttributeError, match=r"^expected 'f' to be string, path, or a file-like object with a 'write'"):
        torch.save(1, 3)
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "none.pt")
    with pytest.raises(
        AttributeError,
        match=r"^'int' object has no attribute 'seek'. You can only torch.load from a file that is seekable.",
    ):
        torch.load(3)
    torch.save("x", os.devnull)
    assert not Path(os.devnull).is_file()
    with open(tmp_path / "raw.pt", "wb", buffering=0) as raw:
        torch.save(torch.ones(5), raw)
    with open(tmp_path / "raw.pt", "rb", buffering=0) as raw:
        assert torch.load(raw).tolist() == [1] * 5
    with gzip.open(tmp_path / "a.gz", "wb") as packed:
        torch.save({"a": torch.ones(5), "b": torch.zeros(2)}, packed)
    with gzip.open(tmp_path / "a.gz", "rb") as packed:
        assert torch.load(packed)["b"].tolist() == [0, 0]
    later = io.BytesIO(b"xx" + saved(torch.ones(1)))
    later.seek(2)
    assert torch.load(later).tolist() == [1]


def test_options(monkeypatch):
    data = saved([1, "a", {2}, b"c", frozenset([3]), torch.ones(2)], pickle_protocol=4)
    with pytest.warns(UserWarning, match=r"^Detected pickle protocol 4 in the checkpoint"):
        assert loaded(data)[:5] == [1, "a", {2}, b"c", frozenset([3])]
    with pytest.raises(RuntimeError, match=r"^Can not safely load weights when explicit pickle_module is specified$"):
        loaded(data, pickle_module=pickle, weights_only=True)
    assert loaded(data, pickle_module=pickle)[0] == 1
    with serialization.skip_data():
        empty = saved(torch.ones(3))
        assert again(torch.ones(2)).tolist() == [0, 0]
    assert loaded(empty).tolist() == [0, 0, 0] and len(empty) == len(saved(torch.ones(3)))
    serialization.set_crc32_options(False)
    try:
        assert loaded(saved(torch.ones(3))).tolist() == [1, 1, 1]
    finally:
        serialization.set_crc32_options(True)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match=r"^Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected"):
        assert type(again(Thing())) is Thing
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match=r"^Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD`"):
        again(1)


def test_safetensors(tmp_path):
    path = tmp_path / "a.safetensors"
    weight, bias = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([16256, 16384], np.uint16)
    table = {
        "weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [4, 28]},
        "__metadata__": {"format": "pt"},
        "bias": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]},
    }
    head = json.dumps(table).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + bias.tobytes() + weight.tobytes())
    got = torch.load(path)
    assert list(got) == ["bias", "weight"] and got["weight"].tolist() == weight.tolist()
    assert got["bias"].dtype is torch.bfloat16 and got["bias"].tolist() == [1, 2]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RuntimeError, match=r"invalid offsets of tensor weight"):
        torch.load(path)


def test_names():
    for thing in (
        torch.Tensor,
        torch.nn.Linear,
        torch.relu,
        torch.float32,
        torch.Generator,
        torch.optim.Adam,
        torch.optim.lr_scheduler.StepLR,
        torch.nn.functional.softmax,
    ):
        found = names.torch_name(thing)
        assert found is not None and names.find(*found) is thing
    assert names.torch_name(Thing) is None and names.torch_name(len) is None
    with pytest.raises(AttributeError, match=r"^Can't get attribute 'Nothing' on <module 'torch.nn'>"):
        names.find("torch.nn", "Nothing")


def test_generator_and_optimizer():
    generator = torch.Generator().manual_seed(3)
    torch.rand(3, generator=generator)
    twin = again(generator, weights_only=False)
    assert torch.rand(2, generator=twin).tolist() == torch.rand(2, generator=generator).tolist()
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adam([weight], lr=0.1)
    for _ in range(3):
        (weight * weight).sum().backward()
        optimizer.step()
    other = torch.nn.Parameter(weight.detach().clone())
    resumed = torch.optim.Adam([other], lr=0.5)
    resumed.load_state_dict(again(optimizer.state_dict()))
    for param, stepped in ((weight, optimizer), (other, resumed)):
        param.grad = torch.ones(3)
        stepped.step()
    assert torch.equal(weight, other)


def test_copied_file_is_independent(tmp_path):
    """Loading leaves nothing open: the file may go."""
    shutil.copy(SAVED / "views.pt", tmp_path / "views.pt")
    got = torch.load(tmp_path / "views.pt")
    os.unlink(tmp_path / "views.pt")
    assert same(got, OBJECTS["views"])
