"""Files are whole or as they were before, whatever happens while they are written."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.small_rows import small

import gstar_fast as gf
from gstar_fast._base import files

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_save_and_load(backend, tmp_path):
    path = tmp_path / "a.gstar"
    sketch = small()
    sketch.save(path)
    assert gf.Sketch.load(path) == sketch
    sketch.update_one(0.1, 1, "F")
    sketch.save(str(path))
    assert gf.Sketch.load(str(path)) == sketch
    assert names_in(tmp_path) == ["a.gstar"]
    link = tmp_path / "link"
    link.symlink_to(path)
    gf.Sketch().save(link)
    assert link.is_symlink()
    assert gf.Sketch.load(path) == gf.Sketch()
    with pytest.raises(FileNotFoundError):
        gf.Sketch.load(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        sketch.save(tmp_path / "none" / "a")
    big = tmp_path / "big"
    with big.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(ValueError, match="larger than any sketch within memory_limit"):
        gf.Sketch.load(big, memory_limit=2**20)


@pytest.mark.parametrize("named", [False, True])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, named):
    path = tmp_path / "a.gstar"
    old = small()
    old.save(path)
    if named:
        monkeypatch.setattr(files, "_open_unnamed", lambda _: None)
    write, written = os.write, []

    def full(descriptor, data):
        if written:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(write(descriptor, data[:10]))
        return written[0]

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left") as error:
        gf.Sketch().save(path)
    assert error.value.filename == str(path)
    monkeypatch.undo()
    assert names_in(tmp_path) == ["a.gstar"]
    assert gf.Sketch.load(path) == old


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_device_is_named():
    with pytest.raises(OSError, match=r"No space left.*/dev/full"):
        small().save("/dev/full")


@pytest.mark.parametrize("named", [False, True])
def test_a_rename_that_fails_leaves_no_hidden_file(tmp_path, monkeypatch, named):
    path = tmp_path / "a.gstar"
    small().save(path)
    if named:
        monkeypatch.setattr(files, "_open_unnamed", lambda _: None)

    def fail(*_, **__):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    for function in ("rename", "replace"):
        monkeypatch.setattr(os, function, fail)
    with pytest.raises(OSError, match="cross-device"):
        gf.Sketch().save(path)
    assert names_in(tmp_path) == ["a.gstar"]
    assert gf.Sketch.load(path) == small()


def test_without_unnamed_files_saving_works_too(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_open_unnamed", lambda _: None)
    for sketch in (gf.Sketch(), small()):
        sketch.save(tmp_path / "a")
        assert gf.Sketch.load(tmp_path / "a") == sketch
    assert names_in(tmp_path) == ["a"]


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs links")
def test_a_temporary_name_cannot_be_foreseen_nor_taken(tmp_path, monkeypatch):
    """In a folder that others write to: a link laid where the file is made would have its target overwritten."""
    monkeypatch.setattr(files, "_open_unnamed", lambda _: None)
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    seen = []
    opened = os.open

    def spy(path, flags, *rest, **more):
        if flags & os.O_CREAT:
            seen.append(Path(path).name)
            if len(seen) == 3:
                Path(path).symlink_to(victim)
        return opened(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", spy)
    small().save(tmp_path / "a")
    small().save(tmp_path / "a")
    assert seen[0] != seen[1]
    with pytest.raises(FileExistsError):
        gf.Sketch().save(tmp_path / "a")
    assert victim.read_bytes() == b"precious"
    assert gf.Sketch.load(tmp_path / "a") == small()


@pytest.mark.parametrize("named", [False, True])
def test_a_replaced_file_keeps_its_mode(tmp_path, monkeypatch, named):
    if named:
        monkeypatch.setattr(files, "_open_unnamed", lambda _: None)
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o640)
    small().save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    fresh, plain = tmp_path / "b", tmp_path / "c"
    small().save(fresh)
    plain.write_bytes(b"")
    assert fresh.stat().st_mode == plain.stat().st_mode


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        small().save(pipe)
        assert gf.Sketch.from_bytes(os.read(reader, 1 << 20)) == small()
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    with pytest.raises(IsADirectoryError):
        small().save(tmp_path)


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="needs unnamed files")
def test_a_killed_process_leaves_no_orphan(tmp_path):
    code = f"""
import os, signal, gstar_fast as gf
from gstar_fast._base import files
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
files._give_name = die
gf.Sketch().save({str(tmp_path / "a")!r})
"""
    killed = subprocess.run([sys.executable, "-c", code], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert names_in(tmp_path) == []


def test_a_leftover_of_a_kill_between_link_and_rename_is_reused(tmp_path):
    path = tmp_path / "a"
    gf.Sketch().save(path)
    (tmp_path / ".a.saving").write_bytes(b"leftover")
    small().save(path)
    assert gf.Sketch.load(path) == small()
    assert names_in(tmp_path) == ["a"]
