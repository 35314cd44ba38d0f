"""`python ...` without the seconds of its imports: commands in processes forked from one that has made them.

Importing torch and transformers takes five seconds, which a page of thirty commands pays thirty times. The
server imports them once; each command is then a process of its own, with its own arguments, folder and
environment. The real interpreter starts each command once in tests/test_architecture.py.
"""

import array
import contextlib
import gc
import json
import os
import runpy
import select
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

ROOT = Path(__file__).parents[1]

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
SOCKET = "socket"
POLL = 0.5
# The program `python`: hands over arguments, folder, environment and streams; ends as the command does.
CLIENT = f"""#!{sys.executable} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect(os.path.join(os.path.dirname(sys.argv[0]), "{SOCKET}"))
    asked = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [len(asked).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(asked)
    status = int(server.makefile().read())
if status < 0:  # its signal
    os.kill(os.getpid(), -status)
sys.exit(status)
"""


@contextlib.contextmanager
def forked_python(folder: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Start the server, and yield the program `python` that asks it."""
    server = start_server(folder, environment, owner=os.getpid())
    try:
        yield folder / "python"
    finally:
        server.terminate()
        server.wait()


def start_server(folder: Path, environment: Mapping[str, str], *, owner: int) -> subprocess.Popen[bytes]:
    """Write the program `python` into the folder and start its server, which ends with `owner`, a process."""
    program = folder / "python"
    program.write_text(CLIENT, encoding="utf-8")
    program.chmod(0o755)
    command = [sys.executable, "-m", "tests.forked_commands", str(folder / SOCKET), str(owner)]
    server = subprocess.Popen(command, env={**environment}, cwd=ROOT, stdin=subprocess.DEVNULL)
    while not (folder / SOCKET).exists():
        assert server.poll() is None, "the server of commands has ended"
        time.sleep(0.05)
    return server


def serve(address: str, owner: int) -> None:
    """Answer each connection with a process that runs the command, until the owner has ended."""
    for name in LIBRARIES:
        import_module(name)
    gc.freeze()  # the memory of what is imported stays shared with the commands
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{address}.new")
        listening.listen()
        listening.settimeout(POLL)
        os.rename(f"{address}.new", address)
        while _is_alive(owner):
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG) != (0, 0):
                    pass
            with contextlib.suppress(TimeoutError):
                connection, _ = listening.accept()
                with connection:
                    if os.fork() == 0:
                        listening.close()
                        _supervise(connection)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def _supervise(connection: socket.socket) -> None:
    """Run a command in a process, tell the program how it ended; end it when the program has."""
    size, streams, _, _ = socket.recv_fds(connection, 8, len(STANDARD_STREAMS) * array.array("i").itemsize)
    asked = b""
    while len(asked) < int.from_bytes(size, "big"):
        asked += connection.recv(1 << 16)
    command = os.fork()
    if command == 0:
        connection.close()
        for stream, number in zip(streams, STANDARD_STREAMS, strict=True):
            os.dup2(stream, number)
            os.close(stream)
        _run(*json.loads(asked))
    ready, _, _ = select.select([connection, os.pidfd_open(command)], [], [])
    if connection in ready:
        os.kill(command, signal.SIGTERM)
    status = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(str(status).encode())
    os._exit(0)


def _run(argv: list[str], folder: str, environment: dict[str, str]) -> None:
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
    os._exit(status & 0xFF)


def _execute(argv: list[str]) -> None:
    """Do what `python` does with these arguments: a module, a program as text, a file, or standard input."""
    if argv[:1] == ["-I"]:
        argv = argv[1:]
    else:
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
    serve(sys.argv[1], int(sys.argv[2]))
