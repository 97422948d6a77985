"""Models from repositories with a ``hubconf.py``, and weights from the web (source: ``torch.hub``)."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import re
import shutil
import sys
import uuid
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from livetape import alias
from livetape.serialization import load as load_file

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
MODULE_HUBCONF = "hubconf.py"
READ_DATA_CHUNK = 128 * 1024
_TRUSTED_OWNERS = ("facebookresearch", "facebookincubator", "pytorch", "fairinternal")

_chosen: dict[str, str] = {}


# ---------------------------------------------------------------- where things are kept


def get_dir() -> str:
    """The folder for repositories and weights: set by `set_dir`, or ``$TORCH_HOME/hub``, or ``~/.cache/torch/hub``."""
    if os.getenv("TORCH_HUB"):
        warnings.warn("TORCH_HUB is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    if "dir" in _chosen:
        return _chosen["dir"]
    home = os.getenv("TORCH_HOME", os.path.join(os.getenv("XDG_CACHE_HOME", "~/.cache"), "torch"))
    return os.path.join(os.path.expanduser(home), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Choose the folder."""
    _chosen["dir"] = os.path.expanduser(os.fspath(d))


# ---------------------------------------------------------------- the web


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Save what a URL gives to the file ``dst``, which appears once it is complete.

    RuntimeError if ``hash_prefix`` is given, and the SHA-256 begins otherwise.
    """
    dst = os.path.expanduser(dst)
    part = f"{dst}.{uuid.uuid4().hex}.partial"
    digest = hashlib.sha256()
    try:
        with urlopen(Request(url, headers={"User-Agent": "livetape.hub"})) as source, open(part, "xb") as file:
            length = source.info().get("Content-Length")
            total, done = None if length is None else int(length), 0
            while chunk := source.read(READ_DATA_CHUNK):
                file.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                if progress:
                    sys.stderr.write(f"\r{done:.1f} bytes" if not total else f"\r{100 * done / total:.1f}%")
            if progress:
                sys.stderr.write("\n")
        found = digest.hexdigest()
        if hash_prefix is not None and found[: len(hash_prefix)] != hash_prefix:
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{found}")')
        os.replace(part, dst)
    finally:
        if os.path.exists(part):
            os.remove(part)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> dict[str, Any]:
    """Load saved weights from a URL, or from the copy that an earlier call kept.

    With ``check_hash`` the name must end with the beginning of the file's SHA-256: ``name-<hash>.pt``. No code of the
    file is run unless ``weights_only=False``.
    """
    if os.getenv("TORCH_MODEL_ZOO"):
        warnings.warn("TORCH_MODEL_ZOO is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name if file_name is not None else os.path.basename(urlparse(url).path)
    kept = os.path.join(folder, name)
    if not os.path.exists(kept):
        sys.stdout.write(f'Downloading: "{url}" to {kept}\n')
        match = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, kept, match.group(1) if match else None, progress=progress)
    if zipfile.is_zipfile(kept):
        with zipfile.ZipFile(kept) as archive:
            members = archive.infolist()
            if len(members) == 1 and not members[0].is_dir():  # a file of the old format, zipped
                with archive.open(members[0]) as file:
                    return load_file(file, map_location, weights_only=weights_only)  # type: ignore[no-any-return]
    return load_file(kept, map_location, weights_only=weights_only)  # type: ignore[no-any-return]


# ---------------------------------------------------------------- repositories


def load(
    repo_or_dir: Any,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """What the function ``model`` of a repository's ``hubconf.py`` returns for the other arguments.

    ``repo_or_dir`` is a folder with ``source="local"``, else a repository of GitHub: "owner/name" or "owner/name:ref".
    """
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        repo_or_dir = _fetch(repo_or_dir, force_reload, trust_repo, verbose, skip_validation)
    with _hubconf(os.fspath(repo_or_dir)) as module:
        return _entry(module, model)(*args, **kwargs)


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = "check",
    verbose: bool = True,
) -> Any:
    """The names that `load` takes as ``model``."""
    folder = _fetch(github, force_reload, trust_repo, verbose, skip_validation)
    with _hubconf(folder) as module:
        return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = "check",
) -> str | None:
    """The docstring of a function that `load` takes as ``model``."""
    folder = _fetch(github, force_reload, trust_repo, True, skip_validation)
    with _hubconf(folder) as module:
        return _entry(module, model).__doc__  # type: ignore[no-any-return]


@contextlib.contextmanager
def _hubconf(folder: str) -> Iterator[Any]:
    """The module ``hubconf.py`` of a folder, which is on the path of imports; in it ``torch`` means livetape."""
    was_installed = alias.installed()
    if not was_installed:
        alias.install()
    sys.path.insert(0, folder)
    try:
        spec = importlib.util.spec_from_file_location(MODULE_HUBCONF, os.path.join(folder, MODULE_HUBCONF))
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(folder)
        if not was_installed:
            alias.uninstall()


def _entry(module: Any, model: str) -> Any:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    wanted = getattr(module, "dependencies", None) or ()
    missing = [name for name in wanted if name != "torch" and importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    found = getattr(module, model, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def _fetch(github: str, force_reload: bool, trust_repo: Any, verbose: bool, skip_validation: bool) -> str:
    """The folder with a repository of GitHub, downloaded unless it is there."""
    home = get_dir()
    os.makedirs(home, exist_ok=True)
    owner, name, ref = _parse(github)
    folder = os.path.join(home, "_".join([owner, name, ref.replace("/", "_")]))
    _check_trust(owner, name, os.path.basename(folder), trust_repo)
    if os.path.exists(folder) and not force_reload:
        if verbose:
            sys.stderr.write(f"Using cache found in {folder}\n")
        return folder
    if not skip_validation:
        _check_ref(owner, name, ref)
    archive = os.path.join(home, ref.replace("/", "_") + ".zip")
    sys.stdout.write(f'Downloading: "{_zipball(owner, name, ref)}" to {archive}\n')
    try:
        download_url_to_file(_zipball(owner, name, ref), archive, progress=False)
    except HTTPError as error:
        if error.code != 300:
            raise
        warnings.warn(
            f"The ref {ref} is ambiguous. Perhaps it is both a tag and a branch in the repo? Torchhub will now assume that "
            "it's a branch. You can disambiguate tags and branches by explicitly passing refs/heads/branch_name or "
            "refs/tags/tag_name as the ref. That might require using skip_validation=True.",
            stacklevel=3,
        )
        download_url_to_file(_zipball(owner, name, f"refs/heads/{ref}"), archive, progress=False)
    _unpack(archive, folder)
    os.remove(archive)
    return folder


def _zipball(owner: str, name: str, ref: str) -> str:
    return f"https://github.com/{owner}/{name}/zipball/{ref}"


def _unpack(archive: str, folder: str) -> None:
    """Make the one folder of an archive the folder of the repository."""
    target = Path(folder + ".unpacked").resolve()
    shutil.rmtree(target, ignore_errors=True)
    try:
        with zipfile.ZipFile(archive) as file:
            for member in file.infolist():
                if not (target / member.filename).resolve().is_relative_to(target):
                    raise ValueError(f"Archive entry escapes target directory: {member.filename}")
                file.extract(member, target)
            root = file.infolist()[0].filename.split("/")[0]
        shutil.rmtree(folder, ignore_errors=True)
        shutil.move(target / root, folder)
    finally:
        shutil.rmtree(target, ignore_errors=True)


def _parse(github: str) -> tuple[str, str, str]:
    """Owner, name and branch or tag; main or master if none is given."""
    path, _, ref = github.partition(":")
    owner, name = path.split("/")
    if ref:
        return owner, name, ref
    try:
        with urlopen(f"https://github.com/{owner}/{name}/tree/main/"):
            return owner, name, "main"
    except HTTPError as error:
        if error.code == 404:
            return owner, name, "master"
        raise
    except URLError as error:
        for ref in ("main", "master"):
            if os.path.exists(f"{get_dir()}/{owner}_{name}_{ref}"):
                return owner, name, ref
        raise RuntimeError(
            f"It looks like there is no internet connection and the repo could not be found in the cache ({get_dir()})"
        ) from error


def _check_ref(owner: str, name: str, ref: str) -> None:
    """ValueError unless the repository itself, and no fork of it, has the branch, tag or commit."""
    headers = {"Accept": "application/vnd.github.v3+json"}
    for kind in ("branches", "tags"):
        page = 0
        while True:
            page += 1
            url = f"https://api.github.com/repos/{owner}/{name}/{kind}?per_page=100&page={page}"
            with urlopen(Request(url, headers=headers)) as reply:
                entries = json.loads(reply.read())
            if not entries:
                break
            if any(entry["name"] == ref or entry["commit"]["sha"].startswith(ref) for entry in entries):
                return
    raise ValueError(
        f"Cannot find {ref} in https://github.com/{owner}/{name}. If it's a commit from a forked repo, please call "
        "hub.load() with forked repo directly."
    )


def _check_trust(owner: str, name: str, kept_as: str, trust_repo: Any) -> None:
    """Ask whether code of an unknown repository may be run, and remember the answer."""
    home = Path(get_dir())
    listing = home / "trusted_list"
    listing.touch()
    repository = f"{owner}_{name}"
    trusted = repository in listing.read_text().split() or (home / kept_as).is_dir() or owner in _TRUSTED_OWNERS
    if trust_repo is False or (trust_repo == "check" and not trusted):
        answer = input(
            f"The repository {repository} does not belong to the list of trusted repositories and as such cannot be "
            "downloaded. Do you trust this repository and wish to add it to the trusted list of repositories (y/N)?"
        ).lower()
        if answer in ("n", "no", ""):
            raise Exception("Untrusted repository.")
        if answer not in ("y", "yes"):
            raise ValueError(f"Unrecognized response {answer}.")
    if not trusted:
        with listing.open("a") as file:
            file.write(repository + "\n")
