"""The command `treewright` from a process that has imported the library once, and forks for each command.

`python command_server.py SOCKET` serves until its standard input ends. `python command_server.py SOCKET WORDS...` runs
one command there, with the caller's folder, streams and environment, and ends with its exit code.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn


def ask(path: str, words: list[str]) -> int:
    """Run a command in a fork of the server; returns its exit code."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        given = json.dumps([words, os.getcwd(), dict(os.environ)]).encode()
        socket.send_fds(connection, [len(given).to_bytes(8, "big")], [0, 1, 2])
        connection.sendall(given)
        return int(connection.makefile().read() or 1)


def serve(path: str) -> None:
    """Fork for each command that is asked for, until the standard input ends."""
    import treewright.cli.analysis  # noqa: F401
    from treewright.cli import main

    with socket.socket(socket.AF_UNIX) as door:
        door.bind(path)
        door.listen()
        print("ready", flush=True)
        while door in select.select([door, sys.stdin], [], [])[0]:
            connection, _ = door.accept()
            if os.fork() == 0:
                _run(connection, main)
            connection.close()


def _run(connection: socket.socket, main: Callable[[], None]) -> NoReturn:
    """Run one command in this fork, and send its exit code."""
    code: Any = 1
    try:
        size, streams, _, _ = socket.recv_fds(connection, 8, 3)
        words, folder, environment = json.loads(connection.makefile("rb").read(int.from_bytes(size, "big")))
        for place, stream in enumerate(streams):
            os.dup2(stream, place)
        # The streams of the server may be files, and those of the command pipes.
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(place, mode, encoding="utf-8", closefd=False) for place, mode in enumerate("rww")
        )
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = ["treewright", *words]
        main()
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        connection.sendall(str(code).encode())
        os._exit(0)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        serve(sys.argv[1])
    else:
        sys.exit(ask(sys.argv[1], sys.argv[2:]))
