"""Small real ONNX models, written byte by byte: how much of what is heard is one pure tone.

Each frame of a tenth of a second is compared with a tone; the nearer, the more it is
music, the further away, the more it is a voice.
"""

import math
import struct
from collections.abc import Sequence
from pathlib import Path

from lyrsvc.core.instrumental_gates import MUSIC, SPEECH, VOCAL

LABELS = ("Silence", *MUSIC, *SPEECH, *VOCAL)
FRAME = 1600
TONE_HZ = 440.0
FLOAT, INT64 = 1, 7


def tone_model(path: Path, *, length: int | str = "n", rank: int = 1, outputs: int = 1) -> Path:
    """Write a model; ``length`` is the size of its input, or a name when any will do."""
    turn = [2 * math.pi * TONE_HZ * i / 16_000 for i in range(FRAME)]
    filters = [math.cos(t) for t in turn] + [math.sin(t) for t in turn]
    # a tone of amplitude a gives a²/2 here, and so does its mean square
    filters = [value * math.sqrt(2) / FRAME for value in filters]
    music, voice = [0.0] * len(LABELS), [0.0] * len(LABELS)
    for place, name in enumerate(LABELS):
        music[place] = 16.0 if name in MUSIC else -16.0
        voice[place] = -8.0 if name in MUSIC else 8.0
    music[0], voice[0] = 0.0, -8.0
    constants = [
        _tensor("shape", [3], INT64, struct.pack("<3q", 1, 1, -1)),
        _floats("filters", [2, 1, FRAME], filters),
        _floats("little", [1], [1e-9]),
        _floats("weights", [1, len(LABELS)], music),
        _floats("bias", [len(LABELS)], voice),
    ]
    strides = [_ints("kernel_shape", [FRAME]), _ints("strides", [FRAME])]
    nodes = [
        _node("Reshape", ["wave", "shape"], "x"),
        _node("Conv", ["x", "filters"], "parts", *strides),
        _node("Mul", ["parts", "parts"], "squares"),
        _node("ReduceMean", ["squares"], "half", _ints("axes", [1]), _int("keepdims", 1)),
        _node("Add", ["half", "half"], "tone"),
        _node("Mul", ["x", "x"], "power"),
        _node("AveragePool", ["power"], "energy", *strides),
        _node("Add", ["energy", "little"], "divisor"),
        _node("Div", ["tone", "divisor"], "share"),
        _node("Reshape", ["share", "column"], "frames"),
        _node("MatMul", ["frames", "weights"], "raised"),
        _node("Add", ["raised", "bias"], "logits"),
        _node("Sigmoid", ["logits"], "scores"),
    ]
    constants.append(_tensor("column", [2], INT64, struct.pack("<2q", -1, 1)))
    shape = [length] if rank == 1 else [1, length]
    names = ["scores"] if outputs == 1 else ["energy", "scores"]
    path.write_bytes(_model(nodes, constants, {"wave": shape}, names))
    return path


def broken_model(path: Path) -> Path:
    """Write a model that loads and gives no probabilities."""
    constants = [
        _tensor("shape", [2], INT64, struct.pack("<2q", -1, 1)),
        _floats("weights", [1, len(LABELS)], [9.0] * len(LABELS)),
    ]
    nodes = [
        _node("Abs", ["wave"], "loud"),
        _node("Reshape", ["loud", "shape"], "frames"),
        _node("MatMul", ["frames", "weights"], "scores"),
    ]
    path.write_bytes(_model(nodes, constants, {"wave": ["n"]}, ["scores"]))
    return path


def labels_file(path: Path, names: Sequence[str] = LABELS) -> Path:
    path.write_text("".join(f"{name}\n" for name in names))
    return path


def _model(nodes, constants, inputs, outputs) -> bytes:
    graph = b"".join(_field(1, node) for node in nodes) + _text(2, "tone")
    graph += b"".join(_field(5, constant) for constant in constants)
    graph += b"".join(_field(11, _value(name, shape)) for name, shape in inputs.items())
    graph += b"".join(_field(12, _value(name, None)) for name in outputs)
    opset = _text(1, "") + _number(2, 13)
    return _number(1, 8) + _field(7, graph) + _field(8, opset)


def _node(kind: str, inputs: Sequence[str], output: str, *attributes: bytes) -> bytes:
    names = b"".join(_text(1, name) for name in inputs) + _text(2, output)
    return names + _text(3, output) + _text(4, kind) + b"".join(_field(5, a) for a in attributes)


def _ints(name: str, values: Sequence[int]) -> bytes:
    return _text(1, name) + b"".join(_number(8, value) for value in values) + _number(20, 7)


def _int(name: str, value: int) -> bytes:
    return _text(1, name) + _number(3, value) + _number(20, 2)


def _floats(name: str, dims: Sequence[int], values: Sequence[float]) -> bytes:
    return _tensor(name, dims, FLOAT, struct.pack(f"<{len(values)}f", *values))


def _tensor(name: str, dims: Sequence[int], kind: int, raw: bytes) -> bytes:
    sizes = b"".join(_number(1, dim) for dim in dims)
    return sizes + _number(2, kind) + _text(8, name) + _field(9, raw)


def _value(name: str, shape: Sequence[int | str] | None) -> bytes:
    tensor = _number(1, FLOAT)
    if shape is not None:
        dims = (_number(1, d) if isinstance(d, int) else _text(2, d) for d in shape)
        tensor += _field(2, b"".join(_field(1, dim) for dim in dims))
    return _text(1, name) + _field(2, _field(1, tensor))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _field(field, value.encode())


def _field(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes((value,))
