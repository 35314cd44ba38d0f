"""`python ...` without the seconds of its imports: commands in processes forked from one that has made them.

Importing torch and transformers takes five seconds, which a page of thirty commands pays thirty times. The
server imports them once; each command is then a process of its own, with its own arguments, folder and
environment. The real interpreter starts each command once in tests/test_architecture.py.
"""

import array
import contextlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

LIBRARIES = (
    "torch",
    "transformers",
    "transformers.trainer",
    "datasets",
    "evaluate",
    "matplotlib.figure",
    "scipy.stats",
)
STANDARD_STREAMS = (0, 1, 2)
# What a shell calls as `python`: it hands over arguments, folder, environment and streams, and ends as the
# command does.
CLIENT = """
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect(sys.argv[1])
    asked = json.dumps([sys.argv[2:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [len(asked).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(asked)
    status = server.recv(1)
sys.exit(status[0] if status else 1)
"""


@contextlib.contextmanager
def forked_python(folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """Start the server, and yield the definition of a shell function `python` that asks it."""
    address, client = folder / "python.socket", folder / "python_client.py"
    client.write_text(CLIENT, encoding="utf-8")
    command = [sys.executable, "-m", "tests.forked_commands", str(address)]
    server = subprocess.Popen(command, env={**environment})
    try:
        while not address.exists():
            assert server.poll() is None, "the server of commands has ended"
            time.sleep(0.05)
        yield f'python() {{ "{sys.executable}" -I -S "{client}" "{address}" "$@"; }}'
    finally:
        server.terminate()
        server.wait()


def serve(address: str) -> None:
    """Answer each connection with a process that runs the command; until terminated."""
    for name in LIBRARIES:
        import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # commands that have ended leave nothing behind
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{address}.new")
        listening.listen()
        os.rename(f"{address}.new", address)
        while True:
            connection, _ = listening.accept()
            with connection:
                if os.fork() == 0:
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    listening.close()
                    _run(connection)


def _run(connection: socket.socket) -> None:
    size, streams, _, _ = socket.recv_fds(connection, 8, len(STANDARD_STREAMS) * array.array("i").itemsize)
    asked = b""
    while len(asked) < int.from_bytes(size, "big"):
        asked += connection.recv(1 << 16)
    argv, folder, environment = json.loads(asked)
    for stream, number in zip(streams, STANDARD_STREAMS, strict=True):
        os.dup2(stream, number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    status = 1
    try:
        _execute(argv)
        status = 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    connection.sendall(bytes([status & 0xFF]))
    os._exit(status & 0xFF)


def _execute(argv: list[str]) -> None:
    """Do what `python` does with these arguments: a module, a program as text, a file, or standard input."""
    sys.path.insert(0, os.getcwd())
    kind, rest = (argv[0], argv[1:]) if argv else ("-", [])
    if kind == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif kind in ("-", "-c"):
        program = sys.stdin.read() if kind == "-" else rest.pop(0)
        with tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8") as file:
            file.write(program)
            file.flush()
            sys.argv = [kind, *rest]
            runpy.run_path(file.name, run_name="__main__")
    else:
        sys.argv = argv
        runpy.run_path(kind, run_name="__main__")


if __name__ == "__main__":
    serve(sys.argv[1])
