"""Files are written whole or not at all, where the name leads to, and nothing else is replaced."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from psdopt.data import files
from psdopt.data.files import atomic_write
from psdopt.errors import DataFileError


def write(path: Path, content: bytes = b"new") -> None:
    with atomic_write(path) as handle:
        handle.write(content)


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target, link, dangling = tmp_path / "folder" / "target", tmp_path / "link", tmp_path / "dangling"
    target.write_bytes(b"old")
    link.symlink_to(target)
    dangling.symlink_to(tmp_path / "folder" / "not yet")
    write(link)
    write(dangling)
    assert link.is_symlink()
    assert target.read_bytes() == (tmp_path / "folder" / "not yet").read_bytes() == b"new"
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(DataFileError, match="cannot write"):
        write(loop)


#: Owners, masks, FIFOs and signals, as Linux and macOS have them.
posix = pytest.mark.skipif(not files.POSIX, reason="Windows has no such files and signals")


def test_without_owners_and_signals_a_file_is_replaced_and_no_process_asked(tmp_path: Path, monkeypatch) -> None:
    """As on Windows, where a signal 0 would interrupt the other process, and os.chown is missing."""
    monkeypatch.setattr(files, "POSIX", False)
    monkeypatch.delattr(os, "chown")
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("a signal was sent"))
    write(tmp_path / "run", b"old")
    stray = tmp_path / f"{files._prefix(tmp_path / 'run')}1.0{files.PARTIAL}"
    stray.touch()
    write(tmp_path / "run")
    assert (tmp_path / "run").read_bytes() == b"new"
    assert stray.exists()


@posix
def test_permissions_are_kept_or_follow_the_umask(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.write_bytes(b"old")
    private.chmod(0o600)
    before = os.umask(0o027)
    try:
        write(private)
        write(tmp_path / "fresh")
    finally:
        os.umask(before)
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o640


@posix
def test_pipes_devices_and_folders_are_refused_and_stay(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/null")):
        with pytest.raises(DataFileError, match="it is a device, FIFO or socket; name a regular file"):
            write(path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(DataFileError, match="it is a folder; name a file"):
        write(tmp_path)
    with pytest.raises(DataFileError, match=r"the folder .*absent does not exist; make it first"):
        write(tmp_path / "absent" / "file")
    with pytest.raises(DataFileError, match="null"):
        write(tmp_path / "a\0b")


def test_a_full_disk_is_one_error_and_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(DataFileError, match=r"cannot write .*file: No space left on device"):
        write(path)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    with pytest.raises(ZeroDivisionError), atomic_write(path):
        raise ZeroDivisionError
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@posix
def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    for name in ("x" * 255, "名" * 85, "a\udcff"):  # the last one is not valid UTF-8
        write(tmp_path / name)
        assert [p.name for p in tmp_path.iterdir()] == [name]
        (tmp_path / name).unlink()


@posix
def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "run"
    killed = (
        "import os, sys; from psdopt.data.files import atomic_write\n"
        "with atomic_write(sys.argv[1]) as handle:\n"
        "    handle.write(b'half'); handle.flush(); os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", killed, str(path)], check=False, timeout=60)
    assert done.returncode == -9
    (stray,) = tmp_path.iterdir()
    assert stray.name.endswith(files.PARTIAL)
    others = [tmp_path / ".run.keep", tmp_path / f".other{files.PARTIAL}"]
    alive = tmp_path / stray.name.replace(stray.name.split("-")[1].split(".")[0], str(os.getpid()), 1)
    for other in (*others, alive):
        other.write_bytes(b"")
    write(path)
    assert not stray.exists()
    assert all(other.exists() for other in (*others, alive))


def test_a_name_that_is_too_long_is_reported_as_such(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="File name too long"):
        write(tmp_path / ("a" * 300))
