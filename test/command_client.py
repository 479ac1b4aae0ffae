"""Asks the server to run a command in this process's place: `python -IS command_client.py filecheck FILE`.

It runs a thousand times: modules of Python's that import much (socket, signal, struct) are left out.
"""

import marshal
import os
import sys
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket

server = socket(AF_UNIX, SOCK_STREAM)
server.connect(f"{os.environ['IREE_TUNER_TEST_SERVER']}.{sys.argv[1]}")
message = marshal.dumps((sys.argv[1:], os.getcwd(), dict(os.environ)))  # noqa: PTH109 (pathlib is slow)
server.sendall(len(message).to_bytes(4, "little"))
files = b"".join(each.to_bytes(4, sys.byteorder) for each in (0, 1, 2))
sent = server.sendmsg([message], [(SOL_SOCKET, SCM_RIGHTS, files)])
server.sendall(message[sent:])
status = int.from_bytes(server.recv(4), "little", signed=True)
server.close()
if status < 0:
    import signal

    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
sys.exit(status)
