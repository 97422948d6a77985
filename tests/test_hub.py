"""torch.hub from folders and file URLs."""

from __future__ import annotations

import hashlib
import sys
import zipfile

import pytest

import livetape as torch
from livetape import alias, hub

HUBCONF = '''
dependencies = ["torch", "numpy"]
import torch
from helper import SIZE

def net(width=SIZE):
    """A layer."""
    return torch.nn.Linear(width, 1)

def _hidden():
    pass
'''


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "_chosen", {})
    hub.set_dir(tmp_path / "hub")
    assert hub.get_dir() == str(tmp_path / "hub")
    return tmp_path / "hub"


def repository(folder):
    folder.mkdir(parents=True)
    (folder / "hubconf.py").write_text(HUBCONF)
    (folder / "helper.py").write_text("SIZE = 3\n")
    return folder


def test_a_folder(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "helper", raising=False)
    folder = repository(tmp_path / "repo")
    was = alias.installed()
    net = hub.load(str(folder), "net", source="local")
    assert type(net) is torch.nn.Linear and net.in_features == 3
    assert hub.load(folder, "net", source="local", width=5).in_features == 5
    assert alias.installed() == was and str(folder) not in sys.path
    with pytest.raises(RuntimeError, match="Cannot find callable other in hubconf"):
        hub.load(folder, "other", source="local")
    with pytest.raises(ValueError, match='Unknown source: "web"'):
        hub.load(folder, "net", source="web")
    (folder / "hubconf.py").write_text("dependencies = ['no_such_library']")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_library"):
        hub.load(folder, "net", source="local")


def test_a_repository_that_is_there(home, capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "helper", raising=False)
    repository(home / "owner_name_main")
    assert hub.list("owner/name:main") == ["net"]
    assert hub.help("owner/name:main", "net") == "A layer."
    assert hub.load("owner/name:main", "net").in_features == 3
    assert "Using cache found in" in capsys.readouterr().err
    assert (home / "trusted_list").read_text() == ""  # what is there already is trusted
    monkeypatch.setattr("builtins.input", lambda text: "n")
    with pytest.raises(Exception, match="Untrusted repository"):
        hub.load("stranger/name:main", "net")


def test_archives_do_not_leave_their_folder(tmp_path):
    with zipfile.ZipFile(tmp_path / "good.zip", "w") as file:
        file.writestr("name-1/hubconf.py", "x = 1")
    hub._unpack(str(tmp_path / "good.zip"), str(tmp_path / "good"))
    assert (tmp_path / "good" / "hubconf.py").read_text() == "x = 1"
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as file:
        file.writestr("../../evil.py", "x = 1")
    with pytest.raises(ValueError, match="Archive entry escapes target directory"):
        hub._unpack(str(tmp_path / "bad.zip"), str(tmp_path / "bad"))
    assert not (tmp_path.parent / "evil.py").exists()


def test_weights(home, tmp_path, capsys):
    torch.save({"w": torch.ones(2)}, tmp_path / "w.pt")
    digest = hashlib.sha256((tmp_path / "w.pt").read_bytes()).hexdigest()
    named = tmp_path / f"w-{digest[:8]}.pt"
    (tmp_path / "w.pt").rename(named)
    state = hub.load_state_dict_from_url(named.as_uri(), check_hash=True)
    out = capsys.readouterr()
    assert state["w"].tolist() == [1.0, 1.0]
    assert out.out.startswith('Downloading: "file:') and out.err.endswith("100.0%\n")
    kept = home / "checkpoints" / named.name
    assert kept.exists() and not list(kept.parent.glob("*.partial"))
    hub.load_state_dict_from_url(named.as_uri(), progress=False)
    assert capsys.readouterr().out == ""
    wrong = tmp_path / "w-00000000.pt"
    wrong.write_bytes(named.read_bytes())
    with pytest.raises(RuntimeError, match='invalid hash value \\(expected "00000000", got "'):
        hub.load_state_dict_from_url(wrong.as_uri(), check_hash=True, progress=False)
    assert not (home / "checkpoints" / wrong.name).exists()
