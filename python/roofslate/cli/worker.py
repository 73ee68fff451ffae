"""A process that runs calls of the server, and can be stopped at any moment."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofslate.cli.tools import run_tool
from roofslate.errors import RoofslateError
from roofslate.presets.lookup import PRESETS

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = ["work"]

_WATCH = 1.0  # seconds between looks at whether the server is still there
_FIRST = {"outputs": ["hbm_drain_time"], "inputs": {"hbm_capacity": 1.0, "hbm_bandwidth": 1.0}}
_DEVICES = ("/dev/null", "/dev/urandom", "nul")
# Events of the interpreter that reach files or run programs.
_REFUSED = (
    *("os.listdir", "os.scandir", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod", "os.link"),
    *("os.symlink", "os.truncate", "os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen"),
    *("socket.connect", "socket.bind", "shutil.copyfile", "shutil.move", "shutil.rmtree"),
)


def work(calls: Connection) -> None:
    """Answer calls until the other end closes.

    Parameters
    ----------
    calls : multiprocessing.connection.Connection
        Brings pairs of a tool and its arguments, takes results: ``("result", document)`` or ``("error", message)``.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends its workers
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    for catalog in PRESETS.values():
        len(catalog)  # read now, as the user's own files of presets are
    run_tool("evaluate", _FIRST)  # so that no module loads within the time of a call
    _refuse_files()
    calls.send(("ready", ""))
    with contextlib.suppress(EOFError, BrokenPipeError):  # the server is gone
        while True:
            calls.send(_answer(*calls.recv()))


def _answer(name: str, arguments: dict[str, Any]) -> tuple[str, Any]:
    """The result of a call, or the message of its error."""
    try:
        return "result", run_tool(name, arguments)
    except RoofslateError as error:
        return "error", str(error)
    except click.ClickException as error:
        return "error", error.format_message()
    except MemoryError:
        return "error", "there is not enough memory for this; take fewer points"
    except OSError as error:
        return "error", f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except Exception as error:
        traceback.print_exc()
        return "error", f"internal error: {type(error).__name__}; the log of the server has more"


def _leave_with(parent: int) -> None:
    """Leave once the server is gone, in the middle of a call too."""
    while os.getppid() == parent:
        time.sleep(_WATCH)
    os._exit(1)


def _refuse_files() -> None:
    """Refuse all files but modules: calls take names and numbers."""
    sys.dont_write_bytecode = True
    current = os.path.realpath(Path.cwd())
    folders = {sys.prefix, sys.base_prefix, sys.exec_prefix, str(Path(__file__).parents[1]), *sys.path}
    roots = tuple(f"{os.path.realpath(folder)}{os.sep}" for folder in folders if folder and Path(folder).is_dir())
    roots = tuple(root for root in roots if root != f"{current}{os.sep}")

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments[:3]
            writes = any(sign in str(mode or "") for sign in "wax+") or (flags or 0) & (os.O_WRONLY | os.O_RDWR)
            if not isinstance(path, (str, bytes)) or os.fsdecode(path) in _DEVICES:
                return
            if not writes and os.path.realpath(os.fsdecode(path)).startswith(roots):
                return
            raise PermissionError(errno.EACCES, "the server opens no files", os.fsdecode(path))
        if event in _REFUSED and not _is_module_path(event, arguments, roots):
            raise PermissionError(errno.EACCES, "the server opens no files and runs no programs", event)

    sys.addaudithook(refuse)


def _is_module_path(event: str, arguments: tuple[Any, ...], roots: tuple[str, ...]) -> bool:
    """Return True for a look into a folder of modules."""
    if event not in ("os.listdir", "os.scandir") or not isinstance(arguments[0], (str, bytes)):
        return False
    return f"{os.path.realpath(os.fsdecode(arguments[0]))}{os.sep}".startswith(roots)
