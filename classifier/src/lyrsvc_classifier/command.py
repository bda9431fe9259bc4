"""The command line: which model, which labels, where to listen."""

import argparse
import logging
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lyrsvc_classifier import __version__
from lyrsvc_classifier.faults import ModelUnusable
from lyrsvc_classifier.http_face import ClassifierServer
from lyrsvc_classifier.models import load_model

DEFAULT_ADDRESS: Final = "127.0.0.1:8080"
EXIT_CANNOT_LISTEN: Final = 1
EXIT_MODEL: Final = 2

_LOG = logging.getLogger("lyrsvc.classifier")


def run() -> None:
    """Start from the command line."""
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Load the model, then serve until told to stop."""
    args = _parser().parse_args(argv)
    logging.basicConfig(
        level=logging.DEBUG if args.verbose else logging.INFO,
        format="%(asctime)s %(levelname)s %(message)s",
        stream=sys.stderr,
    )
    try:
        model = load_model(args.model, args.labels, allow_test=args.allow_test_model)
    except ModelUnusable as fault:
        sys.stderr.write(f"lyrsvc-classifier: {fault}\n")
        return EXIT_MODEL
    host, port = args.listen
    try:
        server = ClassifierServer(host, port, model)
    except OSError as error:
        sys.stderr.write(f"lyrsvc-classifier: cannot listen on {host}:{port}: {error.strerror}\n")
        return EXIT_CANNOT_LISTEN
    _LOG.info("model classes=%d version=%s", model.classes, model.version)
    return _serve(server)


def _serve(server: ClassifierServer) -> int:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stop.set())
    with server:
        host, port = server.server_address[:2]
        shown = f"[{host!s}]" if ":" in str(host) else str(host)
        _LOG.info("listening address=%s:%d", shown, port)
        threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
        stop.wait()
        server.shutdown()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lyrsvc-classifier",
        description="Scores audio with a model of your own, for the instrumental detection "
        "of lyrsvc. No model is bundled.",
    )
    parser.add_argument(
        "--model", type=Path, required=True, metavar="PATH", help="the model, .onnx or .tflite"
    )
    parser.add_argument(
        "--labels",
        type=Path,
        metavar="PATH",
        help="its class names: one a line, or a table with a column display_name; default: "
        "inside the model, else beside it",
    )
    parser.add_argument(
        "--listen",
        type=_address,
        default=_address(DEFAULT_ADDRESS),
        metavar="ADDR",
        help=f"address and port; default: {DEFAULT_ADDRESS}",
    )
    parser.add_argument(
        "--allow-test-model",
        action="store_true",
        help="take a .json table of scores as model, to try a set-up",
    )
    parser.add_argument("--verbose", action="store_true", help="log every request")
    parser.add_argument("--version", action="version", version=__version__)
    return parser


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise argparse.ArgumentTypeError(f'"{text}" is no address with a port')
    return host.removeprefix("[").removesuffix("]"), int(port)
