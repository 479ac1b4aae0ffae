"""Asks the server to run a command in this process's place: `python -IS command_client.py filecheck FILE`."""

import marshal
import os
import signal
import socket
import struct
import sys

with socket.socket(socket.AF_UNIX) as server:
    server.connect(os.environ["IREE_TUNER_TEST_SERVER"])
    message = marshal.dumps((sys.argv[1:], os.getcwd(), dict(os.environ)))  # noqa: PTH109 (pathlib is slow)
    server.sendall(struct.pack("<I", len(message)))
    sent = socket.send_fds(server, [message], [0, 1, 2])
    server.sendall(message[sent:])
    (status,) = struct.unpack("<i", server.recv(4, socket.MSG_WAITALL))
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
sys.exit(status)
