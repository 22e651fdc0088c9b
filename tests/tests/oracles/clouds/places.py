"""The three that are asked: the local cloud, and the two others as processes of this one.

The others listen on the loopback address only, on a port of the system's choice, and end when this
process does: their standard input, over which their clocks are moved, is then closed.
"""

import subprocess
import sys
import urllib.request
from contextlib import contextmanager

import botocore.session
from botocore.config import Config

REGION = "eu-west-2"

# Reads seconds from standard input, moves the clock by them, and answers with a line.
CLOCK = """
import os, sys, threading, time, datetime
ahead = 0.0
def obey():
    global ahead
    for line in sys.stdin:
        ahead += float(line)
        print("moved", flush=True)
    os._exit(0)
threading.Thread(target=obey, daemon=True).start()
real_time = time.time
"""
MOTO = CLOCK + """
import moto.core.utils
def utcnow():
    moved = datetime.datetime.fromtimestamp(real_time() + ahead, datetime.timezone.utc)
    return moved.replace(tzinfo=None)
moto.core.utils.utcnow = utcnow
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server
class Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    def log_request(self, *ignored): pass
app = DomainDispatcherApplication(create_backend_app)
server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
print(server.server_port, flush=True)
server.serve_forever()
"""
MINISTACK = CLOCK + """
import asyncio, socket
time.time = lambda: real_time() + ahead
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
port = listener.getsockname()[1]
os.environ["GATEWAY_PORT"] = str(port)
from hypercorn.asyncio import serve
from hypercorn.config import Config
from ministack.app import app
config = Config()
config.bind = [f"fd://{listener.fileno()}"]
config.accesslog = config.errorlog = None
async def main():
    serving = asyncio.create_task(serve(app, config))
    await asyncio.sleep(0)
    print(port, flush=True)
    await serving
asyncio.run(main())
"""


class Place:
    """One of them: clients, a clock that can be moved, and where its queues are."""

    def __init__(self, name, url, move):
        self.name, self.url, self.move = name, url, move
        session = botocore.session.Session()
        session.set_credentials("test", "test")
        config = Config(
            region_name=REGION,
            retries={"total_max_attempts": 1},
            parameter_validation=False,
            connect_timeout=10,
            read_timeout=30,
        )
        self.clients = {
            service: session.create_client(service, endpoint_url=url, config=config)
            for service in ("dynamodb", "sqs", "scheduler")
        }
        self.queues, self.handles = {}, {}


def ours(url):
    def move(seconds):
        request = urllib.request.Request(f"{url}/_clock/{seconds}", method="POST")
        urllib.request.urlopen(request, timeout=10).read()

    return Place("ours", url, move)


@contextmanager
def other(name, program):
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "MOTO_ACCOUNT_ID": "000000000000",
        "MINISTACK_REGION": REGION,
        "LOG_LEVEL": "ERROR",
        "BIND_HOST": "127.0.0.1",
    }
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )

    def line():
        while text := process.stdout.readline():
            if text.strip().isdigit() or text.strip() == "moved":
                return text.strip()
        raise RuntimeError(f"{name} has ended")

    def move(seconds):
        process.stdin.write(f"{seconds}\n")
        process.stdin.flush()
        line()

    try:
        yield Place(name, f"http://127.0.0.1:{int(line())}", move)
    finally:
        process.terminate()
        process.wait(timeout=10)


def moto():
    return other("moto", MOTO)


def ministack():
    return other("ministack", MINISTACK)
